"""Which members of a row kept their order: numbers in, places out."""

from bisect import bisect_left
from collections.abc import Sequence


def longest_increasing(values: Sequence[int]) -> set[int]:
    """Places of a longest increasing subsequence of distinct values.

    Source: patience sorting (Fredman 1975).
    """
    tails: list[int] = []
    tail_places: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        slot = bisect_left(tails, value)
        before.append(tail_places[slot - 1] if slot else -1)
        if slot == len(tails):
            tails.append(value)
            tail_places.append(place)
        else:
            tails[slot] = value
            tail_places[slot] = place
    chosen: set[int] = set()
    place = tail_places[-1] if tail_places else -1
    while place >= 0:
        chosen.add(place)
        place = before[place]
    return chosen
