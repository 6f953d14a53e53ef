"""Judges of sections behind one interface: sections in, scores from 0 to 1 out. They decide nothing by themselves."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pageindex_local.query.citations import make_inert
from pageindex_local.query.evidence import Evidence
from pageindex_local.records import Node, SectionTree
from pageindex_local.store.lazy_rows import NodeRows

PASSAGE_SHARE = 0.5  # of a leaf's evidence; the rest is its best page
THIN_WORDS = 30  # a leaf with fewer words is described together with its parent
_MAX_TEXT_CHARACTERS = 1_200


class Described(Protocol):
    """What stands before a judge with an id, a title and a summary: a section, or a whole document."""

    @property
    def node_id(self) -> str:
        """The section's id; for a document its `doc_key`."""
        ...

    @property
    def title(self) -> str:
        """What it is called."""
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
    """The best full-text evidence of a leaf below a node: half its best passage, half its best page.

    Every page of a node is a page of a leaf below it. So only leaves with a passage are climbed up from, and a node's
    pages are looked up when it is judged. Cost: the paths of the leaves that have a passage with evidence.
    """

    name = "fulltext"

    def __init__(self, tree: SectionTree, evidence: Evidence) -> None:
        best = max((page.score for page in evidence.pages), default=0.0) or 1.0
        pages = sorted((page.page_number, page.score / best) for page in evidence.pages)
        self._numbers = [number for number, _ in pages]
        self._shares = [share for _, share in pages]
        self._tree = tree
        self._scores: dict[str, float] = {}
        scored = [
            (PASSAGE_SHARE * share + (1 - PASSAGE_SHARE) * self._best_page(*_place(tree, leaf)[1:]), leaf)
            for leaf, share in evidence.leaves.items()
            if leaf in tree.nodes
        ]
        for score, leaf in sorted(scored, reverse=True):
            above: str | None = leaf
            while above is not None and above not in self._scores:  # else a better leaf came by
                self._scores[above] = score
                above = _place(tree, above)[0]

    def score(self, sections: Sequence[Section]) -> list[float]:
        """The evidence of each subtree; 0 where there is none."""
        return [self._score(self._tree.nodes[section.node.node_id]) for section in sections]

    def _score(self, node: Node) -> float:
        best_page = self._best_page(node.first_page, node.last_page)
        return max((1 - PASSAGE_SHARE) * best_page, self._scores.get(node.node_id, 0.0))

    def _best_page(self, first_page: int, last_page: int) -> float:
        first, end = bisect_left(self._numbers, first_page), bisect_right(self._numbers, last_page)
        return max(self._shares[first:end], default=0.0)


def _place(tree: SectionTree, node_id: str) -> tuple[str | None, int, int]:
    """The parent, first and last page of a node; of a stored tree without making a record of it."""
    if isinstance(tree.nodes, NodeRows):
        return tree.nodes.place(node_id)
    node = tree.nodes[node_id]
    return node.parent_id, node.first_page, node.last_page


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
