"""Questions whose place is known: sentences and headings taken from sections, with words left out. No model, no labels.

Enters: stored versions and a seed. Leaves: places, the same for the same seed. It searches nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pageindex_local.extractive import count_words, unwrap_lines
from pageindex_local.ids import normalise_text
from pageindex_local.query.words import is_stop_word, split_words
from pageindex_local.records import Node
from pageindex_local.sentences import split_sentences
from pageindex_local.store.reader import StoredVersion

DROP_EVERY = 3
_MIN_WORDS, _MAX_WORDS = 8, 60
_MIN_LETTERS = 0.6  # share of a sentence's characters; tables and code have fewer
_MIN_CONTENT_WORDS = 3  # that must be left of a sentence


@dataclass(frozen=True, slots=True)
class KnownPlace:
    """A question and the leaf that it was taken from. `source` is the sentence or heading before words were dropped."""

    doc_key: str
    doc_id: str
    node_id: str
    kind: Literal["sentence", "heading"]
    source: str
    question: str


def drop_words(text: str, every: int = DROP_EVERY) -> str:
    """A text without each `every`-th word: a paraphrase that still speaks of the same thing.

    Without spaces there are no words to drop: then each `every`-th character goes.
    """
    words = text.split()
    if len(words) < every:
        return "".join(char for place, char in enumerate(text, 1) if place % every)
    return " ".join(word for place, word in enumerate(words, 1) if place % every)


def usable_sentences(version: StoredVersion, node: Node) -> list[str]:
    """The sentences of a leaf that can be asked for: whole, of words rather than figures, neither short nor long."""
    return [sentence for sentence in split_sentences(unwrap_lines(version.own_text(node))) if _is_usable(sentence)]


def sample_sentences(versions: Sequence[StoredVersion], count: int, seed: int) -> list[KnownPlace]:
    """Places drawn from documents in turn, from a random leaf of each and a random sentence of that.

    So a long document and a long section count no more than short ones. A sentence that another leaf of its document
    holds too has no single place and is left out. Fewer than `count` where there are not enough.
    """
    rng = random.Random(f"sentences {seed}")
    queues = []
    for version in versions:
        seen: dict[str, int] = {}
        by_leaf: list[tuple[Node, list[str]]] = []
        for leaf in version.tree().leaves():
            sentences = list(dict.fromkeys(usable_sentences(version, leaf)))
            by_leaf.append((leaf, sentences))
            for sentence in sentences:
                key = normalise_text(sentence)
                seen[key] = seen.get(key, 0) + 1
        places = []
        for leaf, sentences in by_leaf:
            unique = [sentence for sentence in sentences if seen[normalise_text(sentence)] == 1]
            rng.shuffle(unique)
            places.append([_place(version, leaf, "sentence", text, drop_words(text)) for text in unique])
        rng.shuffle(places)
        longest = max(map(len, places), default=0)
        queues.append([leaf[turn] for turn in range(longest) for leaf in places if turn < len(leaf)])
    return _take_in_turn(queues, count)


def sample_headings(versions: Sequence[StoredVersion], count: int, seed: int) -> list[KnownPlace]:
    """Places whose question is a leaf's titles, from documents in turn; titles that lead to two leaves are left out."""
    rng = random.Random(f"headings {seed}")
    queues = []
    for version in versions:
        tree = version.tree()
        paths: dict[str, list[Node]] = {}
        for leaf in tree.leaves():
            titles = " ".join(dict.fromkeys(tree.nodes[node_id].title for node_id in tree.path(leaf.node_id)[-2:]))
            paths.setdefault(titles, []).append(leaf)
        places = [
            _place(version, leaves[0], "heading", titles, titles)
            for titles, leaves in paths.items()
            if len(leaves) == 1 and any(not is_stop_word(word) for word in split_words(titles))
        ]
        rng.shuffle(places)
        queues.append(places)
    return _take_in_turn(queues, count)


def _place(
    version: StoredVersion, leaf: Node, kind: Literal["sentence", "heading"], source: str, question: str
) -> KnownPlace:
    return KnownPlace(version.doc_key, version.manifest.doc_id, leaf.node_id, kind, source, question)


def _take_in_turn(queues: Sequence[Sequence[KnownPlace]], count: int) -> list[KnownPlace]:
    longest = max(map(len, queues), default=0)
    turns = (queue[turn] for turn in range(longest) for queue in queues if turn < len(queue))
    return [place for place, _ in zip(turns, range(count), strict=False)]


def _is_usable(sentence: str) -> bool:
    words = count_words(sentence)
    if not _MIN_WORDS <= words <= _MAX_WORDS or sentence[-1] not in ".?!。？！":
        return False
    if sum(char.isalpha() for char in sentence) < _MIN_LETTERS * len(sentence.replace(" ", "")):
        return False
    left = {word for word in split_words(drop_words(sentence)) if not is_stop_word(word) and len(word) > 1}
    return len(left) >= _MIN_CONTENT_WORDS
