"""Ids under random edits whose truth is known: kept where they must be, and never given to another section.

The properties of versions, and where each is tested (here where no module is named):

| P  | what holds                                                     | test                                           |
|----|----------------------------------------------------------------|------------------------------------------------|
| 1  | the same input twice gives the same ids, tree and empty report | carry_same_document_twice                      |
| 2  | a section put in: the others keep their ids                    | carry_one_edit[insert]                         |
| 3  | a section taken out: its id ends, the others stay              | carry_one_edit[delete]                         |
| 4  | a new title                                                    | carry_one_edit[retitle]                        |
| 5  | new words in a section; only it and its ancestors change hash  | carry_one_edit[edit, extend], edit_one_text    |
| 6  | a section moved to any other place                             | carry_one_edit[move]                           |
| 7  | two siblings swapped                                           | carry_one_edit[swap]                           |
| 8  | a copy gets ids of its own, the original keeps its             | carry_one_edit[duplicate]                      |
| 9  | all sections numbered anew                                     | carry_one_edit[renumber]                       |
| 10 | a section split: the larger piece keeps the id, with lineage   | split_and_merge_again                          |
| 11 | sections merged: the larger contributor keeps the id           | split_and_merge_again                          |
| 12 | other pages: ranges change, nothing else                       | carry_repaginated_document                     |
| 13 | a rebuild equals a full build, given the completion cache      | test_rebuild                                   |
| 14 | there and back: the hashes return, and ids that never left     | carry_there_and_back                           |
| 15 | nothing depends on PYTHONHASHSEED                              | carry_does_not_depend_on_the_hash_seed         |
| 16 | many edits at once: no id goes to another section; diff is all | carry_many_edits, apply_diff_of_two_versions   |
| 17 | trees of 10,000 nodes take seconds                             | carry_ten_thousand_nodes                       |
"""

import copy
import os
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pageindex_local.records import Node, SectionTree
from pageindex_local.tree.diff import apply_diff, diff_trees
from pageindex_local.tree.identity import Identified, assign_ids
from pageindex_local.tree.text import own_text
from tests.properties.edits import Edits, all_sections
from tests.sections import Rendered, Section, render

SEEDS = st.integers(min_value=0, max_value=2**32)
SIZES = st.integers(min_value=2, max_value=40)
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ONE_EDIT = ("insert", "delete", "retitle", "edit", "extend", "move", "swap", "duplicate", "renumber")


def carry(old: Rendered | None, old_tree: SectionTree | None, new: Rendered, version_id: str) -> Identified:
    def old_text(node: Node) -> str:
        assert old is not None
        assert old_tree is not None
        return own_text(old.document, old_tree, node)

    return assign_ids(
        new.tree, old_tree, doc_id="m", version_id=version_id, document=new.document, old_text=old_text if old else None
    )


def ids_by_key(rendered: Rendered, tree: SectionTree) -> dict[str, str]:
    return {rendered.keys[draft]: node_id for draft, node_id in zip(rendered.tree.nodes, tree.nodes, strict=True)}


def original(key: str) -> str:
    """The section that a section is a copy of, or itself."""
    return key.rpartition("/")[2]


def sections_only(ids: dict[str, str]) -> dict[str, str]:
    return {key: node_id for key, node_id in ids.items() if not key.endswith("/introduction")}


@given(seed=SEEDS, size=SIZES)
@EXAMPLES
def test_carry_same_document_twice_gives_the_same_and_reports_nothing(seed: int, size: int) -> None:
    sections = Edits(seed).document(size)
    one, two = render(sections), render(copy.deepcopy(sections))
    first = carry(None, None, one, "v000001")

    assert carry(None, None, two, "v000001") == first
    again = carry(one, first.tree, two, "v000002")
    assert again.tree == first.tree
    assert all(entry.changes == () for entry in again.report.kept)
    assert [*again.report.added, *again.report.removed, *again.report.ambiguous] == []


@pytest.mark.parametrize("name", ONE_EDIT)
@given(seed=SEEDS, size=SIZES)
@EXAMPLES
def test_carry_one_edit_keeps_every_id_that_lives_on(name: str, seed: int, size: int) -> None:
    edits = Edits(seed)
    sections = edits.document(size)
    old = render(sections)
    changed = copy.deepcopy(sections)
    if not getattr(edits, name)(changed):
        return
    new = render(changed)
    first = carry(None, None, old, "v000001")

    second = carry(old, first.tree, new, "v000002")

    before, after = sections_only(ids_by_key(old, first.tree)), sections_only(ids_by_key(new, second.tree))
    assert {key for key in before.keys() & after.keys() if before[key] != after[key]} == set()
    fresh = {after[key] for key in after.keys() - before.keys()}
    assert not fresh & first.tree.nodes.keys()
    ended = {entry.old_id for entry in second.report.removed}
    assert {before[key] for key in before.keys() - after.keys()} <= ended


@given(seed=SEEDS, size=SIZES, names=st.lists(st.sampled_from(ONE_EDIT), min_size=1, max_size=8))
@EXAMPLES
def test_carry_many_edits_never_gives_an_id_to_another_section(seed: int, size: int, names: list[str]) -> None:
    edits = Edits(seed)
    sections = edits.document(size)
    old = render(sections)
    changed = copy.deepcopy(sections)
    for name in names:
        getattr(edits, name)(changed)
    new = render(changed)
    first = carry(None, None, old, "v000001")

    second = carry(old, first.tree, new, "v000002")

    key_of = {node_id: key for key, node_id in ids_by_key(old, first.tree).items()}
    wrong = {
        (key, key_of[node_id])
        for key, node_id in sections_only(ids_by_key(new, second.tree)).items()
        # Where the original was moved and edited too, its unchanged copy may be taken for it: the text is the same.
        if node_id in key_of and original(key_of[node_id]) != original(key)
    }
    assert wrong == set()
    assert len(second.tree.nodes) == len(new.tree.nodes)


@given(seed=SEEDS, size=SIZES, names=st.lists(st.sampled_from(ONE_EDIT), max_size=5))
@EXAMPLES
def test_apply_diff_of_two_versions_gives_the_second(seed: int, size: int, names: list[str]) -> None:
    edits = Edits(seed)
    sections = edits.document(size)
    old = render(sections)
    changed = copy.deepcopy(sections)
    for name in names:
        getattr(edits, name)(changed)
    new = render(changed, lines_per_page=17)
    first = carry(None, None, old, "v000001").tree
    second = carry(old, first, new, "v000002").tree

    again = apply_diff(first, diff_trees(first, second))

    assert again == second
    assert list(again.nodes) == list(second.nodes)
    assert diff_trees(first, first).is_empty


@given(seed=SEEDS, size=SIZES, lines=st.integers(min_value=3, max_value=90))
@EXAMPLES
def test_carry_repaginated_document_changes_pages_only(seed: int, size: int, lines: int) -> None:
    sections = Edits(seed).document(size)
    old, new = render(sections), render(sections, lines_per_page=lines)
    first = carry(None, None, old, "v000001")

    second = carry(old, first.tree, new, "v000002")

    assert list(second.tree.nodes) == list(first.tree.nodes)
    assert all(entry.changes == () for entry in second.report.kept)
    assert [node.subtree_hash for node in second.tree.walk()] == [node.subtree_hash for node in first.tree.walk()]


@given(seed=SEEDS, size=SIZES, names=st.lists(st.sampled_from(ONE_EDIT), min_size=1, max_size=4))
@EXAMPLES
def test_carry_there_and_back_returns_hashes_and_ids_of_what_never_left(seed: int, size: int, names: list[str]) -> None:
    edits = Edits(seed)
    sections = edits.document(size)
    one = render(sections)
    changed = copy.deepcopy(sections)
    for name in names:
        getattr(edits, name)(changed)
    two = render(changed)
    first = carry(None, None, one, "v000001")
    second = carry(one, first.tree, two, "v000002")

    third = carry(two, second.tree, one, "v000003")

    assert [node.subtree_hash for node in third.tree.walk()] == [node.subtree_hash for node in first.tree.walk()]
    before, after = sections_only(ids_by_key(one, first.tree)), sections_only(ids_by_key(one, third.tree))
    never_left = {key for key in before if before[key] in second.tree.nodes}
    back = sections_only(ids_by_key(two, second.tree))
    assert {
        key for key in never_left if key in back and back[key] == before[key] and after[key] != before[key]
    } == set()


@given(seed=SEEDS, size=SIZES)
@EXAMPLES
def test_edit_one_text_changes_hashes_of_it_and_its_ancestors_only(seed: int, size: int) -> None:
    edits = Edits(seed)
    sections = edits.document(size)
    leaf = edits.pick(sections, lambda section: not section.children)
    assert leaf is not None
    old = render(sections)
    leaf.text.append("One more line.")
    new = render(sections)

    changed = {
        old.keys[draft]
        for draft, node in old.tree.nodes.items()
        if node.subtree_hash != new.tree.nodes[draft].subtree_hash
    }

    draft = next(draft for draft, key in old.keys.items() if key == leaf.key)
    assert changed == {old.keys[above] for above in old.tree.path(draft)}


@given(seed=SEEDS, size=st.integers(min_value=4, max_value=30))
@EXAMPLES
def test_split_and_merge_again_keep_the_larger_part(seed: int, size: int) -> None:
    edits = Edits(seed)
    sections = edits.document(size)
    leaf = edits.pick(sections, lambda section: not section.children)
    assert leaf is not None
    leaf.text = edits.text(16)
    whole = render(sections)
    parted = copy.deepcopy(sections)
    for section in all_sections(parted):
        place = next((number for number, child in enumerate(section.children) if child.key == leaf.key), None)
        if place is not None:
            _split(edits, section.children, place)
            break
    else:
        _split(edits, parted, next(number for number, root in enumerate(parted) if root.key == leaf.key))
    parts = render(parted)
    first = carry(None, None, whole, "v000001")
    second = carry(whole, first.tree, parts, "v000002")
    third = carry(parts, second.tree, whole, "v000003")

    one, two, three = (
        ids_by_key(rendered, result.tree) for rendered, result in ((whole, first), (parts, second), (whole, third))
    )

    assert two[f"{leaf.key}"] == one[leaf.key] == three[leaf.key]
    small = two[f"{leaf.key}-small"]
    assert {entry.node_id: entry.derived_from for entry in second.report.split} == {small: (one[leaf.key],)}
    assert {entry.old_id: entry.into for entry in third.report.merged} == {small: one[leaf.key]}


def _split(edits: Edits, row: list[Section], place: int) -> None:
    whole = row[place]
    row[place : place + 1] = [
        Section(whole.key, edits.title() + " large", whole.text[:11]),
        Section(f"{whole.key}-small", edits.title() + " small", whole.text[11:]),
    ]


_SCRIPT = """
from tests.properties.edits import Edits
from tests.properties.test_identity import carry
from tests.sections import render
import copy, hashlib
edits = Edits(11)
sections = edits.document(60)
old = render(sections)
for name in ("move", "duplicate", "edit", "delete", "insert", "swap", "retitle", "extend"):
    getattr(edits, name)(sections)
new = render(sections)
first = carry(None, None, old, "v000001")
second = carry(old, first.tree, new, "v000002")
print(hashlib.sha256(repr((second.tree, second.report)).encode()).hexdigest())
"""


def test_carry_does_not_depend_on_the_hash_seed() -> None:
    results = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "424242")
    }

    assert len(results) == 1


@pytest.mark.slow
def test_carry_ten_thousand_nodes_takes_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    edits = Edits(3)
    sections = edits.document(8_500)
    old = render(sections)
    for name in ONE_EDIT * 30:
        if name not in ("renumber", "delete", "duplicate"):
            getattr(edits, name)(sections)
    for section in all_sections(sections)[::3]:
        section.text = [*section.text, "A line that is new in every third section."]
    new = render(sections)
    first = carry(None, None, old, "v000001")
    started = time.process_time()

    second = carry(old, first.tree, new, "v000002")

    seconds = time.process_time() - started
    with capsys.disabled():
        sys.stdout.write(f" [{len(new.tree.nodes)} nodes, a third of them edited: {seconds:.1f} s of processor time]")
    assert len(new.tree.nodes) > 10_000
    assert seconds < 30
    before, after = sections_only(ids_by_key(old, first.tree)), sections_only(ids_by_key(new, second.tree))
    wrong = [key for key in before.keys() & after.keys() if before[key] != after[key]]
    assert len(wrong) <= len(before) // 1000
