"""Plain text in, headings by underlines, section numbers, capitals and blank lines out.

There are no fonts here, so a heading must stand alone: a blank line (or the text's edge) above it, a blank line or an
underline below. Reads nothing but the lines; text without any of these marks gives no headings.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pageindex_local.headings.evidence import SourceResult
from pageindex_local.headings.filters import ends_sentence
from pageindex_local.headings.levels import Ranked, Strength, assign_levels
from pageindex_local.headings.numbering import SectionNumber, parse_number
from pageindex_local.headings.paragraphs import join_lines
from pageindex_local.headings.sequences import Link, Numbered, follow_sequences
from pageindex_local.headings.series import is_title
from pageindex_local.headings.styles import is_capitals
from pageindex_local.records import Heading, Origin, ParsedDocument, Span

_MAX_CHARS = 120
_MAX_INDENT = 8
_SHORT_WORDS = 8
_UNDERLINE = re.compile(r"\s*([=\-~^*#+\"'_.:])\1{2,}\s*$")
_PAGE_END = re.compile(r"(?:\s{3,}|\.{3,}\s*|(?:\s\.){3,}\s*)(?:\d{1,4}|[ivxlc]+)$")
_LIST_MARK = re.compile(r"\s*[-*+•o>|]\s")
_SENTENCE = re.compile(r"[.!?]\s+[A-Z]")
_MIN_LINES_APART = 4  # between two headings of a numbered series there is text; items of a list follow each other
_CHOSEN, _WEAK = 0.7, 0.4


@dataclass(frozen=True, slots=True)
class _Alone:
    """A line, or a few, that stand alone. `underline` is the character below it ('' where there is none)."""

    text: str
    span: Span
    page_number: int
    indent: int
    underline: str
    numbers: tuple[SectionNumber, ...]


def find_text_headings(document: ParsedDocument) -> SourceResult:
    """Headings of a text without styles; `candidates` are further lines that stand alone like titles.

    Chosen are underlined lines, lines whose section numbers run on through the document with text between them, and
    lines in capitals of which there are several. Levels come from numbers and from the kinds of marks in the order in
    which they first appear. Linear in the lines.
    """
    alone = _find_alone(document)
    if not alone:
        return SourceResult((), 0.0, "no line stands alone like a heading")
    links = _follow(alone)
    chosen = _choose(alone, links)
    headings = _to_headings([alone[index] for index in sorted(chosen)], _CHOSEN)
    everything = _to_headings(alone, _WEAK)
    known = {heading.span: heading for heading in headings}
    candidates = tuple(known.get(heading.span, heading) for heading in everything)
    underlined = sum(alone[index].underline != "" for index in chosen)
    numbered = sum(bool(alone[index].numbers) for index in chosen)
    reason = (
        f"{len(chosen)} headings ({underlined} underlined, {numbered} numbered) of {len(alone)} lines standing alone"
    )
    return SourceResult(headings, _CHOSEN if len(chosen) > 1 else 0.0, reason, candidates)


def _find_alone(document: ParsedDocument) -> list[_Alone]:
    lines = [
        (number, page.page_number, line.text)
        for page in document.pages
        for number, line in enumerate(page.lines, page.first_line)
    ]
    found = []
    index = 0
    while index < len(lines):
        number, page_number, text = lines[index]
        if not text.strip() or (index and lines[index - 1][2].strip() and not _UNDERLINE.match(lines[index - 1][2])):
            index += 1
            continue
        end = index + 1
        while end < len(lines) and end < index + 3 and lines[end][2].strip() and not _UNDERLINE.match(lines[end][2]):
            end += 1
        below = lines[end][2] if end < len(lines) else ""
        mark = _UNDERLINE.match(below)
        underlined = mark is not None and _fits_underline(lines[end - 1][2], below)
        if (underlined or not below.strip()) and _is_titlelike([line[2] for line in lines[index:end]], underlined):
            title = join_lines([line[2] for line in lines[index:end]])
            found.append(
                _Alone(
                    " ".join(title.split()),
                    (number, lines[end - 1][0] + 1),
                    page_number,
                    len(text) - len(text.lstrip()),
                    mark.group(1) if mark is not None and underlined else "",
                    parse_number(title),
                )
            )
            index = end
        else:
            index += 1
    return found


def _fits_underline(text: str, below: str) -> bool:
    """An underline is about as long as its line; a rule across the page is none."""
    return 0.5 * len(text.strip()) <= len(below.strip()) <= 1.5 * len(text.strip()) + 3


def _is_titlelike(texts: Sequence[str], underlined: bool) -> bool:
    text = " ".join(part.strip() for part in texts)
    if len(text) > _MAX_CHARS or sum(char.isalpha() for char in text) < 2 or _LIST_MARK.match(texts[0]):
        return False
    if any(_PAGE_END.search(part) for part in texts) or _UNDERLINE.match(texts[0]):
        return False
    if underlined:
        return len(texts) == 1
    rest = _rest(text)
    if rest != text and len(rest.split()) <= _SHORT_WORDS:
        return not text.endswith((",", ";", ":"))  # '3. Definitions.' closes a title with a full stop
    return not (ends_sentence(text) or text.endswith(":") or _SENTENCE.search(rest))


def _rest(text: str) -> str:
    """A line without the section number it starts with."""
    numbers = parse_number(text)
    return text[numbers[0].end :] if numbers else text


def _follow(alone: Sequence[_Alone]) -> dict[int, Link]:
    numbered = [index for index, item in enumerate(alone) if item.numbers]
    links = follow_sequences(
        [
            Numbered(item.numbers, () if item.numbers[0].depth > 1 or item.numbers[0].word else item.indent)
            for item in (alone[index] for index in numbered)
        ]
    )
    return dict(zip(numbered, links, strict=True))


def _choose(alone: Sequence[_Alone], links: dict[int, Link]) -> set[int]:
    chosen = {index for index, item in enumerate(alone) if item.underline}
    runs: dict[int, list[int]] = defaultdict(list)
    for index, link in links.items():
        if link.fits and link.length > 1 and is_title(_rest(alone[index].text)):
            runs[link.run].append(index)
    for members in runs.values():
        apart = sorted(alone[after].span[0] - alone[before].span[1] for before, after in pairwise(members))
        if apart and apart[len(apart) // 2] >= _MIN_LINES_APART:
            chosen.update(members)
    capitals = [
        index
        for index, item in enumerate(alone)
        if is_capitals(item.text) and not item.underline and item.indent <= _MAX_INDENT
    ]
    if len(capitals) > 1:
        chosen.update(capitals)
    return chosen


def _to_headings(items: Sequence[_Alone], confidence: float) -> tuple[Heading, ...]:
    """Headings with levels: marks rank in the order in which they first appear, capitals above small letters."""
    marks: dict[str, int] = {}
    for item in items:
        if item.underline:
            marks.setdefault(item.underline, len(marks))
    links = _follow(items)
    ranked = []
    for index, item in enumerate(items):
        strength: Strength = (
            10.0 - marks[item.underline] if item.underline else 0.0,
            bool(item.underline),
            is_capitals(item.text),
            False,
            True,
        )
        link = links.get(index)
        if link is not None and link.fits and (link.length > 1 or not link.number.weak):
            ranked.append(Ranked(strength, link.number, link.run, link.parent_run))
        else:
            ranked.append(Ranked(strength))
    levels = assign_levels(ranked)
    return tuple(
        Heading(
            item.text,
            level,
            item.span,
            item.page_number,
            Origin.NUMBERING if item.numbers and not item.underline else Origin.LAYOUT,
            confidence,
        )
        for item, level in zip(items, levels, strict=True)
    )
