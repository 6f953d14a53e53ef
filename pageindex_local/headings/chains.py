"""Choosing one place for each of several titles so that their order is kept. Weighted places in, a chain out."""

from bisect import bisect_left
from collections.abc import Sequence


def best_chain(places: Sequence[Sequence[tuple[int, float]]]) -> list[int | None]:
    """For each item the index of its chosen place, or None.

    `places[i]` are the (position, weight) pairs where item i may stand. The chosen positions strictly increase and the
    sum of their weights is the largest possible. Cost is O(n log n) in the number of places.

    Source: heaviest increasing subsequence with a prefix-maximum (Fenwick) tree.
    """
    positions = sorted({position for options in places for position, _ in options})
    best_weight = [0.0] * (len(positions) + 1)
    best_link = [-1] * (len(positions) + 1)
    links: list[tuple[int, int, int]] = []  # item, option, link before
    for item, options in enumerate(places):
        found: list[tuple[int, float, int]] = []
        for option, (position, weight) in enumerate(options):
            if weight <= 0:
                continue
            rank = bisect_left(positions, position)
            total, link = _best_before(best_weight, best_link, rank)
            links.append((item, option, link))
            found.append((rank + 1, total + weight, len(links) - 1))
        for rank, total, link in found:
            _raise(best_weight, best_link, rank, total, link)
    chosen: list[int | None] = [None] * len(places)
    _, current = _best_before(best_weight, best_link, len(positions))
    while current >= 0:
        item, option, current = links[current]
        chosen[item] = option
    return chosen


def _best_before(weights: Sequence[float], tree_links: Sequence[int], rank: int) -> tuple[float, int]:
    best, link = 0.0, -1
    while rank > 0:
        if weights[rank] > best:
            best, link = weights[rank], tree_links[rank]
        rank -= rank & -rank
    return best, link


def _raise(weights: list[float], tree_links: list[int], rank: int, total: float, link: int) -> None:
    while rank < len(weights):
        if total > weights[rank]:
            weights[rank], tree_links[rank] = total, link
        rank += rank & -rank
