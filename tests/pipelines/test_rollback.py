"""Going back from the UI: by name or by steps, refused in a sentence where it leads nowhere."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pageindex_local.collection import build_collection, library_builder
from pageindex_local.ids import make_doc_key
from pageindex_local.settings import Settings
from pageindex_local.store.index import IndexStore
from pipelines.resources import Workspace, WorkspaceSettings
from pipelines.rollback import roll_back_release
from tests.pipelines.conftest import write_document

TIDES, WINDS = make_doc_key("tides.md"), make_doc_key("winds.md")


@pytest.fixture
def store(workspace: Workspace, settings: Settings, folder: Path) -> IndexStore:
    """Three releases: both documents, tides in a second version, winds gone."""
    builder = library_builder(workspace.store, settings, workspace.model)

    def publish() -> None:
        build_collection(workspace.scope, workspace.store, settings, workspace.model, builder)

    publish()
    write_document(folder / "tides.md", "Tides", sections=5)
    publish()
    (folder / "winds.md").unlink()
    publish()
    return workspace.store


def roll_back(
    instance: dg.DagsterInstance, workspace_settings: WorkspaceSettings, **config: Any
) -> dg.ExecuteInProcessResult:
    return roll_back_release.execute_in_process(
        instance=instance,
        resources={"workspace_settings": workspace_settings},
        run_config={"ops": {"roll_back": {"config": config}}},
        raise_on_error=False,
    )


def said(result: dg.ExecuteInProcessResult) -> str:
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    return failure.step_failure_data.error_display_string


@pytest.mark.parametrize("config", [{"release": "000001"}, {"release": "1"}, {"steps": 2}])
def test_rollback_pins_what_the_old_release_pinned(
    instance: dg.DagsterInstance, workspace_settings: WorkspaceSettings, store: IndexStore, config: dict[str, Any]
) -> None:
    assert roll_back(instance, workspace_settings, **config).success
    live = store.require_current()
    assert (live.name, live.reason) == ("000004", "rollback to 000001")
    assert {key: entry.version_id for key, entry in live.documents.items()} == {TIDES: "v000001", WINDS: "v000001"}
    assert (store.layout.search / "000004.sqlite").exists()


def test_rollback_is_told_to_the_release_asset(
    instance: dg.DagsterInstance, workspace_settings: WorkspaceSettings, store: IndexStore
) -> None:
    roll_back(instance, workspace_settings, release="2")
    event = instance.get_latest_materialization_event(dg.AssetKey("release"))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    assert (metadata["release"], metadata["reason"], metadata["documents"]) == ("000004", "rollback to 000002", 2)
    assert "winds.md" in str(metadata["diff"])


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"release": "000099"}, "000099: there is no such release See `release list`."),
        ({"release": "../x"}, "there is no such release"),
        ({"steps": 3}, "3 steps back from release 000003 lead nowhere Kept before it: 000001, 000002."),
        ({"steps": -1}, "give either `release` or `steps`"),
        ({}, "give either `release` or `steps`"),
        ({"release": "1", "steps": 1}, "give either `release` or `steps`"),
        ({"release": "1", "collection": "other"}, "there is no published index here"),
    ],
)
def test_rollback_that_leads_nowhere_is_refused_in_a_sentence(
    instance: dg.DagsterInstance,
    workspace_settings: WorkspaceSettings,
    store: IndexStore,
    config: dict[str, Any],
    words: str,
) -> None:
    result = roll_back(instance, workspace_settings, **config)
    assert not result.success
    assert words in said(result)
    assert store.require_current().name == "000003"
