"""How good a section tree is: compared with a reference outline, and by what it costs to find a page with it.

Entries and trees enter, numbers leave. Nothing here builds or changes a tree.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from pageindex_local.records import SectionTree

TITLE_RATIO = 0.85
LENGTH_RATIO = 0.7
PAGE_SLACK = 1

_LEADING_NUMBER = re.compile(
    r"^\s*(?:(?:chapter|section|part|appendix|annex|article|item|note|lecture|unit|§)\s+)?"
    r"(?:[0-9ivxlc]+|[a-z])(?:[.\-][0-9a-z]+)*[.):\-–—]*\s+(?=\S)",
    re.IGNORECASE,
)
_NOT_WORD = re.compile(r"[^\w]+")


class Entry(NamedTuple):
    """One entry of an outline: level from 1, title, physical start page from 1."""

    level: int
    title: str
    page_number: int


@dataclass(frozen=True, slots=True)
class StructureScore:
    """Agreement of a tree with a reference outline; shares are from 0 to 1."""

    gold_count: int
    predicted_count: int
    matched_count: int
    precision: float
    recall: float
    f1: float
    page_exact: float
    parent: float


@dataclass(frozen=True, slots=True)
class SearchCost:
    """Pages read to reach a page of the document when the reader picks the right leaf and reads it whole.

    `mean` is over all pages, `worst` the longest leaf. A page that several leaves share counts with the shortest.
    """

    mean: float
    worst: int


def score_structure(gold: Sequence[Entry], predicted: Sequence[Entry]) -> StructureScore:
    """Precision, recall and F1 over entries, and how well the matched ones are placed.

    A predicted entry matches a gold entry when their titles are alike (without section numbers, ratio of at least 0.85)
    and their pages differ by at most one. Matches are one to one and keep the order of both lists. `page_exact` is the
    share of matches on the very page, `parent` the share whose nearest matched ancestor is the same in both.
    """
    pairs = match_entries(gold, predicted)
    count = len(pairs)
    precision = count / len(predicted) if predicted else 0.0
    recall = count / len(gold) if gold else 0.0
    to_predicted = dict(pairs)
    gold_parents = _matched_parents(gold, to_predicted.keys())
    predicted_parents = _matched_parents(predicted, set(to_predicted.values()))
    same_parent = exact = 0
    for i, j in pairs:
        gold_parent = gold_parents[i]
        expected = None if gold_parent is None else to_predicted[gold_parent]
        same_parent += predicted_parents[j] == expected
        exact += gold[i].page_number == predicted[j].page_number
    return StructureScore(
        gold_count=len(gold),
        predicted_count=len(predicted),
        matched_count=count,
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if count else 0.0,
        page_exact=exact / count if count else 0.0,
        parent=same_parent / count if count else 0.0,
    )


def match_entries(gold: Sequence[Entry], predicted: Sequence[Entry]) -> list[tuple[int, int]]:
    """Index pairs (gold, predicted) of the longest one-to-one matching that keeps both orders.

    Source: longest increasing subsequence by patience sorting over the admissible pairs.
    """
    gold_keys = [_key(entry.title) for entry in gold]
    predicted_keys = [_key(entry.title) for entry in predicted]
    on_page: dict[int, list[int]] = {}
    for j, entry in enumerate(predicted):
        on_page.setdefault(entry.page_number, []).append(j)
    tails: list[int] = []
    links: list[tuple[int, int, int]] = []  # gold, predicted, number of the link before
    tail_links: list[int] = []
    for i, entry in enumerate(gold):
        nearby = range(entry.page_number - PAGE_SLACK, entry.page_number + PAGE_SLACK + 1)
        admissible = {j for page in nearby for j in on_page.get(page, ()) if _alike(gold_keys[i], predicted_keys[j])}
        for j in sorted(admissible, reverse=True):
            place = bisect_left(tails, j)
            links.append((i, j, tail_links[place - 1] if place else -1))
            if place == len(tails):
                tails.append(j)
                tail_links.append(len(links) - 1)
            else:
                tails[place] = j
                tail_links[place] = len(links) - 1
    pairs: list[tuple[int, int]] = []
    current = tail_links[-1] if tail_links else -1
    while current >= 0:
        i, j, current = links[current]
        pairs.append((i, j))
    pairs.reverse()
    return pairs


def mean_scores(scores: Iterable[StructureScore]) -> Mapping[str, float]:
    """Means over files of every share, so that one huge document does not decide."""
    rows = list(scores)
    names = ("precision", "recall", "f1", "page_exact", "parent")
    return {name: sum(getattr(row, name) for row in rows) / len(rows) if rows else 0.0 for name in names}


def search_cost(tree: SectionTree) -> SearchCost:
    """What it costs to reach a page with this tree (see SearchCost); zeros for an empty tree."""
    shortest: dict[int, int] = {}
    worst = 0
    for leaf in tree.leaves():
        length = leaf.last_page - leaf.first_page + 1
        worst = max(worst, length)
        for page in range(leaf.first_page, leaf.last_page + 1):
            shortest[page] = min(length, shortest.get(page, length))
    return SearchCost(sum(shortest.values()) / len(shortest) if shortest else 0.0, worst)


def _key(title: str) -> str:
    text = unicodedata.normalize("NFKC", title)
    stripped = _LEADING_NUMBER.sub("", text, count=1) or text
    return _NOT_WORD.sub(" ", stripped.casefold()).strip() or _NOT_WORD.sub(" ", text.casefold()).strip()


def _alike(first: str, second: str) -> bool:
    if first == second:
        return True
    if not first or not second:
        return False
    if min(len(first), len(second)) / max(len(first), len(second)) < LENGTH_RATIO:
        return False
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= TITLE_RATIO


def _matched_parents(entries: Sequence[Entry], kept: Collection[int]) -> dict[int, int | None]:
    parents: dict[int, int | None] = {}
    ancestors: list[int] = []
    for index, entry in enumerate(entries):
        while ancestors and entries[ancestors[-1]].level >= entry.level:
            ancestors.pop()
        if index in kept:
            parents[index] = next((a for a in reversed(ancestors) if a in kept), None)
        ancestors.append(index)
    return parents
