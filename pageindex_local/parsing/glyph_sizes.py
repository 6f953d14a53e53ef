"""The raw spans of a page in, the same spans out with the size that a reader sees.

A bitmap (Type 3) font brings a coordinate system of its own, so that its size in the file may be 0.12 points while its
letters are ten points high. The letters' widths are true, and the size is read from them. Measured by the wrong size
every kern looks like the end of a line, so words that were cut there are joined again. All other text stays as it is.
"""

from collections.abc import Sequence
from typing import Any

_SMALLEST_SIZE = 1.0  # points: no text is read at less, so a smaller size is a claim to be checked
_WIDEST = 2.0  # sizes: no script's characters are this wide on average
_ADVANCE = 0.48  # sizes: the average width of a character in running text of Latin letters
_KERN = 0.12  # sizes: letters of one word are closer than this, a space is twice as wide
_ASCENT, _DESCENT = 0.75, 0.25  # sizes above and below the baseline


class GlyphSizes:
    """Sizes of the bitmap fonts of one document, by font: measured where a font is first met, then kept.

    One document needs one, given its pages in order; so the same font has the same size on all of them.
    """

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, float], float] = {}

    def correct(self, blocks: Sequence[dict[str, Any]]) -> None:
        """Gives spans with an impossible size the one they are seen in, and their lines boxes of that height."""
        wrong = [
            (line, span)
            for block in blocks
            for line in block.get("lines", ())
            for span in line["spans"]
            if span["size"] < _SMALLEST_SIZE and span["text"] and _advance(line, span) > _WIDEST * span["size"]
        ]
        if not wrong:
            return
        totals: dict[tuple[str, float], tuple[float, int]] = {}
        for line, span in wrong:
            key = span["font"], span["size"]
            width, count = totals.get(key, (0.0, 0))
            characters = len(span["text"])
            totals[key] = width + _advance(line, span) * characters, count + characters
        for key, (width, count) in totals.items():
            self._sizes.setdefault(key, max(_SMALLEST_SIZE, round(2 * width / count / _ADVANCE) / 2))
        for line, span in wrong:
            span["size"] = self._sizes[span["font"], span["size"]]
            line["bbox"] = _box(line, span)
        _join_words(blocks, {id(line) for line, _ in wrong})


def _advance(line: dict[str, Any], span: dict[str, Any]) -> float:
    """Points that one character takes on average along the line."""
    x0, y0, x1, y1 = span["bbox"]
    return float((x1 - x0) if abs(line["dir"][0]) > 0.7 else (y1 - y0)) / len(span["text"])


def _box(line: dict[str, Any], span: dict[str, Any]) -> tuple[float, float, float, float]:
    """The line's box, at least as high as the span's letters are above and below its baseline."""
    x0, y0, x1, y1 = line["bbox"]
    x, y = span["origin"]
    up, down = _ASCENT * span["size"], _DESCENT * span["size"]
    dx, dy = line["dir"]
    if abs(dx) > 0.7:
        high, low = (up, down) if dx > 0 else (down, up)
        return x0, min(y0, y - high), x1, max(y1, y + low)
    left, right = (down, up) if dy > 0 else (up, down)
    return min(x0, x - left), y0, max(x1, x + right), y1


def _join_words(blocks: Sequence[dict[str, Any]], corrected: set[int]) -> None:
    """Puts the spans of lines that touch the line before on its baseline into that line."""
    before: dict[str, Any] | None = None
    for block in blocks:
        kept = []
        for line in block.get("lines", ()):
            if id(line) not in corrected or not line["spans"]:
                before = None
            elif before is not None and _touches(before, line):
                before["spans"].extend(line["spans"])
                x0, y0, _, y1 = before["bbox"]
                before["bbox"] = x0, min(y0, line["bbox"][1]), line["bbox"][2], max(y1, line["bbox"][3])
                continue
            else:
                before = line
            kept.append(line)
        block["lines"] = kept


def _touches(before: dict[str, Any], line: dict[str, Any]) -> bool:
    if line["dir"][0] <= 0.7 or before["dir"][0] <= 0.7:
        return False
    last, first = before["spans"][-1], line["spans"][0]
    size = min(last["size"], first["size"])
    gap = line["bbox"][0] - before["bbox"][2]
    return bool(abs(last["origin"][1] - first["origin"][1]) < 0.1 * size and abs(gap) < _KERN * size)
