"""An index written by format 1, kept for ever: every later program must open it and read the same from it."""

import shutil
from pathlib import Path

import pytest

from pageindex_local.ids import make_doc_key
from pageindex_local.records import NodeKind, SummarySource
from pageindex_local.store.history import NodeState, list_history, resolve_node
from pageindex_local.store.index import IndexStore
from pageindex_local.store.verify import verify_index
from tests.store_samples import make_store, publish_sections, sample_sections

KEPT = Path(__file__).parent / "format-1"
PUMP = make_doc_key("pump.md")
VALVE = make_doc_key("guides/valve.md")


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    shutil.copytree(KEPT, tmp_path / "index")
    return make_store(tmp_path / "index")


def test_open_index_of_format_1_reads_what_was_written(store: IndexStore) -> None:
    release = store.require_current()
    version = store.open_document(release, PUMP)

    assert release.name == "000003"
    assert {entry.doc_id: entry.version_id for entry in release.documents.values()} == {
        "pump.md": "v000002",
        "guides/valve.md": "v000001",
    }
    assert [(node.title, node.kind, node.level) for node in version.tree().walk()] == [
        ("1 Scope", NodeKind.SECTION, 1),
        ("Introduction", NodeKind.INTRODUCTION, 2),
        ("1.1 Parts", NodeKind.SECTION, 2),
        ("1.2 Tools", NodeKind.SECTION, 2),
        ("1.3 Spares", NodeKind.SECTION, 2),
    ]
    tools = next(node for node in version.tree().walk() if node.title == "1.2 Tools")
    assert version.own_text(tools) == "The fitter needs a wrench and a gauge, edition three."
    assert version.tree().description == "About pump.md."
    assert version.tree().description_source is SummarySource.EXTRACTIVE
    assert store.open_document(release, VALVE).pages()[0].line_texts()[0] == "1 Scope"


def test_open_index_of_format_1_resolves_ids_of_then(store: IndexStore) -> None:
    first = store.open_version(PUMP, "v000001").tree()
    care = next(node.node_id for node in first.walk() if node.title == "2 Care")

    assert resolve_node(store, store.require_current(), care).state is NodeState.DELETED
    assert [entry.version_id for entry in list_history(store, PUMP)] == ["v000001", "v000002"]


def test_verify_index_of_format_1_is_clean(store: IndexStore) -> None:
    report = verify_index(store, deep=True)

    assert report.problems == ()
    assert (report.releases, report.versions) == (3, 3)


def test_publish_into_index_of_format_1_goes_on(store: IndexStore) -> None:
    publish_sections(store, sample_sections("four"))

    assert store.require_current().name == "000004"
    assert verify_index(store, deep=True).problems == ()
