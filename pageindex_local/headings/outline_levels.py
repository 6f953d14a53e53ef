"""Levels of an embedded outline in, levels that hold together out.

Levels as given are kept, closed up so that none is skipped. Only where they contradict the section numbers printed with
the titles are they taken from the numbers instead.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from pageindex_local.headings.printed_toc.entries import NumberKind, number_kind
from pageindex_local.records import Line

_CONTRADICTIONS = 0.08
_NUMBERED_SHARE = 0.4


def settle_levels(levels: Sequence[int], titles: Sequence[str], lines: Sequence[Line | None]) -> list[int]:
    """One level from 1 for each entry; `lines` are the printed title lines (None where not found).

    An entry is at most one level below the one before it.
    """
    depths = [_depth(title, line) for title, line in zip(titles, lines, strict=True)]
    numbered = sum(depth is not None for depth in depths)
    if numbered >= _NUMBERED_SHARE * len(levels) and _contradict(levels, depths) > _CONTRADICTIONS:
        levels = _by_numbers(levels, depths, lines)
    return close_up(levels)


def close_up(levels: Sequence[int]) -> list[int]:
    """Levels from 1 of the same nesting: each is the number of entries that are still open around it."""
    closed: list[int] = []
    open_levels: list[int] = []
    for level in levels:
        while open_levels and open_levels[-1] >= level:
            open_levels.pop()
        open_levels.append(level)
        closed.append(len(open_levels))
    return closed


def _depth(title: str, line: Line | None) -> int | None:
    """How deep the printed section number is: 1 for a chapter, 2 for '4.1'; None without a number."""
    for text in (line.text if line is not None else "", title):
        kind, number = number_kind(text)
        if kind is NumberKind.DOTTED:
            return number.count(".") + 1
        if kind in (NumberKind.CHAPTER, NumberKind.APPENDIX):
            return 1
    return None


def _contradict(levels: Sequence[int], depths: Sequence[int | None]) -> float:
    """The share of numbered entries that are not on the usual level of their depth, counted from chapters inwards.

    A part above some chapters only shifts levels by whole blocks, so a level counts as usual where at least a quarter
    of the entries of that depth have it, and not one of many alone.
    """
    found: dict[int, Counter[int]] = defaultdict(Counter)
    for level, depth in zip(levels, depths, strict=True):
        if depth is not None:
            found[depth][level] += 1
    total = sum(counts.total() for counts in found.values())
    unusual = sum(
        n
        for counts in found.values()
        for n in counts.values()
        if n < 0.25 * counts.total() or (n == 1 and counts.total() > 2)
    )
    return unusual / total if total else 0.0


def _by_numbers(levels: Sequence[int], depths: Sequence[int | None], lines: Sequence[Line | None]) -> list[int]:
    """Depth of the number where there is one; else the usual depth of numbered titles of the same style."""
    styles: dict[tuple[float, bool], Counter[int]] = defaultdict(Counter)
    for depth, line in zip(depths, lines, strict=True):
        if depth is not None and line is not None:
            styles[line.size, line.bold][depth] += 1
    settled: list[int] = []
    for level, depth, line in zip(levels, depths, lines, strict=True):
        if depth is not None:
            settled.append(depth)
        elif line is not None and (line.size, line.bold) in styles:
            settled.append(styles[line.size, line.bold].most_common(1)[0][0])
        elif line is not None and styles and line.size > max(size for size, _ in styles):
            settled.append(1)
        else:
            settled.append(min(level, settled[-1] + 1 if settled else 1))
    return settled
