"""The jobs as the daemon runs them: stage outputs in files, candidates queued, a release published."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pageindex_local.build import BuildJob, build_document, make_fingerprint
from pageindex_local.collection import publish_candidates
from pageindex_local.grafts.replace import draft_replacement, publish_draft
from pageindex_local.ids import make_doc_key
from pageindex_local.parsing.sources import read_source
from pageindex_local.planning import Scope, plan_collection, read_previous
from pageindex_local.settings import Settings, read_settings
from pageindex_local.store.index import IndexStore
from pipelines.checks import ALL_CHECKS, RELEASE_CHECKS
from pipelines.io_managers import StageFiles
from pipelines.jobs import ALL_ASSETS, index_document, publish_release
from pipelines.partitions import add_documents, documents
from pipelines.resources import Candidates, WorkspaceSettings, open_workspace
from tests.pipelines.conftest import write_document

TIDES, WINDS = make_doc_key("tides.md"), make_doc_key("winds.md")


@pytest.fixture
def repository(tmp_path: Path, workspace_settings: WorkspaceSettings) -> dg.RepositoryDefinition:
    return dg.Definitions(
        assets=ALL_ASSETS,
        asset_checks=[*ALL_CHECKS, *RELEASE_CHECKS],
        jobs=[index_document, publish_release],
        resources={
            "workspace": open_workspace,
            "workspace_settings": workspace_settings,
            "io_manager": StageFiles(folder=str(tmp_path / "stages")),
        },
    ).get_repository_def()


@pytest.fixture
def store(tmp_path: Path, settings: Settings) -> IndexStore:
    return IndexStore(tmp_path / "index", "default", settings.store)


def run_document(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, doc_key: str
) -> dg.ExecuteInProcessResult:
    add_documents(instance, [doc_key])
    job = repository.get_job("index_document")
    return job.execute_in_process(partition_key=doc_key, instance=instance, raise_on_error=False)


def test_job_publishes_each_document_it_builds(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore
) -> None:
    for doc_key in (TIDES, WINDS):
        assert run_document(repository, instance, doc_key).success
    release = store.require_current()
    assert set(release.documents) == {TIDES, WINDS}
    assert release.name == "000002"
    assert Candidates(store.layout.work / "candidates").read() == {}
    assert store.layout.search.joinpath("000002.sqlite").exists()


def test_job_reports_counts_tokens_and_the_tree(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance
) -> None:
    result = run_document(repository, instance, TIDES)
    (event,) = [
        event.step_materialization_data.materialization
        for event in result.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey("summaries")
    ]
    metadata: dict[str, Any] = {name: value.value for name, value in event.metadata.items()}
    # One heading of level 1 and four below it.
    assert metadata["nodes"] == 5
    assert metadata["model_calls"] > 0
    assert metadata["input_tokens"] > 0
    assert "- Tides (" in metadata["tree"]
    assert "  - Rule 0 of Tides (" in metadata["tree"]


def test_job_drops_documents_whose_source_is_gone(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore, folder: Path
) -> None:
    for doc_key in (TIDES, WINDS):
        run_document(repository, instance, doc_key)
    (folder / "winds.md").unlink()
    assert repository.get_job("publish_release").execute_in_process(instance=instance).success
    assert set(store.require_current().documents) == {TIDES}


def test_job_for_unknown_document_fails_with_a_sentence(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore
) -> None:
    result = run_document(repository, instance, make_doc_key("nobody.md"))
    assert not result.success
    failure = next(event for event in result.all_events if event.is_step_failure)
    assert "no source of that key" in failure.step_failure_data.error_display_string
    assert store.current() is None


def test_version_that_a_rollback_left_is_not_published_again(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore, folder: Path
) -> None:
    run_document(repository, instance, TIDES)
    write_document(folder / "tides.md", "Tides", sections=5)
    run_document(repository, instance, TIDES)
    assert store.require_current().documents[TIDES].version_id == "v000002"
    store.publish({TIDES: store.version_ref(TIDES, "v000001")}, expected_parent="000002", reason="rollback")
    repository.get_job("publish_release").execute_in_process(instance=instance)
    assert store.require_current().documents[TIDES].version_id == "v000001"


def test_overtaken_candidate_is_left_out(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore, folder: Path
) -> None:
    run_document(repository, instance, TIDES)
    queue = Candidates(store.layout.work / "candidates")
    queue.add(store.version_ref(TIDES, "v000001"))
    repository.get_job("publish_release").execute_in_process(instance=instance)
    assert store.require_current().name == "000001"
    assert queue.read() == {}


def test_stage_outputs_are_json_and_hold_no_pickle(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    run_document(repository, instance, TIDES)
    files = [path for path in (tmp_path / "stages").rglob("*") if path.is_file()]
    assert {path.name for path in files if TIDES in path.parts} >= {"pages.json", "headings.json", "summaries.json"}
    for path in files:
        kind, _, body = path.read_bytes().partition(b"\n")
        assert kind.isalpha()
        assert body[:1] == b"{"


def metadata_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, Any]:
    (event,) = [
        event.step_materialization_data.materialization
        for event in result.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey(asset)
    ]
    return {name: value.value for name, value in event.metadata.items()}


def test_index_version_tells_its_version_what_was_reused_and_the_difference(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, folder: Path
) -> None:
    first = metadata_of(run_document(repository, instance, TIDES), "index_version")
    assert (first["version"], first["parent_version"], first["nodes_reused"]) == ("v000001", "none", 0)
    assert first["diff"] == "v000001 is the first version of tides.md."
    write_document(folder / "tides.md", "Tides", sections=5)
    second = metadata_of(run_document(repository, instance, TIDES), "index_version")
    assert (second["version"], second["parent_version"]) == ("v000002", "v000001")
    # Four rules are as they were; the document's section reads a new summary, the fifth rule is new.
    assert (second["nodes_reused"], second["nodes_rebuilt"], second["nodes"]) == (4, 2, 6)
    assert "`v000001` → `v000002`: 1 added" in second["diff"]
    assert "| + | Rule 4 of Tides |" in second["diff"]


def test_release_tells_what_it_pins_and_the_difference(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, folder: Path
) -> None:
    run_document(repository, instance, TIDES)
    metadata = metadata_of(run_document(repository, instance, WINDS), "release")
    assert (metadata["release"], metadata["parent"], metadata["documents"]) == ("000002", "000001", 2)
    assert (metadata["documents_changed"], metadata["versions_published"], metadata["is_new"]) == (1, 1, True)
    assert "### winds.md" in metadata["diff"]
    assert "tides" not in metadata["diff"]


def test_document_that_fails_marks_its_partition_and_leaves_the_others(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore, folder: Path
) -> None:
    (folder / "winds.md").write_text(" \n", encoding="utf-8")
    assert run_document(repository, instance, TIDES).success
    result = run_document(repository, instance, WINDS)
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert failure.step_key == "pages"
    assert "winds.md: has no text." in failure.step_failure_data.error_display_string
    assert {entry.doc_id for entry in store.require_current().documents.values()} == {"tides.md"}
    states = instance.get_status_by_partition(dg.AssetKey("pages"), [TIDES, WINDS], documents)
    assert states is not None
    assert {key: state.name for key, state in states.items() if state} == {TIDES: "MATERIALIZED", WINDS: "FAILED"}


def test_renamed_source_goes_on_with_its_ids(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore, folder: Path
) -> None:
    run_document(repository, instance, TIDES)
    run_document(repository, instance, WINDS)
    before = store.open_document(store.require_current(), TIDES).tree()
    (folder / "tides.md").rename(folder / "ebb-and-flood.md")
    result = run_document(repository, instance, make_doc_key("ebb-and-flood.md"))
    assert metadata_of(result, "source_document")["renamed_from"] == f"{TIDES} v000001"
    assert metadata_of(result, "summaries")["model_calls"] == 0
    live = store.require_current()
    assert {entry.doc_id for entry in live.documents.values()} == {"ebb-and-flood.md", "winds.md"}
    assert store.open_document(live, make_doc_key("ebb-and-flood.md")).tree() == before


def test_renamed_folder_keeps_all_ids_and_is_planned_once(
    repository: dg.RepositoryDefinition,
    instance: dg.DagsterInstance,
    store: IndexStore,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["tides.md", "winds.md", "swell.md"]
    write_document(folder / "swell.md", "Swell", sections=5)
    for name in names:
        run_document(repository, instance, make_doc_key(name))
    live = store.require_current()
    before = {name: set(store.open_document(live, make_doc_key(name)).tree().nodes) for name in names}
    (folder / "sea").mkdir()
    for name in names:
        (folder / name).rename(folder / "sea" / name)
    plans = []

    def count(*arguments: Any, **options: Any) -> Any:
        plans.append(arguments)
        return plan_collection(*arguments, **options)

    monkeypatch.setattr("pipelines.resources.plan_collection", count)
    for name in names:  # each run publishes: the others' old names must still be there to go on with
        result = run_document(repository, instance, make_doc_key(f"sea/{name}"))
        assert metadata_of(result, "summaries")["model_calls"] == 0
    live = store.require_current()
    assert {entry.doc_id for entry in live.documents.values()} == {f"sea/{name}" for name in names}
    for name in names:
        assert set(store.open_document(live, make_doc_key(f"sea/{name}")).tree().nodes) == before[name]
    assert len(plans) == 1


def test_two_new_documents_never_go_on_with_the_same_old_one(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, store: IndexStore, folder: Path
) -> None:
    run_document(repository, instance, TIDES)
    (folder / "tides.md").rename(folder / "ebb.md")
    settings = read_settings(overrides={"summary": {"mode": "extractive"}, "tree": {"strategy": "layout"}})
    fingerprint = make_fingerprint(settings, None)
    refs = []
    for name in ("ebb.md", "flood.md"):  # as two builders would that do not know of each other
        source = read_source(name, folder / "ebb.md", settings.parse)
        job = BuildJob(source, "v000001", renamed_from=(TIDES, "v000001"))
        previous, _ = read_previous(store, job, fingerprint)
        refs.append(store.write_version(build_document(job, previous, None, settings)))
    (folder / "flood.md").write_bytes((folder / "ebb.md").read_bytes())
    waiting = {ref.doc_key: ref.version_id for ref in refs}
    published = publish_candidates(store, waiting, Scope((folder,)))
    assert published is not None
    assert {entry.doc_id for entry in published.documents.values()} == {"ebb.md"}
    # Nor in another release, when the old name is gone.
    later = publish_candidates(store, waiting, Scope((folder,)))
    assert later is not None
    assert {entry.doc_id for entry in later.documents.values()} == {"ebb.md"}


def test_correction_made_by_hand_outlives_a_run(
    repository: dg.RepositoryDefinition,
    instance: dg.DagsterInstance,
    store: IndexStore,
    settings: Settings,
    folder: Path,
) -> None:
    run_document(repository, instance, TIDES)
    live = store.require_current()
    stored = store.open_document(live, TIDES)
    node = next(node for node in stored.tree().walk() if node.title.startswith("Rule 1"))
    draft = draft_replacement(store, stored, node.node_id, "Nothing is paid.", model=None, settings=settings)
    assert draft is not None
    publish_draft(store, draft, live, "test")
    write_document(folder / "tides.md", "Tides", sections=5)
    metadata = metadata_of(run_document(repository, instance, TIDES), "index_version")
    assert metadata["replaced_by_hand"] == 1
    version = store.open_document(store.require_current(), TIDES)
    assert "Nothing is paid." in version.own_text(version.tree().nodes[node.node_id])
