"""Where the text of split, merged and removed sections went: what pairing left over in, heirs and lineage out."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pageindex_local.records import NodeKind
from pageindex_local.tree.match_report import MatchStep
from pageindex_local.tree.matching.exact import is_exact
from pageindex_local.tree.matching.forest import NONE, Features, Forest, Matching

_CONTAINED = 0.5
_COVERED = 0.6
_MIN_FEATURES = 4  # fewer than six words in common may be chance
_MAX_SHARED_BY = 12


@dataclass
class Lineage:
    """For free new nodes the old nodes whose text they hold; for free old ones the new node that holds theirs."""

    derived_from: dict[int, list[int]] = field(default_factory=dict)
    merged_into: dict[int, int] = field(default_factory=dict)


class _Overlaps:
    """How much text every changed old leaf shares with every changed new leaf, in features."""

    def __init__(self, matching: Matching) -> None:
        old_leaves = [
            index
            for index in range(1, len(matching.old))
            if matching.to_new[index] == NONE or not is_exact(matching, matching.to_new[index])
        ]
        new_leaves = [index for index in range(1, len(matching.new)) if not is_exact(matching, index)]
        self.old = _features(matching.old, old_leaves)
        self.new = _features(matching.new, new_leaves)
        holders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for index, features in self.new.items():
            for feature in features:
                holders[feature].append(index)
        self.shared: dict[int, Counter[int]] = {}
        self.sharers: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for index, features in self.old.items():
            counts = self.shared[index] = Counter()
            for feature in features:
                found = holders.get(feature, ())
                if len(found) <= _MAX_SHARED_BY:
                    counts.update(found)
            for other, count in counts.items():
                self.sharers[other][index] = count


def match_heirs(matching: Matching) -> None:
    """Give the id of a section that was split to its largest piece, and that of the largest contributor to a merger.

    A section was split when several new sections consist mostly of its text and together hold most of it; sections were
    merged when the same is true the other way round. The earlier one wins a tie.
    """
    overlaps = _Overlaps(matching)
    for old in list(overlaps.shared):
        if matching.to_new[old] != NONE or matching.old.kinds[old] is NodeKind.INTRODUCTION:
            continue
        pieces = [
            (count, new)
            for new, count in overlaps.shared[old].items()
            if matching.is_free(old, new) and _is_share(count, len(overlaps.new[new]), _CONTAINED)
        ]
        if len(pieces) > 1 and sum(count for count, _ in pieces) >= _COVERED * len(overlaps.old[old]):
            count, heir = min(pieces, key=lambda piece: (-piece[0], piece[1]))
            matching.link(old, heir, MatchStep.SPLIT, min(1.0, count / len(overlaps.old[old])))
    for new in list(overlaps.sharers):
        if matching.to_old[new] != NONE or matching.new.kinds[new] is NodeKind.INTRODUCTION:
            continue
        pieces = [
            (count, old)
            for old, count in overlaps.sharers[new].items()
            if matching.is_free(old, new) and _is_share(count, len(overlaps.old[old]), _CONTAINED)
        ]
        if len(pieces) > 1 and sum(count for count, _ in pieces) >= _COVERED * len(overlaps.new[new]):
            count, source = min(pieces, key=lambda piece: (-piece[0], piece[1]))
            matching.link(source, new, MatchStep.MERGE, min(1.0, count / len(overlaps.new[new])))


def trace_lineage(matching: Matching) -> Lineage:
    """Which old sections the added ones came from, and which new sections took in the removed ones."""
    overlaps = _Overlaps(matching)
    lineage = Lineage()
    for new, counts in overlaps.sharers.items():
        if matching.to_old[new] == NONE:
            sources = [old for old, count in counts.items() if _is_share(count, len(overlaps.new[new]), _CONTAINED)]
            if sources:
                lineage.derived_from[new] = sorted(sources)
    for old, counts in overlaps.shared.items():
        if matching.to_new[old] == NONE and counts:
            new, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
            if _is_share(count, len(overlaps.old[old]), _CONTAINED):
                lineage.merged_into[old] = new
    return lineage


def _is_share(count: int, total: int, share: float) -> bool:
    return count >= min(_MIN_FEATURES, total) and count >= share * total


def _features(forest: Forest, indexes: Iterable[int]) -> dict[int, Features]:
    if not forest.has_texts:
        return {}
    return {
        index: features
        for index in indexes
        if not forest.children[index] and not forest.hollow[index] and (features := forest.own_features(index))
    }
