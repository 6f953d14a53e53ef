"""Where the text of split, merged and removed sections went: what pairing left over in, heirs and lineage out."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pageindex_local.records import NodeKind
from pageindex_local.tree.match_report import MatchStep
from pageindex_local.tree.matching.exact import is_exact
from pageindex_local.tree.matching.features import Features, count_shared
from pageindex_local.tree.matching.forest import NONE, Forest, Matching

_CONTAINED = 0.5
_COVERED = 0.6
_OVERLAPPING = 1.2
_MIN_FEATURES = 4  # fewer than six words in common may be chance


@dataclass
class Lineage:
    """For free new nodes the old nodes whose text they hold; for free old ones the new node that holds theirs."""

    derived_from: dict[int, list[int]] = field(default_factory=dict)
    merged_into: dict[int, int] = field(default_factory=dict)


class Overlaps:
    """How many features each leaf without a partner shares with each changed leaf of the other tree."""

    def __init__(self, matching: Matching) -> None:
        changed_old = [
            index
            for index in range(1, len(matching.old))
            if matching.to_new[index] == NONE or not is_exact(matching, matching.to_new[index])
        ]
        changed_new = [index for index in range(1, len(matching.new)) if not is_exact(matching, index)]
        self.old = _features(matching.old, changed_old)
        self.new = _features(matching.new, changed_new)
        free_old = {index: features for index, features in self.old.items() if matching.to_new[index] == NONE}
        free_new = {index: features for index, features in self.new.items() if matching.to_old[index] == NONE}
        self.of_old = count_shared(free_old, self.new)
        self.of_new = count_shared(free_new, self.old)


def match_heirs(matching: Matching, overlaps: Overlaps) -> None:
    """Give the id of a section that was split to its largest piece, and that of the largest contributor to a merger.

    A section was split when several new sections consist mostly of its text and together hold most of it; sections were
    merged when the same is true the other way round. The earlier one wins a tie. A piece that is the introduction of a
    section stands for that section.
    """
    old_forest, new_forest = matching.old, matching.new
    for old, counts in overlaps.of_old.items():
        pieces = [
            (count, _section_of(new_forest, new))
            for new, count in counts.items()
            if _is_share(count, len(overlaps.new[new]), _CONTAINED)
        ]
        pieces = [(count, new) for count, new in pieces if matching.is_free(old, new)]
        if _is_partition(pieces, len(overlaps.old[old])):
            count, heir = min(pieces, key=lambda piece: (-piece[0], piece[1]))
            matching.link(old, heir, MatchStep.SPLIT, min(1.0, count / len(overlaps.old[old])))
    for new, counts in overlaps.of_new.items():
        pieces = [
            (count, _section_of(old_forest, old))
            for old, count in counts.items()
            if _is_share(count, len(overlaps.old[old]), _CONTAINED)
        ]
        pieces = [(count, old) for count, old in pieces if matching.is_free(old, new)]
        if _is_partition(pieces, len(overlaps.new[new])):
            count, source = min(pieces, key=lambda piece: (-piece[0], piece[1]))
            matching.link(source, new, MatchStep.MERGE, min(1.0, count / len(overlaps.new[new])))


def trace_lineage(matching: Matching, overlaps: Overlaps) -> Lineage:
    """Which old sections the added ones came from, and which new sections took in the removed ones."""
    lineage = Lineage()
    for new, counts in overlaps.of_new.items():
        if matching.to_old[new] == NONE:
            sources = [old for old, count in counts.items() if _is_share(count, len(overlaps.new[new]), _CONTAINED)]
            if sources:
                lineage.derived_from[new] = sorted(sources)
    for old, counts in overlaps.of_old.items():
        if matching.to_new[old] == NONE and counts:
            new, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
            if _is_share(count, len(overlaps.old[old]), _CONTAINED):
                lineage.merged_into[old] = new
    return lineage


def _is_partition(pieces: list[tuple[int, int]], total: int) -> bool:
    """Whether several pieces together hold most of a text, and not the same of it twice: copies are no pieces."""
    held = sum(count for count, _ in pieces)
    return len(pieces) > 1 and _COVERED * total <= held <= _OVERLAPPING * total


def _section_of(forest: Forest, index: int) -> int:
    return forest.parent[index] if forest.kinds[index] is NodeKind.INTRODUCTION else index


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
