"""Pairs that look alike: features of texts in, pairs that stand out from their rivals. Near-linear by rare features."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from pageindex_local.records import NodeKind
from pageindex_local.tree.match_report import MatchStep
from pageindex_local.tree.matching.features import count_shared, dice
from pageindex_local.tree.matching.forest import NONE, ROOT, Forest, Matching

THRESHOLD = 0.5
MARGIN = 0.1
MAX_CANDIDATES = 12
_TEXT_WEIGHT = 0.6
_TITLE_WEIGHT = 0.2
_PARENT_WEIGHT = 0.1
_NEIGHBOUR_WEIGHT = 0.05
_UNLIKE = 0.2  # two texts that share fewer of their runs of words have only a template in common


@dataclass(frozen=True, slots=True)
class Pair:
    """An old and a new node that might be the same, with a score between 0 and 1."""

    old: int
    new: int
    score: float


class TextIndex:
    """Which old and new sections share text. Built once over what exact matching left open."""

    def __init__(self, matching: Matching) -> None:
        old, new = matching.old, matching.new
        self._old = {index: old.body_features(index) for index in _with_body(old, matching.free_old())}
        self._new = {index: new.body_features(index) for index in _with_body(new, matching.free_new())}
        self.candidates: dict[int, list[int]] = {
            # Ties fall to the earlier node.
            index: sorted(counts, key=lambda other: (-counts[other], other))[:MAX_CANDIDATES]
            for index, counts in count_shared(self._old, self._new).items()
        }
        self.rivals: defaultdict[int, list[int]] = defaultdict(list)
        for index, found in self.candidates.items():
            for other in found:
                self.rivals[other].append(index)

    def similarity(self, old: int, new: int) -> float:
        """Dice coefficient of two bodies; 0 where one has none."""
        return dice(self._old.get(old, frozenset()), self._new.get(new, frozenset()))

    def has_text(self, old: int, new: int) -> bool:
        """Whether both have a body to compare."""
        return bool(self._old.get(old)) and bool(self._new.get(new))

    def has_any(self, old: int, new: int) -> bool:
        """Whether at least one of the two has a body."""
        return bool(self._old.get(old)) or bool(self._new.get(new))

    def best_elsewhere(self, matching: Matching, old: int, new: int) -> float:
        """The highest similarity of either of the two to a free node other than the other."""
        best = 0.0
        for other in self.candidates.get(old, ()):
            if other != new and matching.is_free(old, other):
                best = max(best, self.similarity(old, other))
        for other in self.rivals.get(new, ()):
            if other != old and matching.is_free(other, new):
                best = max(best, self.similarity(other, new))
        return best


def score_pair(matching: Matching, texts: TextIndex, old: int, new: int) -> float:
    """0.6 text, 0.2 title, 0.2 surroundings: parents a pair, and the nearest siblings on either side a pair."""
    title = Indel.normalized_similarity(matching.old.titles[old], matching.new.titles[new])
    context = 0.0
    if matching.parents_match(old, new):
        context += _PARENT_WEIGHT
        for step in (-1, 1):
            a, b = matching.old.neighbour(old, step), matching.new.neighbour(new, step)
            if (a is None and b is None) or (a is not None and b is not None and matching.to_new[a] == b):
                context += _NEIGHBOUR_WEIGHT
    return _TEXT_WEIGHT * texts.similarity(old, new) + _TITLE_WEIGHT * title + context


def part_unlike(matching: Matching, texts: TextIndex) -> None:
    """Undo pairs of two texts that hardly share any words; those that exact matching found are none of them."""
    for new, old in enumerate(matching.to_old):
        if old not in (NONE, ROOT) and texts.has_text(old, new) and texts.similarity(old, new) < _UNLIKE:
            matching.part(old, new)


def match_similar(matching: Matching, texts: TextIndex) -> tuple[bool, list[Pair]]:
    """Pair free nodes that score above the threshold and stand out from every rival on both sides.

    Repeats until nothing changes, because a pair that is taken is no rival any more. Returns whether anything was
    paired, and the pairs above the threshold that were not told apart from a rival.
    """
    scored = [
        Pair(old, new, score)
        for old in matching.free_old()
        for new in texts.candidates.get(old, ())
        if matching.is_free(old, new) and (score := score_pair(matching, texts, old, new)) >= THRESHOLD - MARGIN
    ]
    found = False
    while True:
        accepted = stand_out([pair for pair in scored if matching.is_free(pair.old, pair.new)], THRESHOLD)
        for pair in accepted:
            matching.link(pair.old, pair.new, MatchStep.SIMILARITY, pair.score)
        if not accepted:
            break
        found = True
    return found, [pair for pair in scored if pair.score >= THRESHOLD and matching.is_free(pair.old, pair.new)]


def stand_out(pairs: Sequence[Pair], threshold: float) -> list[Pair]:
    """The pairs at or above a threshold that are better by the margin than any other pair of either node."""
    by_old: defaultdict[int, list[float]] = defaultdict(list)
    by_new: defaultdict[int, list[float]] = defaultdict(list)
    for pair in pairs:
        by_old[pair.old].append(pair.score)
        by_new[pair.new].append(pair.score)
    for scores in (*by_old.values(), *by_new.values()):
        scores.sort(reverse=True)

    def is_clear(scores: list[float], score: float) -> bool:
        return score == scores[0] and (len(scores) == 1 or score - scores[1] >= MARGIN)

    return [
        pair
        for pair in pairs
        if pair.score >= threshold and is_clear(by_old[pair.old], pair.score) and is_clear(by_new[pair.new], pair.score)
    ]


def _with_body(forest: Forest, indexes: Iterable[int]) -> list[int]:
    """Sections, front matter and parts that have text; introductions go with their section."""
    if not forest.has_texts:
        return []
    return [
        index
        for index in indexes
        if forest.kinds[index] is not NodeKind.INTRODUCTION and not forest.hollow[index] and forest.body_features(index)
    ]
