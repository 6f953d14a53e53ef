"""PageIndex's JSON form: the keys that its tools read, in nested order."""

from dataclasses import replace

from pageindex_local.export import to_pageindex
from pageindex_local.records import NodeKind, SummarySource
from tests.sections import Section, render


def sections() -> list[Section]:
    return [
        Section("a", "1 Scope", ["Own text."], [Section("b", "1.1 Parts", ["x"]), Section("c", "1.2 Tools", ["y"])]),
        Section("d", "2 Care", ["z"]),
    ]


def test_to_pageindex_nests_sections_with_their_page_ranges() -> None:
    tree = render(sections(), lines_per_page=4).tree

    nested = to_pageindex("manual.pdf", tree, has_pages=True)

    assert nested["doc_name"] == "manual.pdf"
    assert [(entry["title"], entry["start_index"], entry["end_index"]) for entry in nested["structure"]] == [
        ("1 Scope", 1, 2),
        ("2 Care", 2, 2),
    ]
    assert [entry["title"] for entry in nested["structure"][0]["nodes"]] == ["1.1 Parts", "1.2 Tools"]
    assert set(nested["structure"][1]) == {"title", "node_id", "start_index", "end_index"}


def test_to_pageindex_introduction_rides_with_its_parent() -> None:
    tree = render(sections()).tree
    intro = tree.nodes[tree.roots[0]].children[0]

    nested = to_pageindex("manual.pdf", tree, has_pages=True)

    assert nested["structure"][0]["introduction"] == {"node_id": intro, "start_index": 1, "end_index": 1}


def test_to_pageindex_without_pages_gives_the_line_of_the_heading_from_one() -> None:
    nested = to_pageindex("manual.md", render(sections()).tree, has_pages=False)

    assert [entry["line_num"] for entry in nested["structure"]] == [1, 7]
    assert [entry["line_num"] for entry in nested["structure"][0]["nodes"]] == [3, 5]


def test_to_pageindex_summary_and_description_only_where_there_are_some() -> None:
    tree = render(sections()).tree
    last = tree.roots[1]
    nodes = dict(tree.nodes) | {
        last: replace(tree.nodes[last], summary="How to care.", summary_source=SummarySource.MODEL)
    }

    nested = to_pageindex("manual.pdf", replace(tree, nodes=nodes, description="A manual."), has_pages=True)

    assert nested["doc_description"] == "A manual."
    assert [entry.get("summary") for entry in nested["structure"]] == [None, "How to care."]
    assert "doc_description" not in to_pageindex("manual.pdf", tree, has_pages=True)


def test_to_pageindex_children_come_last_so_that_long_trees_can_be_read() -> None:
    nested = to_pageindex("manual.pdf", render(sections()).tree, has_pages=True, details=True)

    assert list(nested["structure"][0])[-1] == "nodes"
    assert nested["structure"][0]["lines"] == [1, 6]


def test_to_pageindex_parts_of_a_long_section_ride_with_it_and_are_no_entries() -> None:
    tree = render(sections()).tree
    parent = tree.nodes[tree.roots[0]]
    nodes = dict(tree.nodes) | {child: replace(tree.nodes[child], kind=NodeKind.PART) for child in parent.children[1:]}

    nested = to_pageindex("manual.pdf", replace(tree, nodes=nodes), has_pages=True)

    assert [entry["title"] for entry in nested["structure"]] == ["1 Scope", "2 Care"]
    assert [entry["title"] for entry in nested["structure"][0]["parts"]] == ["1.1 Parts", "1.2 Tools"]
    assert "nodes" not in nested["structure"][0]


def test_to_pageindex_parts_of_a_document_without_headings_are_its_entries() -> None:
    tree = render([Section("a", "1 Scope", ["x"]), Section("b", "2 Care", ["y"])]).tree
    nodes = {node.node_id: replace(node, kind=NodeKind.PART) for node in tree.walk()}

    nested = to_pageindex("manual.pdf", replace(tree, nodes=nodes), has_pages=True)

    assert [entry["title"] for entry in nested["structure"]] == ["1 Scope", "2 Care"]
