"""Entries of a contents list and where their labels point in, headings on lines out.

Each entry is looked for on its page, then around it, then between its neighbours; the order of the list is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.headings.chains import best_chain
from pageindex_local.headings.evidence import text_key, title_key
from pageindex_local.headings.printed_toc.entries import NumberKind, TocEntry, number_kind
from pageindex_local.headings.title_index import TitleIndex, TitleMatch
from pageindex_local.records import Span

_MAX_PLACES = 12


@dataclass(frozen=True, slots=True)
class Placed:
    """An entry with its lines. `found` is false where the title is not printed on the page that its label names."""

    entry: TocEntry
    span: Span
    page_number: int
    found: bool
    weight: float


def place_entries(
    entries: Sequence[TocEntry],
    pages: Sequence[int],
    index: TitleIndex,
    body_size: float,
    *,
    trusted: bool,
    after: int = 0,
) -> list[Placed]:
    """The entries that can be placed, in order of the list and of the document.

    `pages` are the physical pages that the labels point to (0: unknown). With `trusted` an entry whose title is not
    printed is still placed at the top of its page; without, it is dropped. Entries without a page are looked for from
    line `after` on.
    """
    bounds = [(max(start, after), max(end, after)) for start, end in _bounds(pages, index)]
    options = [
        _options(entry, page, bound, index, body_size)
        for entry, page, bound in zip(entries, pages, bounds, strict=True)
    ]
    chosen = best_chain([[(match.span[0], weight) for match, weight in found] for found in options])
    placed: list[Placed | None] = []
    for entry, found, choice in zip(entries, options, chosen, strict=True):
        if choice is None:
            placed.append(None)
        else:
            match, weight = found[choice]
            span = _with_number_line(entry, match.span, index)
            placed.append(Placed(entry, span, match.page_number, True, weight))
    if trusted:
        _place_at_page_tops(placed, entries, pages, index)
    return [item for item in placed if item is not None]


def _bounds(pages: Sequence[int], index: TitleIndex) -> list[Span]:
    """For each entry the lines between the pages of its neighbours that have one, a page of slack at both ends."""
    last = len(index.page_spans)
    before: list[int] = []
    current = 1
    for page in pages:
        if page:
            current = page
        before.append(current)
    after: list[int] = [0] * len(pages)
    current = last
    for position in range(len(pages) - 1, -1, -1):
        if pages[position]:
            current = pages[position]
        after[position] = current
    return [
        index.page_span(min(first, second) - 1, max(first, second) + 1)
        for first, second in zip(before, after, strict=True)
    ]


def _options(
    entry: TocEntry, page: int, bound: Span, index: TitleIndex, body_size: float
) -> list[tuple[TitleMatch, float]]:
    found: list[tuple[TitleMatch, float]] = []
    near = index.page_span(page - 1, page + 1) if page else bound
    for title in (entry.title, *entry.variants):
        found.extend((match, 1.0) for match in index.find(title, near))
    if page and not any(match.page_number == page for match, _ in found):
        found.extend((match, 0.75) for match in index.find_alike(entry.title, index.page_span(page, page)))
        if not found:
            around = index.page_span(page - 1, page + 1)
            found.extend((match, 0.6) for match in index.find_alike(entry.title, around))
        if not found and bound != near:
            found.extend((match, 0.5) for match in index.find(entry.title, bound))
    weighed = [(match, base + _fit(entry, match, page, index, body_size)) for match, base in found]
    best: dict[int, tuple[TitleMatch, float]] = {}
    for match, weight in weighed:
        if match.span[0] not in best or best[match.span[0]][1] < weight:
            best[match.span[0]] = (match, weight)
    return sorted(best.values(), key=lambda option: -option[1])[:_MAX_PLACES]


def _fit(entry: TocEntry, match: TitleMatch, page: int, index: TitleIndex, body_size: float) -> float:
    line = index.lines[match.span[0]]
    fit = 0.0
    if line.size > body_size + 0.4 or line.bold:
        fit += 0.3
    if page:
        fit -= 0.3 * min(2, abs(match.page_number - page))
    kind, number = number_kind(line.text)
    if entry.number and kind is not NumberKind.NONE:
        fit += 0.3 if text_key(number) == text_key(entry.number) else -0.3
    elif entry.number and kind is NumberKind.NONE:
        fit -= 0.05
    elif not entry.number and kind is not NumberKind.NONE:
        fit -= 0.1
    return fit


def _with_number_line(entry: TocEntry, span: Span, index: TitleIndex) -> Span:
    """The span with the line before it, where that line is the entry's number alone ('Chapter 2', 'A', '2.1')."""
    if not entry.number or span[0] == 0 or index.pages[span[0] - 1] != index.pages[span[0]]:
        return span
    key = index.keys[span[0] - 1]
    number = text_key(entry.number)
    if key == number or (key.endswith(number) and key.removesuffix(number) in _NUMBER_WORDS):
        return span[0] - 1, span[1]
    return span


_NUMBER_WORDS = frozenset(
    (
        "chapter",
        "part",
        "appendix",
        "annex",
        "section",
        "item",
        "article",
        "kapitel",
        "chapitre",
        "teil",
        "anhang",
        "note",
    )
)


def _place_at_page_tops(
    placed: list[Placed | None], entries: Sequence[TocEntry], pages: Sequence[int], index: TitleIndex
) -> None:
    """Fill in entries that were not found, at the top of their page, where that keeps the order."""
    following = len(index.lines)
    limits = [0] * len(placed)
    for position in range(len(placed) - 1, -1, -1):
        item = placed[position]
        if item is not None:
            following = item.span[0]
        limits[position] = following
    last_line, last_page = -1, 0
    used = {(title_key(item.entry.title), item.page_number) for item in placed if item is not None}
    for position, item in enumerate(placed):
        if item is not None:
            last_line, last_page = item.span[0], item.page_number
            continue
        page = pages[position]
        if not page or page < last_page or (title_key(entries[position].title), page) in used:
            continue
        used.add((title_key(entries[position].title), page))
        line = max(index.page_spans[page - 1][0], last_line + 1)
        if line < min(limits[position], index.page_spans[page - 1][1]):
            placed[position] = Placed(entries[position], (line, line), page, False, 0.3)
            last_line, last_page = line, page
