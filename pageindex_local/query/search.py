"""Best-first search over one section tree: tree and judges in, leaves in the order of their paths out.

The frontier is a beam over the whole tree, so going back to another branch costs nothing. No recursion; the number of
sections judged is bounded by the beam and the leaves wanted, not by the size of the tree.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pageindex_local.query.scorers import THIN_WORDS, NodeScorer, Section
from pageindex_local.records import SectionTree

PATH_SHARE = 0.5  # of a path's score that comes from the path above, the rest from the node itself


@dataclass(frozen=True, slots=True)
class FoundLeaf:
    """A leaf that the search reached. `path_score` is the moving average from the top down to it."""

    node_id: str
    score: float
    path_score: float


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One expansion, for the trace: which node was opened and how its children were judged, best first."""

    node_id: str | None
    children: tuple[tuple[str, float], ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Leaves in the order found, every expansion, how many sections were judged, and why the search ended."""

    leaves: tuple[FoundLeaf, ...]
    steps: tuple[SearchStep, ...]
    judged: int
    stopped_by: str


def search_tree(
    tree: SectionTree,
    first_pass: NodeScorer,
    scorer: NodeScorer,
    text_of: Callable[[str], str],
    *,
    beam: int,
    max_leaves: int,
    max_nodes: int = 10_000,
    max_pages: int = 1_000,
) -> SearchResult:
    """Search a tree for the leaves that answer a question.

    Args:
        tree: the sections.
        first_pass: a cheap judge of every child of an opened node; only the `beam` best of them go to `scorer`.
        scorer: the judge whose scores count.
        text_of: the text of a leaf by node id, called only for leaves that are judged by `scorer`.
        beam: how many open sections are kept at most (never fewer than the leaves still wanted).
        max_leaves: the search stops when so many leaves are found.
        max_nodes: and when so many sections have been judged.
        max_pages: and when the leaves found cover so many different pages.
    """
    frontier: list[tuple[float, int, float, str]] = []
    leaves: list[FoundLeaf] = []
    steps: list[SearchStep] = []
    covered: set[int] = set()
    judged = 0
    opened: str | None = None
    above, children = 0.0, tree.roots
    stopped_by = "no section left"
    while True:
        if children:
            scored, dropped = _judge(tree, children, first_pass, scorer, text_of, max(beam, max_leaves - len(leaves)))
            judged += len(children)
            steps.append(SearchStep(opened, tuple(scored), dropped))
            for order, (node_id, score) in enumerate(scored):
                path = score if opened is None else PATH_SHARE * above + (1 - PATH_SHARE) * score
                heapq.heappush(frontier, (-path, judged + order, score, node_id))
            width = max(beam, max_leaves - len(leaves))
            if len(frontier) > width:
                frontier = heapq.nsmallest(width, frontier)
                heapq.heapify(frontier)
        if not frontier:
            break
        negative, _, score, node_id = heapq.heappop(frontier)
        node = tree.nodes[node_id]
        if node.is_leaf:
            leaves.append(FoundLeaf(node_id, score, -negative))
            covered.update(range(node.first_page, node.last_page + 1))
            if len(leaves) >= max_leaves or len(covered) >= max_pages:
                stopped_by = "enough leaves" if len(leaves) >= max_leaves else "page budget"
                break
            children = ()
            continue
        if judged >= max_nodes:
            stopped_by = "node budget"
            break
        opened, above, children = node_id, -negative, node.children
    return SearchResult(tuple(leaves), tuple(steps), judged, stopped_by)


def _judge(
    tree: SectionTree,
    children: Sequence[str],
    first_pass: NodeScorer,
    scorer: NodeScorer,
    text_of: Callable[[str], str],
    width: int,
) -> tuple[list[tuple[str, float]], int]:
    """The best children with their scores, best first, and how many were left out."""
    sections = [Section(tree.nodes[node_id], (), "") for node_id in children]
    quick = first_pass.score(sections)
    order = sorted(range(len(children)), key=lambda place: (-quick[place], place))
    kept = [children[place] for place in order[:width] if quick[place] > 0 or len(children) <= width]
    if scorer is first_pass:
        return [(children[place], quick[place]) for place in order[: len(kept)]], len(children) - len(kept)
    full = [section_of(tree, node_id, text_of) for node_id in kept]
    scores = scorer.score(full)
    ranked = sorted(zip(kept, scores, strict=True), key=lambda pair: -pair[1])
    return ranked, len(children) - len(kept)


def section_of(tree: SectionTree, node_id: str, text_of: Callable[[str], str]) -> Section:
    """What a judge sees of a node; `text_of` gives the text of a leaf that has no summary."""
    node = tree.nodes[node_id]
    titles = tuple(tree.nodes[above].title for above in tree.path(node_id))
    text = "" if node.summary or not node.is_leaf else text_of(node_id)
    is_thin = node.is_leaf and node.parent_id is not None and len((node.summary or text).split()) < THIN_WORDS
    return Section(node, titles, text, tree.nodes[node.parent_id].summary if is_thin and node.parent_id else "")
