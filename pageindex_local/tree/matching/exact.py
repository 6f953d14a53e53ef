"""Pairs that need no judgement: equal anchors, equal subtrees, equal texts, each unique on both sides. Linear."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping

from pageindex_local.records import NodeKind
from pageindex_local.tree.match_report import MatchStep
from pageindex_local.tree.matching.features import dice
from pageindex_local.tree.matching.forest import NONE, Forest, Matching

_COUNTING_ANCHOR = re.compile(r"[\W_]*(?:[^\W\d_]+[-_.:]*)?\d[\d\W_]*[a-z]?", re.IGNORECASE)
# Shorter texts ("None.", "Reserved for future use.") are common property of many sections.
_MIN_WORDS_OF_EQUAL_TEXT = 8
_ALIKE = 0.5


def match_pinned(matching: Matching, pinned: Mapping[str, str]) -> None:
    """Pair nodes of which the caller knows that they are the same: new id -> old id."""
    if not pinned:
        return
    old_indexes = {matching.old.node(index).node_id: index for index in range(1, len(matching.old))}
    for new in range(1, len(matching.new)):
        old = old_indexes.get(pinned.get(matching.new.node(new).node_id, ""))
        if old is not None and matching.is_free(old, new):
            matching.link(old, new, MatchStep.ANCHOR, 1.0)


def match_anchors(matching: Matching) -> None:
    """Pair sections with the same explicit anchor: the author's own name for them, whatever title and text say now.

    Anchors that count (`sec-3-2`, `_Toc4711`) name places, and go on to the next section when one is put in before.
    """

    def anchor(forest: Forest, index: int) -> str | None:
        name = forest.anchors[index]
        return None if not name or _COUNTING_ANCHOR.fullmatch(name) else name

    for old, new in _unique_pairs(matching, anchor, range(1, len(matching.old)), range(1, len(matching.new))):
        if matching.is_free(old, new):
            matching.link(old, new, MatchStep.ANCHOR, 1.0)


def match_subtrees(matching: Matching) -> None:
    """Pair subtrees that are equal throughout and hold some text, where each occurs once in either tree.

    Pre-order sees larger subtrees first. Everything inside a pair is paired too, in order. Equal subtrees that occur
    several times wait for their parents: only context can tell them apart. So does one that seems to have moved while
    something very like it stands in its old place, or stood in its new one: there the section was copied, and then the
    original was edited, or such an edit was taken back.
    """
    in_place = _same_place(matching)
    was_in_place = {new: old for old, new in in_place.items()}

    def digest(forest: Forest, index: int) -> Hashable | None:
        return None if forest.hollow[index] else (forest.kinds[index], forest.node(index).subtree_hash)

    for old, new in _unique_pairs(matching, digest, range(1, len(matching.old)), range(1, len(matching.new))):
        if not _is_copied(matching, in_place, old, new) and not _was_copy(matching, was_in_place, old, new):
            link_subtree(matching, old, new)


def _same_place(matching: Matching) -> dict[int, int]:
    """Old nodes and the new ones under the same titles from the top down, where that path is unique."""
    old_indexes, new_indexes = range(1, len(matching.old)), range(1, len(matching.new))
    return dict(_unique_pairs(matching, lambda forest, index: forest.paths[index], old_indexes, new_indexes))


def _is_copied(matching: Matching, in_place: dict[int, int], old: int, new: int) -> bool:
    """Whether a free node in the old place is as like the old one as an edited section, so that `new` is a copy."""
    other = in_place.get(old)
    if other is None or other == new or not matching.is_free(old, other):
        return False
    return dice(matching.old.body_features(old), matching.new.body_features(other)) >= _ALIKE


def _was_copy(matching: Matching, in_place: dict[int, int], old: int, new: int) -> bool:
    """Whether a free node stood in the new place that is as like the new one as an edited section.

    Then `old` was a copy of it, made before that one was edited, and the edit was taken back.
    """
    other = in_place.get(new)
    if other is None or other == old or not matching.is_free(other, new):
        return False
    return dice(matching.old.body_features(other), matching.new.body_features(new)) >= _ALIKE


def link_subtree(matching: Matching, old: int, new: int) -> bool:
    """Pair two equal subtrees node by node, leaving out what has a partner already. False where their shapes differ."""
    width = matching.old.end[old] - old
    if matching.new.end[new] - new != width:
        return False
    pairs = [(old + offset, new + offset) for offset in range(width)]
    if any(matching.old.kinds[a] != matching.new.kinds[b] for a, b in pairs):
        return False
    for a, b in pairs:
        if matching.is_free(a, b):
            matching.link(a, b, MatchStep.SUBTREE, 1.0)
    return True


def match_texts(matching: Matching) -> None:
    """Pair free leaves whose own text is equal and occurs once in either tree: sections with another title."""
    if not (matching.old.has_texts and matching.new.has_texts):
        return

    def text(forest: Forest, index: int) -> Hashable | None:
        if forest.children[index] or forest.hollow[index] or forest.kinds[index] is NodeKind.INTRODUCTION:
            return None
        content = forest.text(index)
        return (forest.kinds[index], content) if content.count(" ") + 1 >= _MIN_WORDS_OF_EQUAL_TEXT else None

    free_old, free_new = list(matching.free_old()), list(matching.free_new())
    if not _unique_pairs(matching, text, free_old, free_new):
        return
    in_place = _same_place(matching)
    was_in_place = {new: old for old, new in in_place.items()}
    for old, new in _unique_pairs(matching, text, range(1, len(matching.old)), range(1, len(matching.new))):
        if not matching.is_free(old, new):
            continue
        if not _is_copied(matching, in_place, old, new) and not _was_copy(matching, was_in_place, old, new):
            matching.link(old, new, MatchStep.OWN_TEXT, 1.0)


def match_lonely_titles(matching: Matching) -> None:
    """Pair free nodes without any text whose title occurs once in either tree: nothing but the title can tell."""

    def title(forest: Forest, index: int) -> Hashable | None:
        return (forest.kinds[index], forest.titles[index]) if forest.titles[index] else None

    for old, new in _unique_pairs(matching, title, range(1, len(matching.old)), range(1, len(matching.new))):
        if matching.is_free(old, new) and matching.old.hollow[old] and matching.new.hollow[new]:
            matching.link(old, new, MatchStep.TITLE, 0.75)


def _unique_pairs(
    matching: Matching,
    key: Callable[[Forest, int], Hashable | None],
    old_indexes: Iterable[int],
    new_indexes: Iterable[int],
) -> list[tuple[int, int]]:
    """Pairs with the same key, where each side has it once; in old pre-order. Nodes with key None do not take part."""
    old_places = _places(matching.old, key, old_indexes)
    new_places = _places(matching.new, key, new_indexes)
    return [
        (places[0], new_places[value][0])
        for value, places in old_places.items()
        if len(places) == 1 and len(new_places.get(value, ())) == 1
    ]


def _places(
    forest: Forest, key: Callable[[Forest, int], Hashable | None], indexes: Iterable[int]
) -> dict[Hashable, list[int]]:
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index in indexes:
        value = key(forest, index)
        if value is not None:
            places[value].append(index)
    return places


def is_exact(matching: Matching, new: int) -> bool:
    """Whether a new node has a partner with equal title and text."""
    old = matching.to_old[new]
    return old != NONE and matching.old.node(old).own_hash == matching.new.node(new).own_hash
