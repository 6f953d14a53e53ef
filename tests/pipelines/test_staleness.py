"""What the UI calls stale: documents whose file, settings or model differ from what was built, and no others."""

from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from pageindex_local.ids import make_doc_key
from pipelines.checks import ALL_CHECKS, RELEASE_CHECKS
from pipelines.io_managers import StageFiles
from pipelines.jobs import ALL_ASSETS, index_document
from pipelines.partitions import DOCUMENTS
from pipelines.resources import WorkspaceSettings, open_workspace
from pipelines.sources import observe_sources, source_file
from tests.pipelines.conftest import write_document

TIDES, WINDS = make_doc_key("tides.md"), make_doc_key("winds.md")


def repository_of(tmp_path: Path, workspace_settings: WorkspaceSettings) -> dg.RepositoryDefinition:
    return dg.Definitions(
        assets=[source_file, *ALL_ASSETS],
        asset_checks=[*ALL_CHECKS, *RELEASE_CHECKS],
        jobs=[index_document, observe_sources],
        resources={
            "workspace": open_workspace,
            "workspace_settings": workspace_settings,
            "io_manager": StageFiles(folder=str(tmp_path / "stages")),
        },
    ).get_repository_def()


def look(repository: dg.RepositoryDefinition, instance: dg.DagsterInstance) -> dict[str, StaleStatus]:
    """The state of each document as the UI shows it after the files were observed."""
    assert repository.get_job("observe_sources").execute_in_process(instance=instance).success
    resolver = CachingStaleStatusResolver(
        instance, repository.asset_graph, loading_context=LoadingContextForTest(instance)
    )
    key = dg.AssetKey("source_document")
    return {doc_key: resolver.get_status(key, doc_key) for doc_key in (TIDES, WINDS)}


@pytest.fixture
def repository(
    tmp_path: Path, workspace_settings: WorkspaceSettings, instance: dg.DagsterInstance
) -> dg.RepositoryDefinition:
    """Both documents built once."""
    repository = repository_of(tmp_path, workspace_settings)
    repository.get_job("observe_sources").execute_in_process(instance=instance)
    for doc_key in (TIDES, WINDS):
        assert repository.get_job("index_document").execute_in_process(partition_key=doc_key, instance=instance).success
    return repository


def test_built_documents_are_fresh_until_their_file_changes(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, folder: Path
) -> None:
    assert look(repository, instance) == {TIDES: StaleStatus.FRESH, WINDS: StaleStatus.FRESH}
    write_document(folder / "tides.md", "Tides", sections=5)
    assert look(repository, instance) == {TIDES: StaleStatus.STALE, WINDS: StaleStatus.FRESH}
    repository.get_job("index_document").execute_in_process(partition_key=TIDES, instance=instance)
    assert look(repository, instance) == {TIDES: StaleStatus.FRESH, WINDS: StaleStatus.FRESH}


def test_other_settings_make_all_documents_stale(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, tmp_path: Path, folder: Path
) -> None:
    config = tmp_path / "own.toml"
    config.write_text("[summary]\nmax_output_tokens = 33\n", encoding="utf-8")
    other = WorkspaceSettings(sources=str(folder), index=str(tmp_path / "index"), model="fake", config=str(config))
    assert look(repository_of(tmp_path, other), instance) == {TIDES: StaleStatus.STALE, WINDS: StaleStatus.STALE}


def test_file_that_is_gone_makes_its_document_stale(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, folder: Path
) -> None:
    (folder / "winds.md").unlink()
    assert look(repository, instance) == {TIDES: StaleStatus.FRESH, WINDS: StaleStatus.STALE}


def test_touched_file_with_the_same_bytes_stays_fresh(
    repository: dg.RepositoryDefinition, instance: dg.DagsterInstance, folder: Path
) -> None:
    text = (folder / "tides.md").read_bytes()
    (folder / "tides.md").write_bytes(text)
    assert look(repository, instance)[TIDES] is StaleStatus.FRESH


def test_looking_makes_new_files_partitions(
    instance: dg.DagsterInstance, tmp_path: Path, workspace_settings: WorkspaceSettings
) -> None:
    assert instance.get_dynamic_partitions(DOCUMENTS) == []
    repository_of(tmp_path, workspace_settings).get_job("observe_sources").execute_in_process(instance=instance)
    assert set(instance.get_dynamic_partitions(DOCUMENTS)) == {TIDES, WINDS}
