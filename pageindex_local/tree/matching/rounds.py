"""All matching steps in their order: two forests in, their pairs, lineage and open cases out."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pageindex_local.tree.matching.context import ascend, descend
from pageindex_local.tree.matching.exact import (
    match_anchors,
    match_lonely_titles,
    match_pinned,
    match_subtrees,
    match_texts,
)
from pageindex_local.tree.matching.forest import NONE, Forest, Matching
from pageindex_local.tree.matching.lineage import Lineage, Overlaps, match_heirs, trace_lineage
from pageindex_local.tree.matching.similar import MAX_CANDIDATES, Pair, TextIndex, match_similar, part_unlike

_MAX_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Result:
    """The pairs, where leftover text went, and for each undecided new node the old ones it might be, best first."""

    matching: Matching
    lineage: Lineage
    ambiguous: dict[int, list[Pair]]


def match_forests(
    old: Forest, new: Forest, pinned: Mapping[str, str] = MappingProxyType({}), *, only_alike: bool = False
) -> Result:
    """Pair the nodes of two trees. Deterministic; near-linear in nodes and changed text; no recursion.

    `pinned` are pairs that the caller knows, new id -> old id. Each step sees only what the ones before it left free:
    explicit anchors; equal subtrees and equal texts that are unique on both sides; then, repeatedly, what follows from
    matched parents and matched descendants; similarity with a margin; heirs of splits and mergers; bare titles that
    occur once. Source: the order follows GumTree (Falleri et al., ASE 2014: greedy top-down, then bottom-up), with
    uniqueness asked of every exact step, similarity by margin in place of edit distance, and lineage added.

    With `only_alike` place and title alone make no pair of two texts: they might be of two documents made after one
    template.
    """
    matching = Matching(old, new)
    match_pinned(matching, pinned)
    match_anchors(matching)
    match_subtrees(matching)
    match_texts(matching)
    texts = TextIndex(matching)
    open_pairs: list[Pair] = []
    strict = True
    for _ in range(_MAX_ROUNDS):
        changed = _spread(matching, texts, strict=strict)
        similar, open_pairs = match_similar(matching, texts)
        if not (changed or similar):
            if not strict:
                break
            strict = False
    overlaps = Overlaps(matching)
    match_heirs(matching, overlaps)
    match_lonely_titles(matching)
    _spread(matching, texts, strict=False)
    if only_alike:
        part_unlike(matching, texts)
    ambiguous: defaultdict[int, list[Pair]] = defaultdict(list)
    for pair in sorted(open_pairs, key=lambda pair: (-pair.score, pair.old)):
        if matching.to_old[pair.new] == NONE:
            ambiguous[pair.new].append(pair)
    _add_equal_leftovers(matching, ambiguous)
    return Result(matching, trace_lineage(matching, overlaps), dict(ambiguous))


def _spread(matching: Matching, texts: TextIndex, *, strict: bool) -> bool:
    changed = False
    for _ in range(_MAX_ROUNDS):
        down = descend(matching, texts, strict=strict)
        up = ascend(matching, texts)
        if not (down or up):
            break
        changed = True
    return changed


def _add_equal_leftovers(matching: Matching, ambiguous: dict[int, list[Pair]]) -> None:
    """Report free nodes that are equal to free old ones but could not be told apart by their surroundings.

    The first few candidates are enough to say so: boilerplate may stand in thousands of places.
    """
    by_hash: defaultdict[str, list[int]] = defaultdict(list)
    for index in matching.free_old():
        if not matching.old.hollow[index]:
            by_hash[matching.old.node(index).subtree_hash].append(index)
    for index in matching.free_new():
        equal = by_hash.get(matching.new.node(index).subtree_hash, [])
        if equal and index not in ambiguous and not matching.new.hollow[index]:
            ambiguous[index] = [Pair(candidate, index, 1.0) for candidate in equal[:MAX_CANDIDATES]]
