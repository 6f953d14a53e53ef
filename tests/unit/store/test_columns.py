"""Parquet bytes of trees and pages."""

from dataclasses import replace

import pytest

from pageindex_local.errors import CorruptIndexError
from pageindex_local.records import NodeKind, SummarySource
from pageindex_local.store.columns import read_nodes, read_pages, write_nodes, write_pages
from pageindex_local.store.lazy_rows import NodeRows
from pageindex_local.store.records import StoredPage
from tests.sections import Section, render
from tests.store_samples import sample_sections


def test_read_nodes_gives_back_the_tree() -> None:
    tree = render(sample_sections()).tree
    nodes = {
        key: replace(node, summary=f"Über {node.title} ❄", summary_source=SummarySource.MODEL, confidence=1 / 3)
        for key, node in tree.nodes.items()
    }
    tree = replace(tree, nodes=nodes, description="All of it.", description_source=SummarySource.EXTRACTIVE)

    again = read_nodes(
        write_nodes(tree), subject="x", description="All of it.", description_source=SummarySource.EXTRACTIVE
    )

    assert again == tree
    assert list(again.nodes) == list(tree.nodes)
    assert {type(node.kind) for node in again.walk()} == {NodeKind}


def test_read_nodes_one_by_one_gives_the_same_records_and_no_others() -> None:
    wide = [Section(f"s{n}", f"Section {n}", ["text"], [Section(f"s{n}t", "Sub", ["more"])]) for n in range(100)]
    tree = render(wide).tree
    again = read_nodes(write_nodes(tree), subject="x", description="", description_source=SummarySource.NONE)
    assert isinstance(again.nodes, NodeRows)

    for node_id in (tree.roots[60], tree.roots[3], tree.nodes[tree.roots[60]].children[0]):
        assert again.nodes[node_id] == tree.nodes[node_id]

    assert again.nodes.made == 3
    assert "none of them" not in again.nodes
    assert list(again.walk()) == list(tree.walk())


def test_read_nodes_rows_that_form_no_tree_are_corrupt() -> None:
    tree = render(sample_sections()).tree
    first, *others = tree.walk()
    orphan = replace(others[0], parent_id="nobody")
    for rows in ([first, first], [orphan], [*reversed(list(tree.walk()))]):
        data = write_nodes(replace(tree, nodes=dict(enumerate(rows))))  # type: ignore[arg-type]
        with pytest.raises(CorruptIndexError, match="twice in it or before its parent"):
            read_nodes(data, subject="x", description="", description_source=SummarySource.NONE)


def test_read_nodes_unknown_value_is_corrupt_once_the_node_is_read() -> None:
    tree = render(sample_sections()).tree
    strange = {key: replace(node, kind=SummarySource.MODEL) for key, node in tree.nodes.items()}  # type: ignore[arg-type]
    again = read_nodes(
        write_nodes(replace(tree, nodes=strange)), subject="x", description="", description_source=SummarySource.NONE
    )
    with pytest.raises(CorruptIndexError, match="does not know"):
        again.nodes[tree.roots[0]]


def test_write_nodes_equal_trees_give_equal_bytes() -> None:
    assert write_nodes(render(sample_sections()).tree) == write_nodes(render(sample_sections()).tree)


def test_read_pages_gives_back_the_pages() -> None:
    pages = (
        StoredPage(1, "i", 0, 2, "a\n\u00e9", (0,)),
        StoredPage(2, "", 2, 0, ""),
        StoredPage(3, "1", 2, 1, "", (2,)),
    )

    again = read_pages(write_pages(pages), subject="x")
    assert (again[2], again[-3], again[1:]) == (pages[2], pages[0], pages[1:])
    assert again == pages
    with pytest.raises(IndexError):
        again[3]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"not parquet at all" * 20])
def test_read_nodes_other_bytes_are_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptIndexError, match="Parquet"):
        read_nodes(data, subject="x", description="", description_source=SummarySource.NONE)


def test_read_nodes_table_of_pages_is_corrupt() -> None:
    with pytest.raises(CorruptIndexError, match="columns"):
        read_nodes(write_pages([]), subject="x", description="", description_source=SummarySource.NONE)


def test_read_pages_flipped_bit_in_a_page_is_noticed_by_its_checksum() -> None:
    data = bytearray(write_pages([StoredPage(1, "1", 0, 1, "some words that are the text of a page " * 50)]))
    # The first column chunk starts right after the magic bytes and the page header.
    damaged = 0
    for place in range(60, 120):
        copy = bytearray(data)
        copy[place] ^= 8
        try:
            if read_pages(bytes(copy), subject="x") != read_pages(bytes(data), subject="x"):
                pytest.fail(f"byte {place} changed the content unnoticed")
        except CorruptIndexError:
            damaged += 1
    assert damaged > 0
