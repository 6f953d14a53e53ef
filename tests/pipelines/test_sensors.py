import os
import time
from pathlib import Path

import dagster as dg
import pytest

from pageindex_local.collection import build_collection, library_builder
from pageindex_local.ids import make_doc_key
from pageindex_local.settings import Settings
from pipelines import sensors
from pipelines.partitions import DOCUMENTS
from pipelines.resources import Workspace, WorkspaceSettings
from pipelines.schedules import nightly_reindex
from pipelines.sensors import Cursor, changed_sources
from tests.pipelines.conftest import write_document

TIDES, WINDS = make_doc_key("tides.md"), make_doc_key("winds.md")


def settle(folder: Path) -> None:
    """Make every file look as if nobody had written to it for a while."""
    then = time.time() - 2 * sensors.SETTLE_SECONDS
    for path in folder.iterdir():
        os.utime(path, (then, then))


def tick(
    instance: dg.DagsterInstance, workspace_settings: WorkspaceSettings, cursor: str | None = None
) -> dg.SensorResult | dg.SkipReason:
    context = dg.build_sensor_context(
        instance=instance, cursor=cursor, resources={"workspace_settings": workspace_settings}
    )
    result = changed_sources(context)
    assert isinstance(result, dg.SensorResult | dg.SkipReason)
    return result


def publish(workspace: Workspace, settings: Settings) -> None:
    builder = library_builder(workspace.store, settings, workspace.model)
    build_collection(workspace.scope, workspace.store, settings, workspace.model, builder)


def test_new_files_become_runs_and_partitions(
    instance: dg.DagsterInstance, workspace_settings: WorkspaceSettings, folder: Path
) -> None:
    settle(folder)
    result = tick(instance, workspace_settings)
    assert isinstance(result, dg.SensorResult)
    requests = result.run_requests or []
    assert {request.partition_key for request in requests} == {TIDES, WINDS}
    (added,) = result.dynamic_partitions_requests or []
    assert (added.partitions_def_name, set(added.partition_keys)) == (DOCUMENTS, {TIDES, WINDS})
    # The files are noted as seen, so that their documents count as stale until the runs are through.
    assert {event.partition for event in result.asset_events} == {TIDES, WINDS}
    assert {event.asset_key.to_user_string() for event in result.asset_events} == {"source_file"}


def test_same_bytes_have_the_same_run_key_and_other_bytes_another(
    instance: dg.DagsterInstance, workspace_settings: WorkspaceSettings, folder: Path
) -> None:
    def keys() -> dict[str | None, str | None]:
        settle(folder)
        result = tick(instance, workspace_settings)
        assert isinstance(result, dg.SensorResult)
        return {request.partition_key: request.run_key for request in result.run_requests or []}

    first, again = keys(), keys()
    write_document(folder / "tides.md", "Tides", sections=7)
    changed = keys()
    assert first == again
    assert changed[WINDS] == first[WINDS]
    assert changed[TIDES] != first[TIDES]


def test_file_that_is_still_being_written_waits(
    instance: dg.DagsterInstance, workspace_settings: WorkspaceSettings, folder: Path
) -> None:
    settle(folder)
    write_document(folder / "winds.md", "Winds", sections=2)
    result = tick(instance, workspace_settings)
    assert isinstance(result, dg.SensorResult)
    assert [request.partition_key for request in result.run_requests or []] == [TIDES]


def test_unchanged_folder_is_not_read_again(
    instance: dg.DagsterInstance,
    workspace_settings: WorkspaceSettings,
    workspace: Workspace,
    settings: Settings,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publish(workspace, settings)
    settle(folder)
    first = tick(instance, workspace_settings)
    assert isinstance(first, dg.SensorResult)
    assert not first.run_requests
    monkeypatch.setattr(sensors, "plan_workspace", None)
    second = tick(instance, workspace_settings, first.cursor)
    assert isinstance(second, dg.SkipReason)


def test_removed_file_becomes_one_run_of_the_release(
    instance: dg.DagsterInstance,
    workspace_settings: WorkspaceSettings,
    workspace: Workspace,
    settings: Settings,
    folder: Path,
) -> None:
    publish(workspace, settings)
    (folder / "winds.md").unlink()
    settle(folder)
    result = tick(instance, workspace_settings)
    assert isinstance(result, dg.SensorResult)
    (request,) = result.run_requests or []
    assert (request.job_name, request.partition_key) == ("publish_release", None)


def test_tick_is_bounded_and_the_next_goes_on_behind_it(
    instance: dg.DagsterInstance,
    workspace_settings: WorkspaceSettings,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sensors, "MAX_REQUESTS", 1)
    settle(folder)
    seen = []
    cursor = None
    for _ in range(2):
        result = tick(instance, workspace_settings, cursor)
        assert isinstance(result, dg.SensorResult)
        seen += [request.partition_key for request in result.run_requests or []]
        cursor = result.cursor
    assert sorted(str(key) for key in seen) == sorted([TIDES, WINDS])


def test_missing_folder_is_a_skipped_tick(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    missing = WorkspaceSettings(sources=str(tmp_path / "nowhere"), index=str(tmp_path / "index"), model="fake")
    assert isinstance(tick(instance, missing), dg.SkipReason)


@pytest.mark.parametrize("text", [None, "", "not json", "[]", '{"settled": 3}'])
def test_cursor_of_another_form_starts_anew(text: str | None) -> None:
    assert Cursor.read(text).last_key == ""


def test_nightly_schedule_asks_for_what_differs_from_the_release(
    tmp_path: Path,
    workspace_settings: WorkspaceSettings,
    workspace: Workspace,
    settings: Settings,
    folder: Path,
) -> None:
    publish(workspace, settings)
    write_document(folder / "winds.md", "Winds", sections=6)
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n", encoding="utf-8")
    with dg.DagsterInstance.from_config(str(home)) as instance:
        context = dg.build_schedule_context(instance=instance, resources={"workspace_settings": workspace_settings})
        requests = nightly_reindex(context)
        assert isinstance(requests, list)
        assert [request.partition_key for request in requests] == [WINDS]
        assert instance.has_dynamic_partition(DOCUMENTS, WINDS)
        seen = instance.fetch_observations(dg.AssetKey("source_file"), limit=10).records
        assert [record.partition_key for record in seen] == [WINDS]


def test_document_that_a_build_could_not_read_is_not_asked_for_again(
    instance: dg.DagsterInstance,
    workspace_settings: WorkspaceSettings,
    workspace: Workspace,
    settings: Settings,
    folder: Path,
) -> None:
    (folder / "empty.md").write_text(" \n", encoding="utf-8")
    publish(workspace, settings)
    settle(folder)
    result = tick(instance, workspace_settings)
    assert isinstance(result, dg.SensorResult)
    assert not result.run_requests
    (folder / "empty.md").write_text("# Filled\n\nBy now it holds a sentence.\n", encoding="utf-8")
    settle(folder)
    result = tick(instance, workspace_settings)
    assert isinstance(result, dg.SensorResult)
    assert [request.partition_key for request in result.run_requests or []] == [make_doc_key("empty.md")]


def test_renamed_document_becomes_a_run_and_no_removal(
    instance: dg.DagsterInstance,
    workspace_settings: WorkspaceSettings,
    workspace: Workspace,
    settings: Settings,
    folder: Path,
) -> None:
    publish(workspace, settings)
    (folder / "winds.md").rename(folder / "gales.md")
    settle(folder)
    result = tick(instance, workspace_settings)
    assert isinstance(result, dg.SensorResult)
    (request,) = result.run_requests or []
    assert (request.job_name, request.partition_key) == ("index_document", make_doc_key("gales.md"))
