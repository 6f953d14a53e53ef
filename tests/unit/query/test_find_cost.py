"""What a question touches of a large tree: bounds by depth and beam, not by the number of sections."""

import pytest

from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.documents import match_names, name_words
from pageindex_local.query.evidence import COMMON_PASSAGES, gather_evidence
from pageindex_local.query.find import LEAVES_PER_PAGE, find_pages
from pageindex_local.query.fulltext import open_search_index
from pageindex_local.query.search_index import IndexedDocument
from pageindex_local.query.strategies import FULLTEXT_PLAN
from pageindex_local.query.trace import Trace
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.lazy_rows import NodeRows
from pageindex_local.store.records import Release
from tests.benchmarks.search_cost import make_sections, word
from tests.sections import Section, render
from tests.unit.query.indexes import publish

_NODES, _FAN_OUT, _DEPTH, _PAGES = 4_000, 10, 4, 3


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[IndexStore, Release]:
    """One document of four thousand sections, ten in each."""
    sections = make_sections(_NODES, seed=1)
    return publish(tmp_path_factory.mktemp("large"), {"manual.md": sections}, lines_per_page=40)


def test_find_pages_of_a_large_tree_makes_few_records(large: tuple[IndexStore, Release]) -> None:
    store, release = large
    settings = read_settings().query

    found = find_pages(
        f"What does the {word(2 * 1_234 + 1)} hold with oil and pump?",
        store,
        release=release,
        doc_ids=None,
        model=None,
        settings=settings,
        max_pages=_PAGES,
        trace=Trace(),
        plan=FULLTEXT_PLAN,
    )

    (searched,) = found.documents.values()
    nodes = searched.tree.nodes
    assert isinstance(nodes, NodeRows)
    assert nodes[found.candidates[0].node_id].title == "Item 1234"
    # Each leaf wanted may open the sections above it, and opening one looks at those in it.
    assert nodes.made <= _FAN_OUT + LEAVES_PER_PAGE * _PAGES * _FAN_OUT + _FAN_OUT * _DEPTH
    assert len(nodes) > 20 * nodes.made


def test_gather_evidence_leaves_common_words_to_passages_with_a_rarer_one(large: tuple[IndexStore, Release]) -> None:
    store, release = large
    rare = word(2 * 1_234 + 1)
    with open_search_index(store, release) as index:
        (document,) = index.documents.values()
        assert index.count_passages("item", document.passage_rows) > COMMON_PASSAGES
        alone = gather_evidence(index, document, analyse_question(f"{rare}?"))
        together = gather_evidence(index, document, analyse_question(f"{rare} item?"))
        common = gather_evidence(index, document, analyse_question("item?"))

    assert set(together.leaves) == set(alone.leaves)
    assert together.matched["item"] == common.matched["item"] > 0
    assert len(common.leaves) > COMMON_PASSAGES  # nothing rarer is asked for, so every passage counts


def test_passage_hits_among_others_are_those_of_the_word_alone(large: tuple[IndexStore, Release]) -> None:
    store, release = large
    with open_search_index(store, release) as index:
        (document,) = index.documents.values()
        everywhere = index.passage_hits("oil", document.passage_rows, (2.0, 1.0))
        among = index.passage_hits(
            "oil", document.passage_rows, (2.0, 1.0), among=[("pump", False), ("item 7", True), (word(9), False)]
        )
        holders = {
            row for text in ("pump", "item 7", word(9))
            for row in index.passage_hits(text, document.passage_rows, (2.0, 1.0)).rows
        }  # fmt: skip

    assert among.idf == everywhere.idf
    assert among.rows.keys() == everywhere.rows.keys() & holders
    assert among.rows == pytest.approx({row: everywhere.rows[row] for row in among.rows}, rel=1e-6)


@pytest.mark.parametrize(
    "doc_id",
    ["Pump_Manual-2021.pdf", "a/b/Über-Fähre.md", "x1,577b/oil.md", "ＰＵＭＰ.txt", "co\u00adop.md", "joe's bar.md"],
)
def test_match_names_finds_each_word_of_a_name(doc_id: str) -> None:
    document = IndexedDocument("key", doc_id, "v000001", (1, 1), (1, 1), "")
    words = name_words(document)
    assert words
    for name in words:
        question = analyse_question(f"what of {name} {name}?")
        if [found.word for found in question.words] == [name]:
            assert match_names(question, {"key": document})["key"] > 0


def test_leaf_at_and_overlapping_agree_with_a_walk_over_the_tree() -> None:
    sections = [
        Section("a", "A", ["x", "y"], [Section("b", "B", [], [Section("c", "C", ["1", "2"])]), Section("d", "D")]),
        Section("e", "E", ["z"]),
    ]
    tree = render(sections).tree
    end = max(node.span[1] for node in tree.walk())
    for line in range(end):
        assert tree.leaf_at(line) == next(leaf for leaf in tree.leaves() if leaf.span[0] <= line < leaf.span[1])
        for stop in range(line + 1, end + 1):
            expected = [node for node in tree.walk() if node.span[0] < stop and node.span[1] > line]
            assert list(tree.overlapping((line, stop))) == expected
