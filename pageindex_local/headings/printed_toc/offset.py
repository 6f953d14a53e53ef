"""Page labels of a contents list in, physical pages out, by consensus over the titles seen on pages.

Nothing is believed alone: not the labels of the PDF, not the numbers printed on pages, not one constant offset. Each
is one way to read labels, and for each stretch of the list the way that puts most titles on pages that show them wins.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pageindex_local.headings.printed_toc.entries import TocEntry
from pageindex_local.headings.printed_toc.pages import roman_value
from pageindex_local.headings.title_index import TitleIndex
from pageindex_local.records import LineRole, Page

_SWITCH_COST = 2.5
_WAYS = 8
_MANY = 12
_EDGE_LABEL = re.compile(
    r"^(?:page\s+)?(?P<first>[A-Z]{1,2}[-–]\d{1,3}|\d{1,4}(?:[-–]\d{1,3})?|[ivxlc]{1,8})(?:\s|$)|"
    r"(?:^|\s)[-–—]?\s*(?P<last>[A-Z]{1,2}[-–]\d{1,3}|\d{1,4}(?:[-–]\d{1,3})?|[ivxlc]{1,8})\s*[-–—]?$"
)


@dataclass(frozen=True, slots=True)
class PageReading:
    """Where each entry's label points: a physical page, or 0. `support` is the share of labelled entries seen there."""

    pages: tuple[int, ...]
    support: float
    ways: tuple[str, ...]


def read_page_labels(entries: Sequence[TocEntry], index: TitleIndex, pages: Sequence[Page]) -> PageReading:
    """The physical page of every entry's label, by the readings that agree best with where titles are printed."""
    seen = [_pages_showing(entry, index) for entry in entries]
    tables = _tables(entries, seen, pages)
    if not tables:
        return PageReading((0,) * len(entries), 0.0, ())
    chosen = _choose(entries, seen, tables)
    names = list(tables)
    result, hits, labelled = [], 0, 0
    for entry, where, way in zip(entries, seen, chosen, strict=True):
        page = tables[names[way]].get(_label_key(entry.label), 0) if entry.label else 0
        result.append(page)
        if entry.label:
            labelled += 1
            hits += page in where
    used = tuple(name for number, name in enumerate(names) if number in set(chosen))
    return PageReading(tuple(result), hits / labelled if labelled else 0.0, used)


def _label_key(label: str) -> str:
    return label.replace("–", "-").casefold().lstrip("0")


def _pages_showing(entry: TocEntry, index: TitleIndex) -> set[int]:
    whole = (0, len(index.lines))
    return {match.page_number for title in (entry.title, *entry.variants) for match in index.find(title, whole)}


def _tables(
    entries: Sequence[TocEntry], seen: Sequence[set[int]], pages: Sequence[Page]
) -> Mapping[str, Mapping[str, int]]:
    """Ways to read labels, each a map from label to physical page."""
    labels = {_label_key(entry.label) for entry in entries if entry.label}
    arabic, roman = _votes(entries, seen)
    roman_offset = roman.most_common(1)[0][0] if roman else None
    tables: dict[str, Mapping[str, int]] = {}
    offsets: list[int | None] = [offset for offset, _ in arabic.most_common(_WAYS - 2)]
    for offset in offsets or [None]:
        table: dict[str, int] = {}
        for label in labels:
            value, is_roman = _label_value(label)
            shift = roman_offset if is_roman else offset
            if value and shift is not None and 1 <= value + shift <= len(pages):
                table[label] = value + shift
        if table:
            tables[f"offset {roman_offset if offset is None else offset}"] = table
    by_label = {_label_key(page.label): page.page_number for page in reversed(pages)}
    if len(labels & by_label.keys()) >= 0.5 * len(labels):
        tables["PDF page labels"] = by_label
    printed = _printed_labels(pages)
    if len(labels & printed.keys()) >= 0.5 * len(labels):
        tables["numbers printed on pages"] = printed
    return tables


def _votes(entries: Sequence[TocEntry], seen: Sequence[set[int]]) -> tuple[Counter[int], Counter[int]]:
    """How often each difference of physical page and label occurs, for arabic and for roman labels."""
    votes: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    for entry, where in zip(entries, seen, strict=True):
        value, is_roman = _label_value(entry.label)
        if value and len(where) <= _MANY:
            votes[is_roman].update(page - value for page in where)
    return votes


def _label_value(label: str) -> tuple[int, bool]:
    if label.isdigit():
        return int(label), False
    return (roman_value(label), True) if label.isalpha() else (0, False)


def _printed_labels(pages: Sequence[Page]) -> dict[str, int]:
    """Page numbers printed at the head or foot of pages; where one occurs twice the first page counts."""
    printed: dict[str, int] = {}
    for page in pages:
        running = [line.text.strip() for line in page.lines if line.role is LineRole.RUNNING]
        edges = running or [line.text.strip() for line in (*page.lines[:1], *page.lines[-1:])]
        for text in edges:
            for found in _EDGE_LABEL.finditer(text):
                printed.setdefault(_label_key(found["first"] or found["last"]), page.page_number)
    return printed


def _choose(
    entries: Sequence[TocEntry], seen: Sequence[set[int]], tables: Mapping[str, Mapping[str, int]]
) -> list[int]:
    """For each entry the way to read its label: most titles seen, few changes of way (Viterbi over the list)."""
    ways = list(tables.values())
    scores = [0.0] * len(ways)
    back: list[list[int]] = []
    for entry, where in zip(entries, seen, strict=True):
        leader = max(range(len(ways)), key=scores.__getitem__)
        came: list[int] = []
        following: list[float] = []
        for number, table in enumerate(ways):
            stay = scores[number] >= scores[leader] - _SWITCH_COST
            came.append(number if stay else leader)
            base = scores[number] if stay else scores[leader] - _SWITCH_COST
            page = table.get(_label_key(entry.label), 0) if entry.label else 0
            following.append(base + _agreement(page, where))
        scores = following
        back.append(came)
    current = max(range(len(ways)), key=scores.__getitem__)
    path = []
    for came in reversed(back):
        path.append(current)
        current = came[current]
    return path[::-1]


def _agreement(page: int, where: set[int]) -> float:
    if not page or not where:
        return 0.0
    if page in where:
        return 1.0 if len(where) <= _MANY else 0.3
    return 0.2 if page - 1 in where or page + 1 in where else -0.3
