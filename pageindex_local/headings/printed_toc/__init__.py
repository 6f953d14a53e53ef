"""A parsed document in, the headings that its printed contents lists name out, each checked in the body.

A list that points backwards is an index, one whose titles are not where it says is no list of contents: both are left
out with a reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.headings.evidence import SourceResult, text_key
from pageindex_local.headings.numbering import parse_number
from pageindex_local.headings.paragraphs import join_lines
from pageindex_local.headings.printed_toc.combine import combine_lists
from pageindex_local.headings.printed_toc.entries import TocEntry, give_levels, read_entries
from pageindex_local.headings.printed_toc.offset import PageReading, read_page_labels
from pageindex_local.headings.printed_toc.pages import ContentsList, find_contents_lists
from pageindex_local.headings.printed_toc.place import Placed, place_entries
from pageindex_local.headings.printed_toc.unnumbered import find_unnumbered_list
from pageindex_local.headings.title_index import TitleIndex
from pageindex_local.records import Heading, Origin, ParsedDocument, Span

_MIN_SUPPORT = 0.5
_FURTHER_SUPPORT = 0.7
_FURTHER_ENTRIES = 4


@dataclass(frozen=True, slots=True)
class CheckedList:
    """A contents list after its entries were looked for in the body."""

    source: ContentsList
    entries: tuple[TocEntry, ...]
    reading: PageReading
    placed: tuple[Placed, ...]

    @property
    def found_share(self) -> float:
        """The share of labelled entries whose title is printed where the list says, give or take a page."""
        labelled = sum(1 for entry in self.entries if entry.label)
        found = sum(1 for item in self.placed if item.found and item.entry.label)
        return found / labelled if labelled else 0.0


def find_printed_toc_headings(document: ParsedDocument, index: TitleIndex, body_size: float) -> SourceResult:
    """The headings named by the best printed contents list with page labels, and by those of other parts beside it.

    `contents_lines` of the result are the spans of every list of titles, figures and tables too.
    """
    lists = find_contents_lists(document.pages)
    spans = tuple(list_span(item) for item in lists)
    index.excluded.extend(spans)
    checked = [check_list(item, document, index, body_size) for item in lists if item.is_contents]
    good = [item for item in checked if item.reading.support >= _MIN_SUPPORT and not _points_backwards(item)]
    if not good:
        return _find_unnumbered(document, index, body_size, spans, len(lists))
    good.sort(key=lambda item: -sum(1 for placed in item.placed if placed.found))
    sound = [good[0], *(item for item in good[1:] if _stands_alone(item))]
    headings, used = combine_lists([_headings(item.placed, index) for item in sound])
    best = good[0]
    share = best.found_share
    others = f", with {len(used) - 1} contents lists of other parts" if len(used) > 1 else ""
    reason = (
        f"contents on page {best.source.rows[0].page_number}: {len(best.entries)} entries, {share:.0%} found "
        f"on their page ({', '.join(best.reading.ways)}){others}"
    )
    return SourceResult(headings, share, reason, (), spans)


def _stands_alone(item: CheckedList) -> bool:
    """Whether a further list is good enough to be believed beside the best one."""
    found = sum(1 for placed in item.placed if placed.found)
    return item.reading.support >= _FURTHER_SUPPORT and found >= _FURTHER_ENTRIES


def check_list(item: ContentsList, document: ParsedDocument, index: TitleIndex, body_size: float) -> CheckedList:
    """A list with its entries placed in the body as far as they are found there."""
    entries = read_entries(item.rows)
    reading = read_page_labels(entries, index, document.pages)
    trusted = reading.support >= 0.7
    placed = place_entries(entries, reading.pages, index, body_size, trusted=trusted)
    return CheckedList(item, entries, reading, tuple(placed))


def list_span(item: ContentsList) -> Span:
    """The lines from a list's heading (not included) to its last row."""
    lines = [line for row in item.rows for line in row.lines]
    return min(lines), max(lines) + 1


def _points_backwards(checked: CheckedList) -> bool:
    """Whether most entries lie before the list itself, as in an index at the end of a book."""
    here = checked.source.rows[0].page_number
    pages = [page for page in checked.reading.pages if page]
    return sum(page < here for page in pages) > 0.3 * len(pages)


def _find_unnumbered(
    document: ParsedDocument, index: TitleIndex, body_size: float, spans: tuple[Span, ...], list_count: int
) -> SourceResult:
    found = find_unnumbered_list(document.pages, index, body_size)
    if found is None:
        reason = (
            f"{list_count} lists with page numbers, none agrees with the pages" if list_count else "no contents list"
        )
        return SourceResult((), 0.0, reason, (), spans)
    kind = "agenda shown before each section, first" if found.repeated else "contents without page numbers"
    reason = f"{kind} on page {found.page_number}: {len(found.placed)} of {len(found.entries)} titles found in order"
    return SourceResult(_headings(found.placed, index), found.share, reason, (), (*spans, *found.spans))


def _headings(placed: Sequence[Placed], index: TitleIndex) -> tuple[Heading, ...]:
    levelled = give_levels([item.entry for item in placed])
    headings = []
    for item, entry in zip(placed, levelled, strict=True):
        confidence = min(1.0, 0.6 + 0.3 * item.weight) if item.found else 0.4
        title = _worded_title(entry.title, item.span, index)
        headings.append(Heading(title, entry.level, item.span, item.page_number, Origin.TOC, round(confidence, 3)))
    return tuple(headings)


def _worded_title(title: str, span: Span, index: TitleIndex) -> str:
    """The title as the body prints it, where it has a word there that the list leaves out ('Chapter 4. Fees').

    A number that stands alone above its title is ornament, so there the list's form stays.
    """
    numbers = parse_number(title)
    if not numbers or numbers[0].word or span[0] == span[1]:
        return title
    first = index.lines[span[0]].text
    in_body = parse_number(first)
    if not in_body or not in_body[0].word or in_body[0].parts != numbers[0].parts or in_body[0].end >= len(first):
        return title
    printed = join_lines([line.text for line in index.lines[span[0] : span[1]]])
    return printed if text_key(printed[in_body[0].end :]) == text_key(title[numbers[0].end :]) else title
