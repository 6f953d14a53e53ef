"""Texts as sets of features and what sets share: pure, independent of the order of sets, near-linear."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

Features = frozenset[int]

# Scripts written without spaces count character by character, everything else word by word.
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]|\w+")
_SHINGLE_WORDS = 3
# A feature that more sections hold than this tells none of them apart, and would make counting quadratic.
_MAX_HOLDERS = 12


def text_features(text: str) -> Features:
    """A number for each run of three words of a text, case folded; for the whole text where it is shorter.

    Numbers and not strings, because millions of small objects are slow to make. They differ from process to process, so
    only how many two texts share may be used; unequal runs share one by chance about once in 10^19 pairs.
    """
    words = _WORDS.findall(text.casefold())
    if len(words) < _SHINGLE_WORDS:
        return frozenset([hash(tuple(words))] if words else [])
    return frozenset(map(hash, zip(words, words[1:], words[2:], strict=False)))


def dice(first: Features, second: Features) -> float:
    """Twice what two sets share over what they hold."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0


def count_shared(first: Mapping[int, Features], second: Mapping[int, Features]) -> dict[int, dict[int, int]]:
    """For each set of `first`, how many features it shares with which sets of `second`, common ones left out.

    The sets it shares with are in the order of their numbers.
    """
    if not first:
        return {}
    wanted = frozenset().union(*first.values())
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for index, features in second.items():
        for feature in features & wanted:
            holders[feature].append(index)
    shared: dict[int, dict[int, int]] = {}
    for index, features in first.items():
        hits: list[int] = []
        for feature in features:
            found = holders.get(feature)
            if found is not None and len(found) <= _MAX_HOLDERS:
                hits += found
        shared[index] = dict(sorted(Counter(hits).items()))
    return shared
