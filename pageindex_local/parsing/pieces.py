"""The raw spans of a page in, pieces of text with one style each out.

A piece is what the extraction calls a line: a run of text on one baseline without a wide gap. Pieces of one writing
direction are measured in their own reading space, in which text runs to the right and lines follow downwards, so that
what comes after never thinks about rotation.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pageindex_local.parsing.clean import clean_text
from pageindex_local.records import Box

_ITALIC, _BOLD = 2, 16  # bits of a span's font flags
_FAKE_BOLD, _FILLED, _STROKED = 8, 16, 32  # bits of a span's character flags
_BOLD_NAME = re.compile(
    r"bold|black|heavy|demi|(?:cm|sf|ec|la|cmss|sfss)b(?:x|sr)|-medi(?:ital|obli)?$|[-,]bd|[-_]hvy|extrabd|semibd",
    re.IGNORECASE,
)
_ITALIC_NAME = re.compile(r"italic|oblique|slanted|[-,]it$", re.IGNORECASE)
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
MOSTLY = 0.75  # of a line's characters that must be bold for the line to be
_SMALLEST_SIZE = 1.0  # points: smaller text cannot be read on the page, so it is not part of it

_styles: dict[tuple[str, int, int], tuple[str, bool, bool]] = {}


@dataclass(slots=True)
class Piece:
    """A run of text in one direction.

    `x0`, `y0`, `x1`, `y1` and `base` (the baseline) are in reading space, `raw` is the box as extracted. `lead` counts
    the characters at the start that are bold or italic where the rest is not (0 where there is no such change).
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    font: str
    bold: bool
    italic: bool
    lead: int
    rtl: bool
    raw: Box
    block: int
    order: int


def read_pieces(blocks: Sequence[dict[str, Any]]) -> list[list[Piece]]:
    """The pieces of a page by writing direction, the direction with most characters first; each in file order."""
    directions: dict[int, list[Piece]] = {}
    order = 0
    for number, block in enumerate(blocks):
        for line in block.get("lines", ()):
            spans = line["spans"]
            if not spans:
                continue
            text = "".join([span["text"] for span in spans])
            cleaned = clean_text(text)
            if not cleaned:
                continue
            main, bold, italic, lead = _main_span(spans)
            size = main["size"]
            if size < _SMALLEST_SIZE:
                continue
            font = _style(main)[0]
            dx, dy = line["dir"]
            raw = line["bbox"]
            origin = main["origin"]
            if dx > 0.7:
                turn = 0
                x0, y0, x1, y1 = raw
                base = origin[1]
            elif dx < -0.7:
                turn = 2
                x0, y0, x1, y1 = -raw[2], -raw[3], -raw[0], -raw[1]
                base = -origin[1]
            elif dy > 0:
                turn = 1
                x0, y0, x1, y1 = raw[1], -raw[2], raw[3], -raw[0]
                base = -origin[0]
            else:
                turn = 3
                x0, y0, x1, y1 = -raw[3], raw[0], -raw[1], raw[2]
                base = origin[0]
            rtl = not cleaned.isascii() and _is_rtl(cleaned)
            if rtl:
                cleaned = _move_punctuation(cleaned)
            piece = Piece(cleaned, x0, y0, x1, y1, base, size, font, bold, italic, lead, rtl, raw, number, order)
            directions.setdefault(turn, []).append(piece)
            order += 1
    return sorted(directions.values(), key=lambda pieces: -sum(len(piece.text) for piece in pieces))


def _main_span(spans: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], bool, bool, int]:
    """The span whose font most characters have, whether the line is bold and italic, and the length of such a start."""
    first = spans[0]
    font, size = first["font"], first["size"]
    for span in spans:
        if span["font"] != font or span["size"] != size:
            break
    else:
        _, bold, italic = _style(first)
        return first, bold, italic, 0
    counts: dict[tuple[str, float], int] = {}
    total = bolds = italics = 0
    for span in spans:
        length = len(span["text"].strip())
        if not length:
            continue
        total += length
        key = (span["font"], span["size"])
        counts[key] = counts.get(key, 0) + length
        _, bold, italic = _style(span)
        bolds += length if bold else 0
        italics += length if italic else 0
    best = max(counts, key=lambda key: counts[key])
    main = next(span for span in spans if (span["font"], span["size"]) == best and span["text"].strip())
    lead = _start(spans, 1) if 0 < bolds < total else 0
    if not lead and 0 < italics < total:
        lead = _start(spans, 2)
    return main, bolds >= MOSTLY * total, italics >= MOSTLY * total, lead


def _start(spans: Sequence[dict[str, Any]], style: int) -> int:
    """Characters of cleaned text before the style (1 bold, 2 italic) ends; 0 where it comes back or was not there."""
    end = next((at for at, span in enumerate(spans) if span["text"].strip() and not _style(span)[style]), len(spans))
    if any(_style(span)[style] and span["text"].strip() for span in spans[end:]):
        return 0
    return len(clean_text("".join([span["text"] for span in spans[:end]])))


def _style(span: dict[str, Any]) -> tuple[str, bool, bool]:
    """Font name without subset prefix, bold, italic."""
    key = (span["font"], span["flags"], span["char_flags"])
    style = _styles.get(key)
    if style is None:
        name, flags, character_flags = key
        if len(name) > 7 and name[6] == "+":
            name = name[7:]
        name = clean_text(name)
        thick = bool(character_flags & _FAKE_BOLD) or (character_flags & _FILLED and character_flags & _STROKED)
        bold = bool(flags & _BOLD) or bool(thick) or _BOLD_NAME.search(name) is not None
        italic = bool(flags & _ITALIC) or _ITALIC_NAME.search(name) is not None
        style = name, bold, italic
        if len(_styles) > 10_000:
            _styles.clear()
        _styles[key] = style
    return style


def _is_rtl(text: str) -> bool:
    right = len(_RTL.findall(text))
    return right > 0 and 2 * right > sum(character.isalpha() for character in text)


def _move_punctuation(text: str) -> str:
    """Right-to-left text with the mark that ends it at its end.

    MuPDF puts letters into logical order but leaves a closing mark, which stands leftmost on the page, in front.
    """
    if text[0] in ".?!:,;\u061f\u060c\u061b" and text[-1] not in ".?!:,;\u061f\u060c\u061b":
        return f"{text[1:].lstrip()}{text[0]}"
    return text
