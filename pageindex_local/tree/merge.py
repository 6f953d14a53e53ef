"""The reduce step: mini-TOCs in any order and grouping in, the headings of the whole document out.

Merging is a union with a fixed preference between headings on one line, so that it is associative, commutative and
idempotent; levels are settled once, when everything has arrived. Calls no model.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pageindex_local.errors import TreeError
from pageindex_local.records import Heading, Origin
from pageindex_local.tree.mini_toc import MiniToc, TocItem
from pageindex_local.tree.titles import split_title

_ORIGIN_RANK = {origin: rank for rank, origin in enumerate(Origin)}  # Origin lists the strongest first
_SHOWN = 3

# Where a heading is printed: its line. Unprinted headings have no line of their own: they stand beside each other, told
# apart by page and by their order at that place.
_Place = tuple[int, bool, int, int]


@dataclass(frozen=True, slots=True)
class PartialToc:
    """Some of the mini-TOCs of a document, merged. `items` by place, in no order."""

    items: Mapping[_Place, TocItem] = field(default_factory=dict)
    chunk_ids: frozenset[str] = frozenset()


def merge_mini_tocs(parts: Iterable[MiniToc], expected_chunk_ids: Collection[str]) -> tuple[Heading, ...]:
    """The headings of all parts in document order, levels made consistent.

    The result depends on the set of parts only. They are merged pairwise, neighbours first, so the work is
    items times the logarithm of the number of parts.

    Raises:
        TreeError: a chunk's mini-TOC is missing, or one came that nobody asked for; says how many and which.
    """
    level = [as_partial(part) for part in parts]
    while len(level) > 1:
        merged = [merge_pair(first, second) for first, second in zip(level[::2], level[1::2], strict=False)]
        level = merged + level[2 * len(merged) :]
    whole = level[0] if level else PartialToc()
    _check_complete(whole.chunk_ids, frozenset(expected_chunk_ids))
    return settle_levels([whole.items[place] for place in sorted(whole.items)])


def as_partial(part: MiniToc) -> PartialToc:
    """One mini-TOC, ready to be merged."""
    return PartialToc({_place(item): item for item in part.items}, frozenset({part.chunk_id}))


def merge_pair(first: PartialToc, second: PartialToc) -> PartialToc:
    """Both together. Where they name the same place (overlaps), the stronger heading stays, whichever came first."""
    small, large = sorted((first.items, second.items), key=len)
    items = dict(large)
    for place, item in small.items():
        other = items.get(place)
        items[place] = item if other is None else min(item, other, key=_strength)
    return PartialToc(items, first.chunk_ids | second.chunk_ids)


def settle_levels(items: Iterable[TocItem]) -> tuple[Heading, ...]:
    """Headings with levels that fit together.

    Levels from evidence are consistent over the document already and stay. A heading that only a model chose gets the
    level that the evidence gives to numbers as deep as its own, else one below the last heading whose number it
    extends; without a number, the level of its style, which its candidate carries. Where a document has no evidence at
    all, the model's levels count as they are: they are all there is.
    """
    ordered = list(items)
    settled = [item.heading for item in ordered if item.asked_level is None]
    by_depth = _levels_by_depth(settled)
    result: list[Heading] = []
    for item in ordered:
        heading = item.heading
        if item.asked_level is not None:
            depth = number_depth(heading.title)
            if depth:
                heading = replace(heading, level=by_depth.get(depth, depth + _depth_offset(by_depth)))
            elif not settled:
                heading = replace(heading, level=item.asked_level)
        result.append(heading)
    return tuple(result)


def number_depth(title: str) -> int:
    """How deep a title's section number is: 1 for `3` or `A.`, 2 for `3.1`; 0 without a number."""
    number = split_title(title)[0].rstrip(".):-–— ")
    parts = [part for part in number.replace("-", ".").split(".") if part]
    return len(parts)


def _levels_by_depth(headings: Iterable[Heading]) -> dict[int, int]:
    """For each depth of section number the level that most headings with such numbers have."""
    counts: dict[int, Counter[int]] = {}
    for heading in headings:
        depth = number_depth(heading.title)
        if depth:
            counts.setdefault(depth, Counter())[heading.level] += 1
    return {depth: min(levels, key=lambda level: (-levels[level], level)) for depth, levels in counts.items()}


def _depth_offset(by_depth: Mapping[int, int]) -> int:
    """How much levels are above number depths, from the deepest numbers known; 0 where none are."""
    if not by_depth:
        return 0
    deepest = max(by_depth)
    return max(by_depth[deepest] - deepest, 0)


def _place(item: TocItem) -> _Place:
    start, end = item.heading.span
    if start < end:
        return start, True, 0, 0
    return start, False, item.heading.page_number, item.order


def _strength(item: TocItem) -> tuple[int, float, int, str, int, int, str, int, int]:
    """A total order over items at one place, the strongest first: every field counts, so that no two tie."""
    heading = item.heading
    return (
        _ORIGIN_RANK[heading.origin],
        -heading.confidence,
        heading.level,
        heading.title,
        heading.span[1],
        heading.page_number,
        heading.kind.value,
        item.order,
        item.asked_level or 0,
    )


def _check_complete(arrived: frozenset[str], expected: frozenset[str]) -> None:
    missing, extra = sorted(expected - arrived), sorted(arrived - expected)
    if not expected:
        raise TreeError("no chunk was expected, so nothing can have been read")
    if missing or extra:
        names = ", ".join((missing or extra)[:_SHOWN])
        raise TreeError(
            f"of {len(expected)} chunks {len(missing)} never arrived and {len(extra)} came unasked (first: {names})",
            next_step="Build the document again: finished model calls are not repeated.",
        )
