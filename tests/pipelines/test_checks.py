"""Each check calls for what its name says, shown on a document that breaks it."""

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from pageindex_local.build import BuildJob, DraftTree, build_document
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import ParsedDocument
from pageindex_local.settings import Settings
from pipelines.checks import every_line_is_in_one_section, pages_hold_text, sections_can_be_found, version_reads_back
from pipelines.resources import Workspace
from pipelines.tree import split_pages
from tests.pipelines.conftest import open_workspace_in


@pytest.fixture
def document(folder: Path, settings: Settings) -> ParsedDocument:
    return parse_source(read_source("tides.md", folder / "tides.md", settings.parse), settings.parse)


def verdict(result: object) -> dg.AssetCheckResult:
    assert isinstance(result, dg.AssetCheckResult)
    return result


def test_pages_check_passes_on_a_document_and_fails_on_one_without_text(document: ParsedDocument) -> None:
    assert verdict(pages_hold_text(document)).passed
    blank = replace(
        document,
        pages=tuple(
            replace(page, lines=tuple(replace(line, text=" ") for line in page.lines)) for page in document.pages
        ),
    )
    assert not verdict(pages_hold_text(blank)).passed


def test_pages_check_fails_where_lines_are_missing(document: ParsedDocument) -> None:
    first = document.pages[0]
    shifted = replace(document, pages=(replace(first, first_line=3), *document.pages[1:]))
    result = verdict(pages_hold_text(shifted))
    assert not result.passed
    assert "line 3" in str(result.metadata["first"].value)


def test_tree_check_fails_where_a_line_is_in_no_section(
    document: ParsedDocument, workspace: Workspace, settings: Settings, folder: Path
) -> None:
    source = read_source("tides.md", folder / "tides.md", settings.parse)
    tree = build_document(BuildJob(source, "v000001"), None, workspace.model, settings).tree
    assert verdict(every_line_is_in_one_section(DraftTree(tree), document)).passed
    last = tree.nodes[tree.roots[-1]]
    cut = {**tree.nodes, last.node_id: replace(last, span=(last.span[0], last.span[1] - 1))}
    assert not verdict(every_line_is_in_one_section(DraftTree(replace(tree, nodes=cut)), document)).passed


def test_version_check_fails_on_one_flipped_byte(workspace: Workspace, settings: Settings, folder: Path) -> None:
    source = read_source("tides.md", folder / "tides.md", settings.parse)
    ref = workspace.store.write_version(build_document(BuildJob(source, "v000001"), None, workspace.model, settings))
    assert verdict(version_reads_back(ref, workspace)).passed
    file = workspace.store.layout.version(ref.doc_key, ref.version_id) / "pages.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert not verdict(version_reads_back(ref, workspace)).passed


def test_split_without_chunks_is_a_failure_and_not_an_empty_success(
    document: ParsedDocument, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pageindex_local.headings import find_headings

    monkeypatch.setattr("pipelines.tree.split_chunks", lambda *_: ())
    evidence = find_headings(document, workspace.settings.tree)
    with pytest.raises(dg.Failure, match="no chunks"):
        list(split_pages(document, evidence, workspace))


def publish_sections(workspace: Workspace, text: str, names: list[str]) -> None:
    """Publish Markdown documents of these names, each with this text."""
    refs = {}
    for name in names:
        path = workspace.scope.inputs[0] / name
        path.write_text(text.format(name=name.removesuffix(".md")), encoding="utf-8")
        source = read_source(name, path, workspace.settings.parse)
        built = build_document(BuildJob(source, "v000001"), None, workspace.model, workspace.settings)
        ref = workspace.store.write_version(built)
        refs[ref.doc_key] = ref
    workspace.store.publish(refs, expected_parent=None)


def test_found_check_passes_on_sections_that_differ_and_warns_on_copies(tmp_path: Path, settings: Settings) -> None:
    distinct = (
        "# Of {name}\n\nThe warden of the {name} keeps nine lanterns beside the northern gate.\n\n"
        "## Ropes of {name}\n\nEvery {name} rope is renewed before winter by two sailors.\n"
    )
    names = [f"{word}.md" for word in ("anchor", "beacon", "cutter", "dinghy", "engine")]
    folder = tmp_path / "documents"
    folder.mkdir()
    different = open_workspace_in(tmp_path / "different", folder, settings)
    publish_sections(different, distinct, names)
    assert verdict(sections_can_be_found(different)).passed
    copies = open_workspace_in(tmp_path / "copies", folder, settings)
    publish_sections(copies, distinct.replace("{name}", "harbour"), names)
    result = verdict(sections_can_be_found(copies))
    assert not result.passed
    assert result.severity is dg.AssetCheckSeverity.WARN
    assert "the same text stands in" in str(result.metadata["first"].value)
