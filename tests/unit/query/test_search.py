from collections.abc import Mapping, Sequence

from pageindex_local.query.scorers import Section as JudgedSection
from pageindex_local.query.search import search_tree
from tests.sections import Section, render


class TableScorer:
    """Scores from a table of titles; remembers what it was asked."""

    name = "table"

    def __init__(self, scores: Mapping[str, float]) -> None:
        self._scores = scores
        self.asked: list[str] = []

    def score(self, sections: Sequence[JudgedSection]) -> list[float]:
        self.asked += [section.node.title for section in sections]
        return [self._scores.get(section.node.title, 0.0) for section in sections]


def wide_tree(chapters: int, sections: int) -> list[Section]:
    return [
        Section(
            f"c{c}", f"Chapter {c}", [], [Section(f"c{c}s{s}", f"Section {c}.{s}", ["text"]) for s in range(sections)]
        )
        for c in range(chapters)
    ]


def titles_found(sections: list[Section], scores: Mapping[str, float], *, beam: int, max_leaves: int) -> list[str]:
    tree = render(sections).tree
    scorer = TableScorer(scores)
    result = search_tree(tree, scorer, scorer, lambda node_id: "", beam=beam, max_leaves=max_leaves)
    return [tree.nodes[leaf.node_id].title for leaf in result.leaves]


def test_search_tree_follows_the_best_branch_first() -> None:
    scores = {"Chapter 2": 0.9, "Section 2.1": 0.8, "Chapter 0": 0.5, "Section 0.0": 0.4}
    assert titles_found(wide_tree(4, 3), scores, beam=4, max_leaves=1) == ["Section 2.1"]


def test_search_tree_goes_back_when_a_branch_disappoints() -> None:
    scores = {"Chapter 0": 0.9, "Chapter 1": 0.7, "Section 1.2": 0.7}
    assert titles_found(wide_tree(2, 3), scores, beam=4, max_leaves=1) == ["Section 1.2"]


def test_search_tree_finds_leaves_of_several_chapters() -> None:
    scores = {"Chapter 0": 0.8, "Section 0.1": 0.8, "Chapter 3": 0.8, "Section 3.0": 0.8}
    assert set(titles_found(wide_tree(4, 3), scores, beam=8, max_leaves=2)) == {"Section 0.1", "Section 3.0"}


def test_search_tree_gives_a_real_judge_no_more_than_the_beam() -> None:
    tree = render(wide_tree(50, 10)).tree
    quick = TableScorer(
        {f"Chapter {n}": 0.5 + n / 1000 for n in range(50)} | {f"Section 49.{s}": 0.6 + s / 100 for s in range(10)}
    )
    judge = TableScorer({"Chapter 49": 0.9, "Section 49.7": 0.9})
    result = search_tree(tree, quick, judge, lambda node_id: "", beam=4, max_leaves=2)
    assert tree.nodes[result.leaves[0].node_id].title == "Section 49.7"
    expansions = len(result.steps)
    assert len(judge.asked) <= 4 * expansions
    assert set(judge.asked[:4]) == {"Chapter 46", "Chapter 47", "Chapter 48", "Chapter 49"}


def test_search_tree_of_ten_times_the_nodes_judges_no_more_with_the_model() -> None:
    asked = []
    for chapters in (20, 200):
        tree = render(wide_tree(chapters, 10)).tree
        quick = TableScorer({node.title: 0.5 for node in tree.walk()})
        judge = TableScorer({node.title: 0.5 for node in tree.walk()})
        search_tree(tree, quick, judge, lambda node_id: "", beam=4, max_leaves=3)
        asked.append(len(judge.asked))
    assert asked[0] == asked[1]


def test_search_tree_stops_at_the_node_budget() -> None:
    tree = render(wide_tree(30, 30)).tree
    scorer = TableScorer({node.title: 0.5 for node in tree.walk()})
    result = search_tree(tree, scorer, scorer, lambda node_id: "", beam=4, max_leaves=100, max_nodes=60)
    assert result.stopped_by == "node budget"
    assert result.judged <= 60
