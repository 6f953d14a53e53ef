"""Judges of sections behind one interface: sections in, scores from 0 to 1 out. They decide nothing by themselves."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pageindex_local.llm.base import ScoreRequest, TextModel
from pageindex_local.query.evidence import Evidence
from pageindex_local.records import Node, SectionTree

PASSAGE_SHARE = 0.5  # of a leaf's evidence; the rest is its best page
_STEEPNESS = 6.0  # of the curve from gain in mean log probability to a score; 0.25 of gain is already much
_MAX_TEXT_CHARACTERS = 1_200


@dataclass(frozen=True, slots=True)
class Section:
    """What a judge sees of a node: titles from the top down, the summary, and for a leaf the beginning of its text."""

    node: Node
    titles: tuple[str, ...]
    text: str


class NodeScorer(Protocol):
    """Judges sections for one question."""

    name: str

    def score(self, sections: Sequence[Section]) -> list[float]:
        """One score from 0 to 1 for each section, in order."""
        ...


class FulltextScorer:
    """The best full-text evidence below a node. Cost: one pass over the leaves that have evidence, when it is made."""

    name = "fulltext"

    def __init__(self, tree: SectionTree, evidence: Evidence) -> None:
        self._scores = subtree_evidence(tree, evidence)

    def score(self, sections: Sequence[Section]) -> list[float]:
        """The evidence of each subtree; 0 where there is none."""
        return [self._scores.get(section.node.node_id, 0.0) for section in sections]

    def leaf_scores(self) -> Mapping[str, float]:
        """The evidence of every node that has some."""
        return self._scores


class LikelihoodScorer:
    """How much likelier the question becomes when the model has read the section: log p(q | section) - log p(q).

    The difference takes out how odd the question is by itself. Small models cannot choose from a list, but this ranks.
    Cost: one model score a section and one for the question alone, until `budget` is spent; then 0.5 (no opinion).
    """

    name = "likelihood"

    def __init__(self, model: TextModel, question: str, budget: int) -> None:
        self._model = model
        self._question = " " + " ".join(question.split())
        self._budget = budget
        self._alone: float | None = None
        self.calls = 0

    def score(self, sections: Sequence[Section]) -> list[float]:
        """A logistic curve over the gain of each section."""
        return self.score_texts([describe_section(section) for section in sections])

    def score_texts(self, texts: Sequence[str]) -> list[float]:
        """As `score` for plain texts."""
        allowed = max(min(len(texts), self._budget - self.calls), 0)
        gains = self.gains(texts[:allowed]) if allowed else []
        return [1 / (1 + math.exp(-_STEEPNESS * gain)) for gain in gains] + [0.5] * (len(texts) - allowed)

    def gains(self, texts: Sequence[str]) -> list[float]:
        """The gain in mean log probability of the question's tokens for each text."""
        requests = [ScoreRequest(f"{text}\nQuestion:", self._question) for text in texts]
        if self._alone is None:
            requests.append(ScoreRequest("\nQuestion:", self._question))
        scores = [score.mean_log_probability for score in self._model.score(requests)]
        if self._alone is None:
            self._alone = scores.pop()
        self.calls += len(texts)
        return [score - self._alone for score in scores]


class FusedScorer:
    """A weighted mean of other judges."""

    name = "fused"

    def __init__(self, parts: Sequence[tuple[NodeScorer, float]]) -> None:
        self._parts = parts

    def score(self, sections: Sequence[Section]) -> list[float]:
        """The weighted mean for each section."""
        total = sum(weight for _, weight in self._parts) or 1.0
        fused = [0.0] * len(sections)
        for scorer, weight in self._parts:
            if weight:
                for place, score in enumerate(scorer.score(sections)):
                    fused[place] += weight * score / total
        return fused


def describe_section(section: Section) -> str:
    """A section as a model reads it: titles, then the summary, or for a leaf without one the beginning of its text."""
    body = section.node.summary or section.text
    return " > ".join(section.titles) + "\n" + " ".join(body[:_MAX_TEXT_CHARACTERS].split())


def subtree_evidence(tree: SectionTree, evidence: Evidence) -> dict[str, float]:
    """For every node the best evidence of a leaf below it: half its best passage, half its best page."""
    best = max((page.score for page in evidence.pages), default=0.0) or 1.0
    leaves = list(tree.leaves())
    firsts = [leaf.first_page for leaf in leaves]
    page_part: dict[str, float] = {}
    for page in evidence.pages:
        for place in range(bisect_right(firsts, page.page_number) - 1, -1, -1):
            leaf = leaves[place]
            if leaf.last_page < page.page_number:
                break
            page_part[leaf.node_id] = max(page.score / best, page_part.get(leaf.node_id, 0.0))
    scores: dict[str, float] = {}
    for node_id in page_part.keys() | evidence.leaves.keys():
        if node_id not in tree.nodes:
            continue
        score = PASSAGE_SHARE * evidence.leaves.get(node_id, 0.0) + (1 - PASSAGE_SHARE) * page_part.get(node_id, 0.0)
        for above in tree.path(node_id):
            scores[above] = max(score, scores.get(above, 0.0))
    return scores
