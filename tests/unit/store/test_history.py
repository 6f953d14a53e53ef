"""What became of a section: between two versions, in a release, over a document's life."""

from pathlib import Path

import pytest

from pageindex_local.errors import IndexNotFoundError
from pageindex_local.ids import make_doc_key
from pageindex_local.store.history import NodeState, diff_text, diff_versions, list_history, resolve_node
from pageindex_local.store.index import IndexStore
from pageindex_local.tree.diff import ChangeKind
from tests.sections import Section
from tests.store_samples import make_store, publish_sections, sample_sections

PUMP = make_doc_key("pump.md")
LONG = [f"Step {number}: turn valve {number * 7} and read gauge {number * 13}." for number in range(12)]


def id_of(store: IndexStore, version_id: str, title: str) -> str:
    return next(node.node_id for node in store.open_version(PUMP, version_id).tree().walk() if node.title == title)


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    """Three versions: Steps is split in the second, Tools merged into Parts and Care deleted in the third."""
    store = make_store(tmp_path)
    first = sample_sections()
    first[0].children.append(Section("steps", "1.3 Steps", LONG))
    first[0].children[1].text *= 3
    publish_sections(store, first)
    second = sample_sections()
    second[0].children[1].text *= 3
    second[0].children += [Section("x", "1.3 First steps", LONG[:8]), Section("y", "1.4 More steps", LONG[8:])]
    publish_sections(store, second)
    third = sample_sections()
    third[0].children[0].text += third[0].children[1].text * 3
    third[0].children[1:] = second[0].children[2:]
    third.pop()
    publish_sections(store, third)
    return store


def test_list_history_names_versions_releases_and_changes(store: IndexStore) -> None:
    history = list_history(store, PUMP)

    assert [(entry.version_id, entry.releases, entry.is_live) for entry in history] == [
        ("v000001", ("000001",), False),
        ("v000002", ("000002",), False),
        ("v000003", ("000003",), True),
    ]
    assert history[1].changes["split"] == 1
    assert history[2].changes["merged"] == 1


def test_list_history_unknown_document_is_an_error(store: IndexStore) -> None:
    with pytest.raises(IndexNotFoundError):
        list_history(store, make_doc_key("other.md"))


def test_diff_versions_says_what_was_split_merged_and_removed(store: IndexStore) -> None:
    diff = diff_versions(store, store.open_version(PUMP, "v000001"), store.open_version(PUMP, "v000003"))

    steps, parts = id_of(store, "v000001", "1.3 Steps"), id_of(store, "v000001", "1.1 Parts")
    assert diff.origins == {id_of(store, "v000003", "1.4 More steps"): (steps,)}
    assert diff.fates == {
        id_of(store, "v000001", "1.2 Tools"): parts,
        id_of(store, "v000001", "2 Care"): None,
    }
    assert steps in {change.after.node_id for change in diff.tree.with_kind(ChangeKind.RETITLED)}


def test_diff_text_of_edited_node_shows_added_line(store: IndexStore) -> None:
    parts = id_of(store, "v000001", "1.1 Parts")

    text = diff_text(store.open_version(PUMP, "v000002"), store.open_version(PUMP, "v000003"), parts)

    added = [line for line in text.split("\n") if line.startswith("+") and not line.startswith("+++")]
    assert added == ["+The fitter needs a wrench and a gauge, edition one."] * 3


def test_diff_text_of_unchanged_node_is_empty(store: IndexStore) -> None:
    more = id_of(store, "v000002", "1.4 More steps")

    assert diff_text(store.open_version(PUMP, "v000002"), store.open_version(PUMP, "v000003"), more) == ""


def test_resolve_node_living_merged_and_deleted(store: IndexStore) -> None:
    release = store.require_current()
    tools, care = id_of(store, "v000001", "1.2 Tools"), id_of(store, "v000001", "2 Care")
    steps, parts = id_of(store, "v000001", "1.3 Steps"), id_of(store, "v000001", "1.1 Parts")

    living = resolve_node(store, release, steps)
    merged = resolve_node(store, release, tools, PUMP)
    deleted = resolve_node(store, release, care)

    assert living.state is NodeState.NODE
    assert living.pieces == (id_of(store, "v000002", "1.4 More steps"),)
    assert merged.state is NodeState.MERGED_INTO
    assert merged.node is not None
    assert merged.node.node_id == parts
    assert (deleted.state, deleted.ended_in, deleted.title) == (NodeState.DELETED, "v000003", "2 Care")


def test_resolve_node_in_older_release_gives_the_node_of_then(store: IndexStore) -> None:
    care = id_of(store, "v000001", "2 Care")

    found = resolve_node(store, store.release("000001"), care)

    assert found.state is NodeState.NODE
    assert found.version_id == "v000001"


def test_resolve_node_never_seen_in_a_document_names_the_document(store: IndexStore) -> None:
    release = store.require_current()
    doc_key, entry = next(iter(release.documents.items()))
    with pytest.raises(IndexNotFoundError, match=entry.doc_id):
        resolve_node(store, release, "naaaaaaaaaaaaa", doc_key)


def test_resolve_node_never_seen_is_an_error(store: IndexStore) -> None:
    with pytest.raises(IndexNotFoundError):
        resolve_node(store, store.require_current(), "naaaaaaaaaaaaa")
