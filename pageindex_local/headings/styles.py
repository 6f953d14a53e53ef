"""Pages in, the document's typography out: what body text looks like, and a comparable style for every line.

One pass over the lines. Everything later is measured against these numbers (multiples of the body size, of its line
pitch, of the column), so no rule holds an absolute size.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pageindex_local.records import Line, LineRole, Page

# A size differs from the body's when it does so by more than rounding and optical sizes account for.
LARGER = 1.04
SMALLER = 0.96

_MONO = re.compile(
    r"mono|courier|consol|typewriter|menlo|fixed|^(?:lm|cm|sf|ec)?tt\d|cmtt|cmsltt|lmtt|nimbusmon", re.IGNORECASE
)
_MATH = re.compile(r"^(?:cmmi|cmsy|cmex|msam|msbm|lmmath|eufm|stixmath|cambriamath|symbol)", re.IGNORECASE)
_FAMILY_END = re.compile(r"[-,_]|(?:bold|ital|obl|mt$|ps$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Style:
    """How a line is set, as far as headings are told apart by it.

    `size` is in half points times two (an integer step of 0.5 pt), so that sizes that differ by rounding compare
    equal.
    """

    size: int
    bold: bool
    italic: bool
    caps: bool
    mono: bool
    family: str


@dataclass(frozen=True, slots=True)
class Typography:
    """The document's body style and measures.

    `body` is the style of most characters. `pitch` is the usual distance between the baselines of its lines and
    `column_width` the usual width of a full line, both in points; `column_lefts` are the left edges of columns.
    """

    body: Style
    pitch: float
    column_width: float
    column_lefts: tuple[float, ...]

    @property
    def is_double_spaced(self) -> bool:
        """Whether the body's lines stand about two type sizes apart (drafts, court papers, releases)."""
        return self.pitch > 0.8 * self.body.size

    def column_left(self, x: float) -> float:
        """The left edge of the column a position lies in."""
        return max((left for left in self.column_lefts if left <= x + 2.0), default=self.column_lefts[0])


def line_style(line: Line) -> Style:
    """The style of one line; its capitals count as a style of their own."""
    return Style(
        round(line.size * 2), line.bold, line.italic, is_capitals(line.text), is_mono(line.font), font_family(line.font)
    )


def is_capitals(text: str) -> bool:
    """Whether at least three letters, and nine tenths of those that have case, are capitals."""
    upper = sum(map(str.isupper, text))
    return upper >= 3 and upper >= 0.9 * (upper + sum(map(str.islower, text)))


def is_mono(font: str) -> bool:
    """Whether the font's name says that all its characters are equally wide."""
    return _MONO.search(font) is not None


def is_math(font: str) -> bool:
    """Whether the font is one of those that formulas are set in."""
    return _MATH.match(font) is not None


def font_family(font: str) -> str:
    """A font's name without weight, slant and optical size, in lower case."""
    found = _FAMILY_END.search(font)
    name = font[: found.start()] if found is not None and found.start() > 2 else font
    return name.rstrip("0123456789").lower()


def measure_typography(pages: Sequence[Page]) -> Typography:
    """The typography of a document with laid-out pages (empty pages and running lines are ignored)."""
    characters: Counter[tuple[int, bool, bool, str]] = Counter()
    sizes: Counter[int] = Counter()
    for line in _body_lines(pages):
        length = len(line.text)
        characters[round(line.size * 2), line.bold, line.italic, line.font] += length
        sizes[round(line.size * 2)] += length
    if not characters:
        return Typography(Style(0, False, False, False, False, ""), 0.0, 0.0, (0.0,))
    (size, bold, italic, font), _ = max(characters.items(), key=lambda item: item[1])
    body = Style(size, bold, italic, False, is_mono(font), font_family(font))
    pitches: Counter[int] = Counter()
    widths: Counter[int] = Counter()
    places: Counter[tuple[int, int]] = Counter()
    for page in pages:
        before: Line | None = None
        for line in page.lines:
            if line.role is LineRole.RUNNING or round(line.size * 2) != size:
                before = None
                continue
            if before is not None and 0 < line.box[3] - before.box[3] < 4 * line.size:
                pitches[round((line.box[3] - before.box[3]) * 2)] += 1
            before = line
            if len(line.text) > 20 and line.cells == 1:
                wide = round((line.box[2] - line.box[0]) / 4)
                widths[wide] += 1
                places[round(line.box[0] / 2), wide] += 1
    pitch = max(pitches.items(), key=lambda item: item[1])[0] / 2 if pitches else size * 0.6
    width = _usual_width(widths)
    return Typography(body, pitch, width * 4.0, _column_lefts(places, width))


def _column_lefts(places: Counter[tuple[int, int]], width: int) -> tuple[float, ...]:
    """Where columns begin: the usual left edges of full lines (a paragraph's first line is shorter by its indent)."""
    lefts: Counter[int] = Counter()
    for (left, wide), count in places.items():
        if wide >= 0.97 * width:
            lefts[left] += count
    common = max(lefts.values(), default=0)
    return tuple(sorted(left * 2.0 for left, count in lefts.items() if count >= 0.2 * common)) or (0.0,)


def _usual_width(widths: Counter[int]) -> int:
    """The commonest width of a full line: justified text gives a sharp peak, ragged text the upper part of a hill."""
    if not widths:
        return 0
    width, count = max(widths.items(), key=lambda item: item[1])
    total = sum(widths.values())
    if count >= 0.2 * total:
        return width
    seen = 0
    for width in sorted(widths, reverse=True):
        seen += widths[width]
        if seen >= 0.15 * total:
            return width
    return width


def _body_lines(pages: Iterable[Page]) -> Iterable[Line]:
    for page in pages:
        for line in page.lines:
            if line.role is not LineRole.RUNNING and line.size > 0:
                yield line
