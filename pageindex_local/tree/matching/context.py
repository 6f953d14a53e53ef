"""Pairs that follow from other pairs: downwards from matched parents, upwards from matched descendants."""

from collections import defaultdict
from collections.abc import Iterable

from rapidfuzz.distance import Indel

from pageindex_local.records import NodeKind
from pageindex_local.tree.match_report import MatchStep
from pageindex_local.tree.matching.exact import link_subtree
from pageindex_local.tree.matching.forest import NONE, Matching
from pageindex_local.tree.matching.similar import Pair, TextIndex, stand_out

_SINGLE_KINDS = (NodeKind.FRONT_MATTER, NodeKind.INTRODUCTION)
_UNLIKE = 0.3
_MIN_DICE = 0.5
_MIN_DICE_OF_STRANGERS = 0.8
_LIKE_TITLE = 0.5


def descend(matching: Matching, texts: TextIndex, *, strict: bool) -> bool:
    """Pair the children of pairs, top-down: by kind, by equal subtree, by a title that is alone or alone in its gap.

    `strict` leaves alone titles that other evidence contradicts: the texts are unlike while one of them resembles
    another free section, or what lies below has gone elsewhere. Returns whether anything was paired.
    """
    before = len(matching.evidence)
    for new in range(len(matching.new)):
        old = matching.to_old[new]
        if old == NONE or not matching.old.children[old] or not matching.new.children[new]:
            continue
        _pair_single_kinds(matching, old, new)
        _pair_equal_children(matching, old, new)
        _pair_titles(matching, texts, old, new, strict=strict)
        _pair_gaps(matching, texts, old, new, strict=strict)
    return len(matching.evidence) > before


def ascend(matching: Matching, texts: TextIndex) -> bool:
    """Pair free parents most of whose descendants are paired with each other. Returns whether anything was paired.

    One common descendant is enough only below matched parents: a chapter of one section may as well have been
    dissolved.
    """
    before = len(matching.evidence)
    while True:
        pairs: list[Pair] = []
        for old in matching.free_old():
            partners = (matching.to_new[child] for child in matching.old.children[old])
            parents = dict.fromkeys(matching.new.parent[partner] for partner in partners if partner != NONE)
            pairs.extend(
                Pair(old, new, score)
                for new in parents
                if matching.is_free(old, new)
                and not _is_text_elsewhere(matching, texts, old, new)
                and (score := _score_parents(matching, texts, old, new)) > 0
            )
        accepted = stand_out(pairs, _MIN_DICE)
        for pair in accepted:
            matching.link(pair.old, pair.new, MatchStep.DESCENDANTS, min(pair.score, 1.0))
        if not accepted:
            return len(matching.evidence) > before


def _score_parents(matching: Matching, texts: TextIndex, old: int, new: int) -> float:
    common = matching.count_common(old, new)
    share = _share_below(matching, old, new)
    title = Indel.normalized_similarity(matching.old.titles[old], matching.new.titles[new])
    if not matching.parents_match(old, new):
        if common < 2:
            return 0.0
        # Neither place nor name speaks for it. Then the sections may have been handed over to another chapter, which
        # shows in a text of its own that the old one did not have, or in what did not come along.
        is_stranger = title <= _LIKE_TITLE and texts.similarity(old, new) < _MIN_DICE
        if is_stranger and (texts.has_any(old, new) or share < _MIN_DICE_OF_STRANGERS):
            return 0.0
    # An equal title makes up for some descendants that came or went, an unlike one takes nothing away.
    return share + 0.2 * (title if title > _LIKE_TITLE else 0.0)


def _share_below(matching: Matching, old: int, new: int) -> float:
    """The share of all nodes below two that are paired with each other; 0 where there are none."""
    below = (matching.old.end[old] - old - 1) + (matching.new.end[new] - new - 1)
    return 2 * matching.count_common(old, new) / below if below else 0.0


def _pair_single_kinds(matching: Matching, old: int, new: int) -> None:
    for kind in _SINGLE_KINDS:
        olds = [child for child in matching.old.children[old] if matching.old.kinds[child] is kind]
        news = [child for child in matching.new.children[new] if matching.new.kinds[child] is kind]
        if len(olds) == len(news) == 1 and matching.is_free(olds[0], news[0]):
            matching.link(olds[0], news[0], MatchStep.KIND, 1.0)


def _pair_equal_children(matching: Matching, old: int, new: int) -> None:
    free_old = _by_hash(matching, old, old_side=True)
    free_new = _by_hash(matching, new, old_side=False)
    for digest, olds in free_old.items():
        news = free_new.get(digest, [])
        if not news:
            continue
        if len(olds) != len(news):
            _pair_beside_neighbours(matching, olds, news)
        rest_old = [child for child in olds if matching.to_new[child] == NONE]
        rest_new = [child for child in news if matching.to_old[child] == NONE]
        for a, b in zip(rest_old, rest_new, strict=False):
            link_subtree(matching, a, b)


def _by_hash(matching: Matching, parent: int, *, old_side: bool) -> dict[tuple[NodeKind, str], list[int]]:
    forest, partners = (matching.old, matching.to_new) if old_side else (matching.new, matching.to_old)
    groups: defaultdict[tuple[NodeKind, str], list[int]] = defaultdict(list)
    for child in forest.children[parent]:
        if partners[child] == NONE:
            groups[forest.kinds[child], forest.node(child).subtree_hash].append(child)
    return groups


def _pair_beside_neighbours(matching: Matching, olds: Iterable[int], news: Iterable[int]) -> None:
    """Of equal siblings, those first that stand beside the same neighbour as before, or are the first still."""
    by_neighbour: dict[tuple[int, int], int] = {}
    for new in news:
        for step in (-1, 1):
            beside = matching.new.neighbour(new, step)
            if beside is None and step == -1:
                by_neighbour[step, NONE] = new
            elif beside is not None and matching.to_old[beside] != NONE:
                by_neighbour.setdefault((step, matching.to_old[beside]), new)
    for old in olds:
        for step in (-1, 1):
            beside = matching.old.neighbour(old, step)
            found = by_neighbour.get((step, NONE if beside is None else beside))
            if found is not None and matching.is_free(old, found):
                link_subtree(matching, old, found)
                break


def _pair_titles(matching: Matching, texts: TextIndex, old: int, new: int, *, strict: bool) -> None:
    olds = _by_title(matching, old, old_side=True)
    news = _by_title(matching, new, old_side=False)
    for title, found in olds.items():
        others = news.get(title, [])
        if len(found) != 1 or len(others) != 1 or not matching.is_free(found[0], others[0]):
            continue
        if strict and _is_contradicted(matching, texts, found[0], others[0]):
            continue
        matching.link(found[0], others[0], MatchStep.TITLE, 1.0)


def _by_title(matching: Matching, parent: int, *, old_side: bool) -> dict[str, list[int]]:
    forest = matching.old if old_side else matching.new
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for child in forest.children[parent]:
        if forest.kinds[child] is NodeKind.SECTION and forest.titles[child]:
            groups[forest.titles[child]].append(child)
    return groups


def _pair_gaps(matching: Matching, texts: TextIndex, old: int, new: int, *, strict: bool) -> None:
    """Pair a title that siblings share where it occurs once on either side between the same two matched siblings.

    Parts have no titles of their own: the only one in its gap needs some text in common.
    """
    olds = _by_gap(matching, old, old_side=True)
    news = _by_gap(matching, new, old_side=False)
    for place, found in olds.items():
        others = news.get(place, [])
        if len(found) != 1 or len(others) != 1 or not matching.is_free(found[0], others[0]):
            continue
        a, b = found[0], others[0]
        if matching.old.kinds[a] is NodeKind.PART:
            if texts.similarity(a, b) >= _UNLIKE:
                matching.link(a, b, MatchStep.SIMILARITY, texts.similarity(a, b))
        elif not (strict and _is_contradicted(matching, texts, a, b)):
            matching.link(a, b, MatchStep.TITLE, 0.9)


def _by_gap(matching: Matching, parent: int, *, old_side: bool) -> dict[tuple[int, int, NodeKind, str], list[int]]:
    """Free children by the matched siblings before and after them (as old indexes), kind and title."""
    forest, partners = (matching.old, matching.to_new) if old_side else (matching.new, matching.to_old)
    other_parent = partners[parent]
    other = matching.new if old_side else matching.old
    gaps: defaultdict[tuple[int, int, NodeKind, str], list[int]] = defaultdict(list)
    waiting: list[int] = []
    left = NONE
    for child in [*forest.children[parent], NONE]:
        partner = partners[child] if child != NONE else NONE
        is_fence = child == NONE or (partner != NONE and other.parent[partner] == other_parent)
        if not is_fence:
            if partner == NONE and forest.kinds[child] in (NodeKind.SECTION, NodeKind.PART):
                waiting.append(child)
            continue
        right = child if old_side else partner
        for free in waiting:
            title = forest.titles[free] if forest.kinds[free] is NodeKind.SECTION else ""
            gaps[left, right, forest.kinds[free], title].append(free)
        waiting = []
        left = right
    return gaps


def _is_contradicted(matching: Matching, texts: TextIndex, old: int, new: int) -> bool:
    if texts.has_text(old, new) and texts.similarity(old, new) >= _MIN_DICE:
        return False
    # A chapter is the sections in it more than the words before the first: those may be another section's, whose
    # heading was taken out.
    if _share_below(matching, old, new) >= _MIN_DICE:
        return False
    if _is_text_elsewhere(matching, texts, old, new):
        return True
    if matching.count_common(old, new):
        return False
    below_old = matching.to_new[old + 1 : matching.old.end[old]]
    below_new = matching.to_old[new + 1 : matching.new.end[new]]
    gone = sum(partner != NONE for partner in below_old)
    come = sum(partner != NONE for partner in below_new)
    return gone > len(below_old) / 2 or come > len(below_new) / 2


def _is_text_elsewhere(matching: Matching, texts: TextIndex, old: int, new: int) -> bool:
    """Whether the own texts of two nodes are unlike while one of them resembles that of another free node."""
    return texts.similarity(old, new) < _UNLIKE and texts.best_elsewhere(matching, old, new) >= _MIN_DICE
