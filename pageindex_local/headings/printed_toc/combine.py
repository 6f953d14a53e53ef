"""The headings of several contents lists in, one list out: each part of a document may bring its own contents.

Lists compete for the lines between their first and last heading; a list inside a section of another goes below it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from pageindex_local.records import Heading


def combine_lists(lists: Sequence[Sequence[Heading]]) -> tuple[tuple[Heading, ...], list[int]]:
    """The headings together in document order, and the numbers of the lists that were used.

    `lists` are in order of preference, each in document order. A list is used where it lies wholly before, after or
    between two headings of what was taken already; one that overlaps tells the same sections again and is left out.
    """
    taken: list[Heading] = []
    used: list[int] = []
    for number, headings in enumerate(lists):
        if not headings:
            continue
        starts = [heading.span[0] for heading in taken]
        place = bisect_left(starts, headings[0].span[0])
        if place != bisect_left(starts, headings[-1].span[0] + 1):
            continue
        inside = 0 < place < len(taken)
        below = taken[place - 1].level if inside else 0
        taken[place:place] = [replace(heading, level=heading.level + below) for heading in headings]
        used.append(number)
    return tuple(taken), used
