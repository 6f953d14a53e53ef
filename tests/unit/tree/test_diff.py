"""What differs between two trees with lasting ids, by hand; the general law is in tests/properties."""

from dataclasses import replace

import pytest

from pageindex_local.errors import TreeError
from pageindex_local.records import SectionTree, SummarySource
from pageindex_local.tree.diff import ChangeKind, apply_diff, diff_trees
from tests.sections import Section, render


def tree(*sections: Section, lines_per_page: int = 40) -> SectionTree:
    """A tree whose ids are the keys of its sections."""
    rendered = render(sections, lines_per_page=lines_per_page)
    names = rendered.keys
    nodes = {
        names[draft]: replace(
            node,
            node_id=names[draft],
            parent_id=names[node.parent_id] if node.parent_id else None,
            children=tuple(names[child] for child in node.children),
        )
        for draft, node in rendered.tree.nodes.items()
    }
    return SectionTree(tuple(names[root] for root in rendered.tree.roots), nodes)


A = Section("a", "1 First", ["Text of the first."])
B = Section("b", "2 Second", ["Text of the second."])
C = Section("c", "3 Third", ["Text of the third."])


def kinds(old: SectionTree, new: SectionTree) -> dict[str, set[ChangeKind]]:
    return {change.after.node_id: set(change.kinds) for change in diff_trees(old, new).changed}


def test_diff_equal_trees_is_empty() -> None:
    assert diff_trees(tree(A, B), tree(A, B)).is_empty


def test_diff_added_and_removed_nodes_are_named_whole() -> None:
    diff = diff_trees(tree(A, B), tree(A, C))

    assert [node.title for node in diff.added] == ["3 Third"]
    assert [node.title for node in diff.removed] == ["2 Second"]
    assert diff.changed == ()


def test_diff_edited_text_is_edited_only() -> None:
    edited = Section("b", "2 Second", ["Another text."])

    assert kinds(tree(A, B), tree(A, edited)) == {"b": {ChangeKind.EDITED}}


def test_diff_new_number_is_renumbered() -> None:
    assert kinds(tree(A), tree(Section("a", "7 First", A.text))) == {"a": {ChangeKind.RENUMBERED}}


def test_diff_new_title_is_retitled_and_edited_only_where_the_text_says_so() -> None:
    old, new = tree(A), tree(Section("a", "1 Beginning", A.text))

    with_texts = diff_trees(old, new, lambda node: A.text[0], lambda node: A.text[0])

    assert kinds(old, new) == {"a": {ChangeKind.RETITLED}}
    assert with_texts.changed[0].kinds == (ChangeKind.RETITLED,)
    other = diff_trees(old, new, lambda node: A.text[0], lambda node: "Other.")
    assert other.changed[0].kinds == (ChangeKind.RETITLED, ChangeKind.EDITED)


def test_diff_swapped_siblings_names_one_as_moved() -> None:
    diff = diff_trees(tree(A, B, C), tree(B, C, A))

    assert [change.after.node_id for change in diff.with_kind(ChangeKind.MOVED)] == ["a"]


def test_diff_other_parent_is_moved_and_parents_regrouped() -> None:
    old = tree(Section("p", "P", ["x"], [A]), Section("q", "Q", ["y"], [B]))
    new = tree(Section("p", "P", ["x"]), Section("q", "Q", ["y"], [B, A]))

    diff = diff_trees(old, new)

    assert [change.after.node_id for change in diff.with_kind(ChangeKind.MOVED)] == ["a"]
    assert {change.after.node_id for change in diff.with_kind(ChangeKind.REGROUPED)} == {"p", "q"}


def test_diff_other_pages_is_relocated_only() -> None:
    assert kinds(tree(A, B), tree(A, B, lines_per_page=2)) == {"b": {ChangeKind.RELOCATED}}


def test_diff_other_summary_is_resummarised() -> None:
    old = tree(A)
    new = replace(
        old, nodes={"a": replace(old.nodes["a"], summary="It begins.", summary_source=SummarySource.EXTRACTIVE)}
    )

    assert kinds(old, new) == {"a": {ChangeKind.RESUMMARISED}}


def test_apply_diff_gives_description_and_order_of_the_other() -> None:
    old, new = tree(A, B, C), replace(tree(C, A), description="Short.")

    again = apply_diff(old, diff_trees(old, new))

    assert again == new
    assert list(again.nodes) == list(new.nodes)


def test_apply_diff_to_another_tree_is_refused() -> None:
    diff = diff_trees(tree(A, B), tree(A))

    with pytest.raises(TreeError):
        apply_diff(tree(A, C), diff)
