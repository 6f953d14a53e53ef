from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pageindex_local.errors import TreeError
from pageindex_local.records import Node, NodeKind, SectionTree
from pageindex_local.store.records import StoredPage
from pageindex_local.tree.assemble import build_tree
from pageindex_local.tree.validate import check_tree, validate_tree
from tests.unit.tree.printed import Printed, print_pages, tree_settings

PRINTED = print_pages(
    ["Cover"],
    ["# A", "own text", "## A.1", "text"],
    ["text", "## A.2", "text"],
    ["# B", "text"],
)


def _tree(printed: Printed = PRINTED) -> SectionTree:
    return build_tree(printed.document, printed.headings, tree_settings())


def _change(tree: SectionTree, key: str, /, **changes: Any) -> SectionTree:
    return replace(tree, nodes={**tree.nodes, key: replace(tree.nodes[key], **changes)})


def _rename(tree: SectionTree, old: str, new: str) -> SectionTree:
    return replace(tree, nodes={new if key == old else key: node for key, node in tree.nodes.items()})


def _reorder(tree: SectionTree) -> SectionTree:
    keys = list(tree.nodes)
    keys[-1], keys[-2] = keys[-2], keys[-1]
    return replace(tree, nodes={key: tree.nodes[key] for key in keys})


def _add_lost(tree: SectionTree) -> SectionTree:
    lost = replace(tree.nodes["d00006"], node_id="d00099")
    return replace(tree, nodes={**tree.nodes, "d00099": lost})


# The tree: d00001 front matter, d00002 A, d00003 introduction of A, d00004 A.1, d00005 A.2, d00006 B.
VIOLATIONS: dict[str, tuple[Callable[[SectionTree], SectionTree], str]] = {
    "gap between siblings": (lambda t: _change(t, "d00004", span=(4, 6), heading=(4, 4)), "d00004 starts at line 4"),
    "overlap of siblings": (lambda t: _change(t, "d00003", span=(1, 4)), "d00004 starts at line 3, expected 4"),
    "child outside its parent": (lambda t: _change(t, "d00005", span=(6, 9)), "the children of d00002 end at line 9"),
    "document not covered": (lambda t: _change(t, "d00006", span=(8, 9)), "the children of the document end at line 9"),
    "span turned round": (lambda t: _change(t, "d00006", span=(8, 7)), "d00006 spans lines 8 to 7"),
    "heading outside": (lambda t: _change(t, "d00004", heading=(0, 1)), "d00004 has its heading at 0 to 1"),
    "page out of range": (lambda t: _change(t, "d00006", last_page=9), "d00006 covers pages 4 to 9"),
    "pages turned round": (lambda t: _change(t, "d00004", first_page=3, last_page=2), "d00004 covers pages 3 to 2"),
    "page not covered": (lambda t: _change(t, "d00001", first_page=2), "do not cover its pages"),
    "pages of other lines": (lambda t: _change(t, "d00005", last_page=2, first_page=2), "its lines"),
    "child pages outside parent": (lambda t: _change(t, "d00002", last_page=2), "outside d00002"),
    "missing child": (lambda t: _change(t, "d00002", children=("d00003", "d00077")), "d00077 is listed as a child"),
    "child listed twice": (
        lambda t: _change(t, "d00002", children=("d00003", "d00004", "d00005", "d00004")),
        "d00004 is listed twice",
    ),
    "cycle": (lambda t: _change(t, "d00004", children=("d00002",)), "d00002 is listed twice"),
    "wrong parent": (lambda t: _change(t, "d00004", parent_id="d00006"), "d00004 names d00006 as its parent"),
    "wrong level": (lambda t: _change(t, "d00004", level=3), "d00004 has level 3 at depth 2"),
    "id and key differ": (lambda t: _rename(t, "d00006", "d00066"), "does not exist"),
    "node under another id": (lambda t: _change(t, "d00006", node_id="d00001"), "stored under the id of d00001"),
    "unreachable node": (_add_lost, "d00099 is not reachable"),
    "map not in pre-order": (_reorder, "out of order"),
    "no nodes": (lambda t: replace(t, roots=(), nodes={}), "no nodes"),
    "empty title": (lambda t: _change(t, "d00006", title=""), "unclean title"),
    "title of two lines": (lambda t: _change(t, "d00006", title="B\nC"), "unclean title"),
    "terminal escape in title": (lambda t: _change(t, "d00006", title="\x1b[2JB"), "unclean title"),
    "bidi override in title": (lambda t: _change(t, "d00006", title="B\u202eC"), "unclean title"),
    "endless title": (lambda t: _change(t, "d00006", title="B" * 5_000), "unclean title"),
    "confidence over one": (lambda t: _change(t, "d00006", confidence=1.5), "confidence 1.5"),
    "confidence not a number": (lambda t: _change(t, "d00006", confidence=float("nan")), "confidence nan"),
    "introduction not first": (
        lambda t: _change(t, "d00005", kind=NodeKind.INTRODUCTION),
        "d00005 is an introduction but not the first child",
    ),
    "introduction at top level": (
        lambda t: _change(t, "d00006", kind=NodeKind.INTRODUCTION),
        "d00006 is an introduction",
    ),
    "front matter in the middle": (
        lambda t: _change(t, "d00006", kind=NodeKind.FRONT_MATTER),
        "d00006 is front matter",
    ),
    "hash missing": (lambda t: _change(t, "d00006", own_hash=""), "some nodes have hashes"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_validate_broken_tree_names_the_violation(name: str) -> None:
    breaks, expected = VIOLATIONS[name]
    problems = validate_tree(breaks(_tree()), PRINTED.document.pages)
    assert any(expected in problem for problem in problems), problems


def test_validate_sound_tree_has_no_violations() -> None:
    assert validate_tree(_tree(), PRINTED.document.pages) == []


def test_validate_stored_pages_are_accepted_in_place_of_parsed_ones() -> None:
    stored = [
        StoredPage(page.page_number, page.label, page.first_line, len(page.lines), page.text)
        for page in PRINTED.document.pages
    ]
    assert validate_tree(_tree(), stored) == []


def test_validate_pages_out_of_order_is_named() -> None:
    pages = PRINTED.document.pages
    assert validate_tree(_tree(), pages[::-1]) == ["page 1 is numbered 4"]
    moved = [*pages[:-1], replace(pages[-1], first_line=99)]
    assert validate_tree(_tree(), moved) == ["page 4 has lines 99 to 101, expected to start at 8"]
    assert validate_tree(_tree(), []) == ["the document has no pages"]


def test_validate_too_deep_tree_is_named() -> None:
    nodes: dict[str, Node] = {}
    base = _tree().nodes["d00006"]
    for level in range(1, 80):
        nodes[f"n{level}"] = replace(
            base,
            node_id=f"n{level}",
            parent_id=f"n{level - 1}" if level > 1 else None,
            children=(f"n{level + 1}",) if level < 79 else (),
            level=level,
        )
    assert validate_tree(SectionTree(("n1",), nodes), PRINTED.document.pages) == [
        "n67 lies 67 levels deep, at most 66 are allowed"
    ]


def test_check_broken_tree_raises_with_document_and_count() -> None:
    broken = _tree()
    for node_id in ("d00001", "d00003", "d00004", "d00005", "d00006"):
        broken = _change(broken, node_id, title="", confidence=2.0)
    with pytest.raises(TreeError, match=r"^a\.pdf: the section tree is not sound: .*\(and 5 more\)"):
        check_tree(broken, PRINTED.document.pages, subject="a.pdf")


def test_check_sound_tree_passes() -> None:
    check_tree(_tree(), PRINTED.document.pages)
