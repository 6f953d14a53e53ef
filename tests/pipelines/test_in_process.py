"""The command line's way through Dagster: same bytes as the library alone, same errors, nothing left behind."""

from pathlib import Path

import pytest

from pageindex_local.build import BuildJob
from pageindex_local.collection import build_collection, library_builder
from pageindex_local.errors import NoTextError, SourceError, TreeError
from pageindex_local.llm.base import TextModel
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.sources import read_source
from pageindex_local.planning import Action, Scope
from pageindex_local.settings import Settings
from pipelines.in_process import dagster_builder
from pipelines.resources import Workspace
from tests.pipelines.conftest import open_workspace_in, write_document

SAME_FILES = ("tree.json", "nodes.parquet", "pages.parquet", "changes.json")


def build_both(tmp_path: Path, folder: Path, settings: Settings) -> tuple[Workspace, Workspace]:
    alone = open_workspace_in(tmp_path / "alone", folder, settings)
    under = open_workspace_in(tmp_path / "under", folder, settings)
    library = library_builder(alone.store, settings, alone.model)
    first = build_collection(alone.scope, alone.store, settings, alone.model, library)
    with dagster_builder(under.store, settings, under.model) as builder:
        second = build_collection(under.scope, under.store, settings, under.model, builder)
    assert [report.error for report in (*first.documents, *second.documents)] == [None] * 4
    counts = [
        [(report.doc_id, report.nodes, report.nodes_reused, report.usage.model_calls) for report in report_.documents]
        for report_ in (first, second)
    ]
    assert counts[0] == counts[1]
    return alone, under


def test_build_under_dagster_publishes_the_same_bytes(tmp_path: Path, folder: Path, settings: Settings) -> None:
    settings = settings.model_copy(update={"tree": settings.tree.model_copy(update={"batch_chunks": 1})})
    build_both(tmp_path, folder, settings)
    write_document(folder / "tides.md", "Tides", sections=5)
    write_document(folder / "winds.md", "Winds", sections=3)
    alone, under = build_both(tmp_path, folder, settings)
    names = sorted(path.relative_to(alone.store.layout.folder) for path in alone.store.layout.documents.rglob("*.*"))
    assert len([name for name in names if name.name == "tree.json"]) == 4
    for name in names:
        if name.name in SAME_FILES:
            first = alone.store.layout.folder / name
            assert first.read_bytes() == (under.store.layout.folder / name).read_bytes(), name


def test_build_again_under_dagster_runs_nothing(workspace: Workspace, settings: Settings) -> None:
    def refuse(job: BuildJob) -> None:
        raise AssertionError(f"{job.source.doc_id} was built again")

    with dagster_builder(workspace.store, settings, workspace.model) as builder:
        build_collection(workspace.scope, workspace.store, settings, workspace.model, builder)
    again = build_collection(workspace.scope, workspace.store, settings, workspace.model, refuse)  # type: ignore[arg-type]
    assert not again.is_new_release
    assert {report.action for report in again.documents} == {Action.KEEP}


def test_document_that_cannot_be_read_gives_the_librarys_error(
    workspace: Workspace, settings: Settings, tmp_path: Path
) -> None:
    scan = tmp_path / "scan.pdf"
    write_pdf_without_text(scan)
    source = read_source("scan.pdf", scan, settings.parse)
    with (
        dagster_builder(workspace.store, settings, workspace.model) as builder,
        pytest.raises(NoTextError) as caught,
    ):
        builder(BuildJob(source, "v000001"))
    assert caught.value.exit_code == SourceError.exit_code
    assert caught.value.subject == "scan.pdf"
    assert workspace.store.current() is None


def test_good_documents_are_published_beside_a_bad_one(workspace: Workspace, settings: Settings, folder: Path) -> None:
    write_pdf_without_text(folder / "scan.pdf")
    with dagster_builder(workspace.store, settings, workspace.model) as builder:
        report = build_collection(workspace.scope, workspace.store, settings, workspace.model, builder)
    assert report.exit_code == SourceError.exit_code
    release = workspace.store.require_current()
    assert {entry.doc_id for entry in release.documents.values()} == {"tides.md", "winds.md"}


def test_broken_tree_is_stopped_before_it_is_written(
    workspace: Workspace, settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.checks.validate_tree", lambda tree, pages: ["a page is in no section"])
    source = read_source("tides.md", folder / "tides.md", settings.parse)
    with dagster_builder(workspace.store, settings, workspace.model) as builder, pytest.raises(TreeError):
        builder(BuildJob(source, "v000001"))
    assert not list(workspace.store.layout.folder.glob("documents/*/versions/v*"))


def test_run_leaves_no_stage_output_behind(workspace: Workspace, settings: Settings) -> None:
    with dagster_builder(workspace.store, settings, workspace.model) as builder:
        build_collection(workspace.scope, workspace.store, settings, workspace.model, builder)
    assert not (workspace.store.layout.work / "stages").exists()


def write_pdf_without_text(path: Path) -> None:
    import pymupdf

    with pymupdf.open() as document:
        document.new_page().draw_rect(pymupdf.Rect(50, 50, 200, 200))
        document.save(path)


def test_scope_of_a_single_document_stays_usable_twice(workspace: Workspace, settings: Settings, folder: Path) -> None:
    scope = Scope((folder / "tides.md",))
    with dagster_builder(workspace.store, settings, workspace.model) as builder:
        build_collection(scope, workspace.store, settings, workspace.model, builder)
        write_document(folder / "tides.md", "Tides", sections=6)
        second = build_collection(scope, workspace.store, settings, workspace.model, builder)
    (report,) = second.documents
    # Four old rules, their parent's introduction and the parent: only what the two new rules touch is made anew.
    assert report.nodes_reused >= 4
    assert report.version == "v000002"


def test_error_of_the_system_in_a_step_is_told_without_a_stack_trace(workspace: Workspace, settings: Settings) -> None:
    def fail() -> TextModel:
        raise PermissionError(13, "Permission denied", "weights.gguf")

    model = LazyModel(fail, identity="none")
    with dagster_builder(workspace.store, settings, model) as builder:
        report = build_collection(workspace.scope, workspace.store, settings, model, builder)
    error = report.documents[0].error
    assert error is not None
    assert "Permission denied" in error.problem
    assert "Stack Trace" not in error.problem
    assert "\n" not in error.problem
