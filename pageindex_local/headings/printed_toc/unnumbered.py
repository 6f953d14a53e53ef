"""A document in, the titles of a contents list without page labels out, placed in the body in the order of the list.

Two kinds: a list printed once, whose titles return in order, and an agenda slide shown again before each section.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.headings.evidence import text_key, title_key
from pageindex_local.headings.printed_toc.entries import TocEntry, read_plain_entries
from pageindex_local.headings.printed_toc.pages import is_contents_heading
from pageindex_local.headings.printed_toc.place import Placed, place_entries
from pageindex_local.headings.printed_toc.rows import Row, read_rows, without_label
from pageindex_local.headings.title_index import TitleIndex
from pageindex_local.records import Page, Span

_AGENDA = re.compile(
    r"^(?:outline|agenda|overview|roadmap|plan|topics|gliederung|übersicht|ablauf|sommaire|plan|ordre\s+du\s+jour|"
    r"programa|esquema|scaletta|概要|アウトライン|議題)\s*[:.]?$",
    re.IGNORECASE,
)
_MIN_ENTRIES = 3
_MIN_SHARE = 0.7
_TOP_ROWS = 6
_MAX_ROWS = 120


@dataclass(frozen=True, slots=True)
class UnnumberedList:
    """A list without page labels whose titles were found. `share` of its entries are placed; `spans` hold the list."""

    entries: tuple[TocEntry, ...]
    placed: tuple[Placed, ...]
    share: float
    page_number: int
    spans: tuple[Span, ...]
    repeated: bool


def find_unnumbered_list(pages: Sequence[Page], index: TitleIndex, body_size: float) -> UnnumberedList | None:
    """The first list of titles under a contents heading whose titles return in the body, or None."""
    starts = [page for page in pages if _heading_line(page) is not None]
    agenda = _find_agenda(starts)
    if agenda is not None:
        return agenda
    for page in starts[:_TOP_ROWS]:
        found = _check_list(page, pages, index, body_size)
        if found is not None:
            return found
    return None


def _heading_line(page: Page) -> int | None:
    for offset, line in enumerate(page.lines):
        text = line.text.strip()
        if len(text) <= 40 and (is_contents_heading(text) or (offset < _TOP_ROWS and _AGENDA.match(text))):
            return page.first_line + offset
    return None


def _rows_below_heading(page: Page, heading_line: int) -> list[Row]:
    rows = read_rows(page)
    for position, row in enumerate(rows):
        if heading_line in row.lines:
            return [without_label(row) for row in rows[position + 1 :]]
    return []


def _find_agenda(starts: Sequence[Page]) -> UnnumberedList | None:
    """An agenda shown once for each entry, or once more at the beginning: the k-th showing starts section k."""
    shown: dict[tuple[str, ...], list[tuple[Page, list[Row]]]] = defaultdict(list)
    for page in starts:
        line = _heading_line(page)
        rows = _rows_below_heading(page, line) if line is not None else []
        key = tuple(text_key(row.title) for row in rows)
        if len(key) >= _MIN_ENTRIES:
            shown[key].append((page, rows))
    for showings in shown.values():
        entries = read_plain_entries(showings[0][1])
        top = [entry for entry in entries if entry.level == 1]
        extra = len(showings) - len(top)
        if len(top) < _MIN_ENTRIES or extra not in (0, 1):
            continue
        placed = []
        for entry, (page, _) in zip(top, showings[extra:], strict=True):
            placed.append(Placed(entry, (page.first_line, page.first_line), page.page_number, True, 1.0))
        spans = tuple(page.span for page, _ in showings)
        return UnnumberedList(tuple(top), tuple(placed), 1.0, showings[0][0].page_number, spans, True)
    return None


def _check_list(page: Page, pages: Sequence[Page], index: TitleIndex, body_size: float) -> UnnumberedList | None:
    heading = _heading_line(page)
    if heading is None:
        return None
    rows = _list_rows(page, heading, pages, index)
    if len(rows) < _MIN_ENTRIES:
        return None
    entries = read_plain_entries(rows)
    if len(entries) < _MIN_ENTRIES:
        return None
    span = min(line for row in rows for line in row.lines), max(line for row in rows for line in row.lines) + 1
    index.excluded.append((heading, span[1]))
    placed = place_entries(entries, [0] * len(entries), index, body_size, trusted=False, after=span[1])
    share = len(placed) / len(entries)
    if len(placed) < _MIN_ENTRIES or share < _MIN_SHARE:
        index.excluded.pop()
        return None
    return UnnumberedList(entries, tuple(placed), share, page.page_number, ((heading, span[1]),), False)


def _list_rows(page: Page, heading: int, pages: Sequence[Page], index: TitleIndex) -> list[Row]:
    """The rows after the heading for as long as what they say returns later, up to where the first of them returns."""
    rows: list[Row] = []
    missing = 0
    current = page
    below = _rows_below_heading(page, heading)
    end_of_document = len(index.lines)
    while below and len(rows) < _MAX_ROWS:
        for row in below:
            if rows and title_key(row.title) == title_key(rows[0].title):
                return rows[: len(rows) - missing]
            returns = any(True for _ in index.find(row.title, (row.lines[-1] + 1, end_of_document)))
            missing = 0 if returns else missing + 1
            rows.append(row)
            if missing > 2:
                return rows[:-missing]
        if current.page_number >= len(pages) or missing:
            break
        current = pages[current.page_number]
        below = [without_label(row) for row in read_rows(current)]
    return rows[: len(rows) - missing]
