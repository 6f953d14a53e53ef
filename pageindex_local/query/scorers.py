"""Judges of sections behind one interface: sections in, scores from 0 to 1 out. They decide nothing by themselves."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pageindex_local.query.citations import make_inert
from pageindex_local.query.evidence import Evidence
from pageindex_local.records import SectionTree

PASSAGE_SHARE = 0.5  # of a leaf's evidence; the rest is its best page
THIN_WORDS = 30  # a leaf with fewer words is described together with its parent
_MAX_TEXT_CHARACTERS = 1_200


class Described(Protocol):
    """What stands for itself before a judge by an id and a summary: a section, or a whole document."""

    @property
    def node_id(self) -> str:
        """The section's id; for a document its `doc_key`."""
        ...

    @property
    def summary(self) -> str:
        """What it says, in a sentence or two; may be empty."""
        ...


@dataclass(frozen=True, slots=True)
class Section:
    """What a judge sees of a node: titles from the top down, the summary, and for a leaf an excerpt of its text.

    `context` is the parent's summary, given where the leaf alone is too thin to be judged.
    """

    node: Described
    titles: tuple[str, ...]
    text: str
    context: str = ""


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


class NeutralScorer:
    """Has no opinion: every section is as good as another, so that order of the document decides."""

    name = "neutral"

    def score(self, sections: Sequence[Section]) -> list[float]:
        """One half for each."""
        return [0.5] * len(sections)


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


def describe_section(section: Section, hidden: str = "") -> str:
    """A section as a model reads it: titles, then the summary, or an excerpt of a leaf, with its parent's if thin.

    `hidden` is a sentence that summaries are read without, for questions that were made of it.
    """
    body = " ".join(filter(None, (section.node.summary or section.text, section.context)))
    if hidden:
        body = " ".join(body.split()).replace(hidden, "")
    titles = " > ".join(make_inert(title) for title in section.titles)
    return f"{titles}\n{make_inert(body[:_MAX_TEXT_CHARACTERS])}"


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
