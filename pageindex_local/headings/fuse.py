"""What the sources saw in, one list of headings out, with the reason why each source was used or not.

The strongest source that passed its checks is the base; layout fills only where the base is too coarse to navigate, and
only with headings that look like the confirmed ones or carry on their numbering.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pageindex_local.headings.evidence import HeadingEvidence, SourceReport, SourceResult, title_key
from pageindex_local.headings.numbering import Shape, parse_number, word_rank
from pageindex_local.headings.outline_levels import close_up
from pageindex_local.headings.printed_toc.entries import NumberKind, number_kind
from pageindex_local.records import Heading, ParsedDocument, Span
from pageindex_local.settings import TreeSettings

_TRUSTED_OUTLINE = 0.9
_USABLE_OUTLINE = 0.4
_USABLE_TOC = 0.6
_COARSE_PAGES = 8.0
_LONG_LEAF_PAGES = 4
_OPEN_PAGES = 20  # a chapter of a book may have no heading for so long; beyond that one may have been missed
_FORM_SHARE = 0.8
_DOTTED_SHARE = 0.2
_NUMBERED_ENTRIES = 5
_CHAPTER_RANK = 3
_LOCAL_SHARE = 0.5  # of the document: a contents list whose headings span less of it may be that of one part
_SECTIONS_BEFORE = 5  # headings before a list that a preface and the like do not account for
_OUTSIDE = 2.0  # times as many headings outside than a list of one part has itself
_RESTARTING = frozenset((NumberKind.ROMAN, NumberKind.UPPER, NumberKind.ARABIC, NumberKind.LOWER, NumberKind.PAREN))


@dataclass(frozen=True, slots=True)
class Sources:
    """The result of every source that could be asked."""

    outline: SourceResult
    toc: SourceResult
    layout: SourceResult


def fuse_sources(document: ParsedDocument, sources: Sources, settings: TreeSettings) -> HeadingEvidence:
    """The headings of the document by precedence: verified outline, printed contents, layout.

    `settings.strategy` may name one source alone. Headings of the base keep their origin; those that layout adds to it
    keep theirs.
    """
    base_name, base, why = _choose_base(document, sources, settings.strategy)
    added: tuple[Heading, ...] = ()
    if base_name in ("outline", "toc") and settings.strategy in ("auto", "model"):
        trusted = base_name == "outline" and sources.outline.confidence >= _TRUSTED_OUTLINE
        added = _finer_headings(document, base, sources.layout.headings, trusted=trusted)
    headings = _merge(base, added)
    used = {"outline": 0, "toc": 0, "layout": len(added)}
    used[base_name] += len(base)
    reports = tuple(
        SourceReport(name, len(result.headings), used[name], result.confidence, f"{result.reason}; {why[name]}")
        for name, result in (("outline", sources.outline), ("toc", sources.toc), ("layout", sources.layout))
    )
    candidates = _unite(headings, sources.layout.candidates, sources.layout.headings)
    return HeadingEvidence(headings, candidates, reports, _open_regions(document, headings))


def _choose_base(
    document: ParsedDocument, sources: Sources, strategy: str
) -> tuple[str, tuple[Heading, ...], dict[str, str]]:
    why = {"outline": "not used", "toc": "not used", "layout": "not used"}
    toc_is_local = _covers_one_part(document, sources.toc.headings, sources.layout.headings)
    if strategy in ("outline", "toc", "layout"):
        why[strategy] = "asked for alone"
        chosen = {"outline": sources.outline, "toc": sources.toc, "layout": sources.layout}[strategy]
        return strategy, chosen.headings, why
    outline, toc = sources.outline, sources.toc
    good_toc = toc.confidence >= _USABLE_TOC and len(toc.headings) >= 2 and not toc_is_local
    if outline.headings and outline.confidence >= _TRUSTED_OUTLINE:
        why["outline"] = "used: it agrees with the pages"
        return "outline", outline.headings, why
    if outline.headings and outline.confidence >= _USABLE_OUTLINE:
        if good_toc and len(toc.headings) >= 0.5 * len(outline.headings):
            why["outline"] = "not used: the printed contents agree better with the pages"
            why["toc"] = "used: most entries are printed where it says"
            return "toc", toc.headings, why
        why["outline"] = "used where it agrees with the pages; the rest of it was dropped"
        return "outline", outline.headings, why
    if outline.headings:
        why["outline"] = "not used: too few of its titles are printed where it points"
    if good_toc:
        why["toc"] = "used: most entries are printed where it says"
        return "toc", toc.headings, why
    if len(outline.headings) >= 2 * max(2, len(sources.layout.headings)):
        why["outline"] = "its entries that are printed where they point are used: nothing else is seen"
        return "outline", outline.headings, why
    if outline.candidates and not outline.headings and not sources.layout.headings and not toc.headings:
        why["outline"] = "used unchecked: the pages show no headings at all"
        return "outline", tuple(replace(heading, confidence=0.3) for heading in outline.candidates), why
    if toc_is_local:
        why["toc"] = "not used: it lists one part of the document, and headings are seen all through it"
    elif toc.headings:
        why["toc"] = "not used: too few entries are printed where it says"
    why["layout"] = "used: nothing stronger holds"
    return "layout", sources.layout.headings, why


def _covers_one_part(document: ParsedDocument, listed: Sequence[Heading], layout: Sequence[Heading]) -> bool:
    """Whether a contents list is that of one part only: its headings span a stretch, and most others lie outside.

    The contents of a whole document stand before its text, so sections must lie before the list's headings too.
    """
    if not listed:
        return False
    first, last = listed[0].page_number, listed[-1].page_number
    if last - first + 1 >= _LOCAL_SHARE * len(document.pages):
        return False
    before = sum(heading.page_number < first for heading in layout)
    after = sum(heading.page_number > last for heading in layout)
    return before >= _SECTIONS_BEFORE and before + after >= _OUTSIDE * len(listed)


def _finer_headings(
    document: ParsedDocument,
    base: Sequence[Heading],
    layout: Sequence[Heading],
    *,
    trusted: bool,
) -> tuple[Heading, ...]:
    """Layout headings that subdivide leaves of the base, with levels below their leaf.

    A contents list of several levels is complete to the depth its author chose. Only where its numbers restart in every
    section (I., A., 1., a.), so that no setting cuts them at a depth, numbered headings go on below its long sections.
    One of chapters or of a form's items alone gets all that layout sees.
    """
    if not base or not layout:
        return ()
    fine: list[Heading] = []
    starts = [heading.span[0] for heading in base]
    ends = [*starts[1:], document.line_count]
    lengths = _page_lengths(document, base)
    chapters_only = max(heading.level for heading in base) == 1 and sum(lengths) >= _COARSE_PAGES * len(lengths)
    coarse = not trusted and (chapters_only or _lists_a_form_only(base))
    if not trusted and not coarse:
        fine.extend(_left_out_numbers(base, layout))
    dotted = sum(number_kind(heading.title)[0] is NumberKind.DOTTED for heading in base)
    open_ended = not trusted and dotted <= _DOTTED_SHARE * len(base)
    for position, heading in enumerate(base):
        has_children = position + 1 < len(base) and base[position + 1].level > heading.level
        inside = _within(layout, heading.span[1], ends[position])
        if not inside or (has_children and not coarse):
            continue
        if coarse:
            fine.extend(_below(heading, inside))
        elif open_ended and lengths[position] >= _LONG_LEAF_PAGES and number_kind(heading.title)[0] in _RESTARTING:
            fine.extend(_below(heading, [item for item in inside if number_kind(item.title)[0] in _RESTARTING]))
    return tuple(fine)


def _left_out_numbers(base: Sequence[Heading], layout: Sequence[Heading]) -> list[Heading]:
    """Layout headings with the section numbers that are missing between two entries of a contents list.

    A list that goes down to 3.2.1 in other chapters goes there in all: what its numbers skip was lost in reading it, or
    by its author. A heading is taken where its number lies between those of the entries around it, inside one of them.
    """
    numbers = [_dotted(heading) for heading in base]
    depth = max(map(len, numbers))
    if sum(map(bool, numbers)) < _NUMBERED_ENTRIES:
        return []
    levels = {number: heading.level for number, heading in zip(numbers, base, strict=True)}
    starts = [heading.span[0] for heading in base]
    found: list[Heading] = []
    for heading in layout:
        number = _dotted(heading)
        position = bisect_right(starts, heading.span[0]) - 1
        if not 1 < len(number) <= depth or number in levels or number[:-1] not in levels or position < 0:
            continue
        following = next((other for other in numbers[position + 1 :] if other), None)
        if numbers[position] and numbers[position] < number and (following is None or number < following):
            levels[number] = levels[number[:-1]] + 1
            found.append(replace(heading, level=levels[number]))
    return found


def _dotted(heading: Heading) -> tuple[int, ...]:
    """The parts of a section number such as 3, 3.2 or B.4.1; letters count from 1,000 on. Empty where there is none."""
    numbers = parse_number(heading.title)
    if not numbers or numbers[0].weak or numbers[0].suffix or word_rank(numbers[0].word) < _CHAPTER_RANK:
        return ()
    first, *rest = numbers[0].parts
    return (first if numbers[0].shapes[0] is Shape.ARABIC else 1_000 + first, *rest)


def _lists_a_form_only(base: Sequence[Heading]) -> bool:
    """Whether the base lists what a form prescribes (parts and items of a filing) and no section the author wrote."""
    items = sum(heading.title.casefold().startswith("item ") for heading in base)
    parts = sum(number_kind(heading.title)[0] is NumberKind.PART for heading in base)
    return items >= 5 and items + parts >= _FORM_SHARE * len(base)


def _page_lengths(document: ParsedDocument, base: Sequence[Heading]) -> list[int]:
    pages = [heading.page_number for heading in base]
    ends = [*pages[1:], len(document.pages)]
    return [max(1, end - start + 1) for start, end in zip(pages, ends, strict=True)]


def _within(layout: Sequence[Heading], start: int, end: int) -> list[Heading]:
    places = [heading.span[0] for heading in layout]
    return list(layout[bisect_left(places, start) : bisect_left(places, end)])


def _below(parent: Heading, inside: Sequence[Heading]) -> list[Heading]:
    """The headings one level and more below their parent; what repeats the parent's title beside it is left out."""
    own = title_key(parent.title)
    kept = [item for item in inside if item.page_number > parent.page_number or title_key(item.title) != own]
    levels = close_up([heading.level for heading in kept])
    return [replace(heading, level=parent.level + level) for heading, level in zip(kept, levels, strict=True)]


def _merge(base: Sequence[Heading], added: Sequence[Heading]) -> tuple[Heading, ...]:
    headings = sorted((*base, *added), key=lambda heading: (heading.span[0], heading.level))
    levels = close_up([heading.level for heading in headings])
    return tuple(
        heading if heading.level == level else replace(heading, level=level)
        for heading, level in zip(headings, levels, strict=True)
    )


def _unite(*groups: Sequence[Heading]) -> tuple[Heading, ...]:
    """All headings of the groups in document order, one for each starting line; earlier groups win."""
    by_line: dict[int, Heading] = {}
    for group in groups:
        for heading in group:
            by_line.setdefault(heading.span[0], heading)
    return tuple(by_line[line] for line in sorted(by_line))


def _open_regions(document: ParsedDocument, headings: Sequence[Heading]) -> tuple[Span, ...]:
    """Long stretches that hold no heading, or all of a document that has none."""
    starts = [0, *(heading.span[0] for heading in headings), document.line_count]
    first_lines = [page.first_line for page in document.pages]
    regions = []
    for start, end in pairwise(starts):
        if end <= start:
            continue
        pages = bisect_right(first_lines, end - 1) - bisect_right(first_lines, start) + 1
        if pages > _OPEN_PAGES or not headings:
            regions.append((start, end))
    return tuple(regions)
