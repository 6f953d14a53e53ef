"""The embedded outline in, the headings it names out, each checked on its page. Nothing in it is believed unseen.

Entries compete for printed lines in document order, so that an entry given twice, or one that points elsewhere than its
title, does not survive unless its title is printed there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.headings.chains import best_chain
from pageindex_local.headings.evidence import SourceResult, text_key, title_key
from pageindex_local.headings.outline_levels import settle_levels
from pageindex_local.headings.title_index import TitleIndex, TitleMatch
from pageindex_local.records import Heading, Origin, OutlineEntry, ParsedDocument, Span

UNPRINTED_SHARE = 0.07
_TEX_OPENING = re.compile(r'"4[0-9A-F]{5}[0-9A-F]\s?')
_TEX_CLOSING = re.compile(r'"5[0-9A-F]{5}[0-9A-F]')
_NEAR_TOP = 24.0
_MAX_PLACES = 10


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """An outline entry with the lines that were found for it.

    `found` is false where only its destination is known, `exact` where the lines only resemble the title.
    """

    entry: OutlineEntry
    span: Span
    page_number: int
    found: bool
    weight: float
    exact: bool = True


def find_outline_headings(document: ParsedDocument, index: TitleIndex, body_size: float) -> SourceResult:
    """The outline's entries that hold, in document order, with levels from 1 and none skipped.

    `confidence` is the share of entries whose title is printed on the page they name or one beside it. Where no more
    than UNPRINTED_SHARE of the titles are printed nowhere (covers, exhibits), those entries are kept at their
    destination; an outline with more of them is not believed unseen, and they are dropped. `candidates` are all entries
    with a page, printed or not, for a document in which nothing else is to be found.
    """
    entries = clean_outline(document.outline, len(document.pages))
    if not entries:
        return SourceResult((), 0.0, "no embedded outline")
    checked = check_outline(entries, index, body_size)
    seen = [item is not None or _is_on_page(entry, index) for entry, item in zip(entries, checked, strict=True)]
    used = {(title_key(item.entry.title), item.page_number) for item in checked if item is not None}
    repeated = sum(
        item is None and (title_key(entry.title), entry.page_number) in used
        for entry, item in zip(entries, checked, strict=True)
    )
    unprinted = seen.count(False)
    counted = len(entries) - repeated
    if unprinted <= UNPRINTED_SHARE * counted:
        seen = [True] * len(entries)
    else:  # such an outline is not believed where the page says something only like it
        checked = [item if item is None or item.exact else None for item in checked]
        seen = [item is not None or _is_on_page(entry, index) for entry, item in zip(entries, checked, strict=True)]
    unseen = list(checked)
    _keep_unplaced(checked, entries, seen, index)
    _keep_unplaced(unseen, entries, [True] * len(entries), index)
    claimed = [item for item in unseen if item is not None]
    kept = [item for item in checked if item is not None]
    share = sum(seen) / len(entries) if unprinted > UNPRINTED_SHARE * counted else 1.0 - unprinted / counted
    dropped = len(document.outline) - len(kept)
    reason = f"outline of {len(document.outline)} entries, {share:.0%} printed where they point, {dropped} dropped"
    return SourceResult(_headings(kept, index), share, reason, _headings(claimed, index))


def clean_outline(outline: Sequence[OutlineEntry], page_count: int) -> list[OutlineEntry]:
    """The entries without blank titles and repeats of one destination, pages outside the file set to 0.

    Codes of TeX delimiters that bookmarks show in place of brackets are taken out of titles.
    """
    cleaned: list[OutlineEntry] = []
    seen: set[tuple[str, int, float]] = set()
    for entry in outline:
        title = _TEX_CLOSING.sub("", _TEX_OPENING.sub("", entry.title)).strip()
        key = text_key(title)
        page = entry.page_number if 1 <= entry.page_number <= page_count else 0
        if not key:
            continue
        place = (key, page, round(entry.top or 0.0))
        if page and entry.top is not None and place in seen:
            continue
        seen.add(place)
        cleaned.append(OutlineEntry(entry.level, title, page, entry.top if page else None))
    return cleaned


def check_outline(entries: Sequence[OutlineEntry], index: TitleIndex, body_size: float) -> list[CheckedEntry | None]:
    """For each entry the lines on which its title is printed, or None; order is kept, each line is used once."""
    first = _place(entries, [_options_on_page(entry, index, body_size) for entry in entries])
    # What was not found where it points, or points nowhere, is looked for between the neighbours that were found.
    bounds = _between(first, len(index.lines))
    second = [
        [] if item is not None else _options_between(entry, bound, index, body_size)
        for entry, item, bound in zip(entries, first, bounds, strict=True)
    ]
    fixed = [
        [(TitleMatch(item.span, item.page_number, item.exact, False), item.weight + 1.0)]
        if item is not None
        else options
        for item, options in zip(first, second, strict=True)
    ]
    return _place(entries, fixed)


def _place(
    entries: Sequence[OutlineEntry], options: Sequence[Sequence[tuple[TitleMatch, float]]]
) -> list[CheckedEntry | None]:
    chosen = best_chain([[(match.span[0], weight) for match, weight in found] for found in options])
    placed: list[CheckedEntry | None] = []
    for entry, found, choice in zip(entries, options, chosen, strict=True):
        if choice is None:
            placed.append(None)
            continue
        match, weight = found[choice]
        placed.append(CheckedEntry(entry, match.span, match.page_number, True, weight, match.exact))
    return placed


def _options_on_page(entry: OutlineEntry, index: TitleIndex, body_size: float) -> list[tuple[TitleMatch, float]]:
    if not entry.page_number:
        return []
    near = index.page_span(entry.page_number - 1, entry.page_number + 1)
    found = [(match, 1.0) for match in index.find(entry.title, near)]
    if not any(match.page_number == entry.page_number for match, _ in found):
        if _is_on_page(entry, index):
            found = []  # it is on this page, in a running head or inside a line: a neighbour's line would be wrong
        page = index.page_span(entry.page_number, entry.page_number)
        alike = list(index.find_alike(entry.title, page)) or (
            [] if found else list(index.find_alike(entry.title, near))
        )
        found.extend((match, 0.7) for match in alike)
    weighed = [(match, base + _fit(entry, match, index, body_size)) for match, base in found]
    return sorted(weighed, key=lambda option: -option[1])[:_MAX_PLACES]


def _fit(entry: OutlineEntry, match: TitleMatch, index: TitleIndex, body_size: float) -> float:
    line = index.lines[match.span[0]]
    fit = 0.2 if line.size > body_size + 0.4 or line.bold else 0.0
    fit += 0.1 if match.numbered else 0.0
    if match.page_number != entry.page_number:
        return fit - 0.4
    if entry.top is not None and -_NEAR_TOP <= line.box[1] - entry.top <= 2 * _NEAR_TOP:
        fit += 0.4
    return fit


def _between(placed: Sequence[CheckedEntry | None], line_count: int) -> list[Span]:
    starts, current = [], 0
    for item in placed:
        starts.append(current)
        if item is not None:
            current = item.span[1]
    ends, current = [], line_count
    for item in reversed(placed):
        ends.append(current)
        if item is not None:
            current = item.span[0]
    return list(zip(starts, reversed(ends), strict=True))


def _options_between(
    entry: OutlineEntry, bound: Span, index: TitleIndex, body_size: float
) -> list[tuple[TitleMatch, float]]:
    found = []
    for match in index.find(entry.title, bound):
        line = index.lines[match.span[0]]
        stands_out = line.size > body_size + 0.4 or line.bold
        if stands_out or match.numbered or not entry.page_number:
            found.append((match, 0.5 + (0.2 if stands_out else 0.0)))
        if len(found) >= _MAX_PLACES:
            break
    return found


def _is_on_page(entry: OutlineEntry, index: TitleIndex) -> bool:
    """Whether the title occurs anywhere in the text of its page, running head included.

    A title of one to three letters cannot be judged so (the letters of an index): it passes.
    """
    key = title_key(entry.title)
    return bool(entry.page_number) and (len(key) < 4 or key in index.page_key(entry.page_number))


def _keep_unplaced(
    checked: list[CheckedEntry | None],
    entries: Sequence[OutlineEntry],
    keep: Sequence[bool],
    index: TitleIndex,
) -> None:
    """Fill in entries without a line of their own, at their destination, where that keeps the order."""
    limits = [span[1] for span in _between(checked, len(index.lines))]
    last_line = -1
    used = {(title_key(item.entry.title), item.page_number) for item in checked if item is not None}
    for position, item in enumerate(checked):
        if item is not None:
            last_line = item.span[0]
            continue
        entry = entries[position]
        key = (title_key(entry.title), entry.page_number)
        if not keep[position] or not entry.page_number or key in used:
            continue
        line = max(_line_at(entry, index), last_line + 1)
        if line < min(limits[position], index.page_spans[entry.page_number - 1][1]):
            checked[position] = CheckedEntry(entry, (line, line), entry.page_number, False, 0.3)
            used.add(key)
            last_line = line


def _line_at(entry: OutlineEntry, index: TitleIndex) -> int:
    """The first line at or below the destination; the page's first where the file gives no place on it."""
    first, end = index.page_spans[entry.page_number - 1]
    if entry.top is None:
        return first
    return next((line for line in range(first, end) if index.lines[line].box[3] > entry.top + 1), first)


def _headings(kept: Sequence[CheckedEntry], index: TitleIndex) -> tuple[Heading, ...]:
    lines = [index.lines[item.span[0]] if item.found else None for item in kept]
    levels = settle_levels([item.entry.level for item in kept], [item.entry.title for item in kept], lines)
    return tuple(
        Heading(
            item.entry.title,
            level,
            item.span,
            item.page_number,
            Origin.OUTLINE,
            round(min(1.0, 0.7 + 0.2 * item.weight), 3) if item.found else 0.5,
        )
        for item, level in zip(kept, levels, strict=True)
    )
