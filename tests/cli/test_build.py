import sys
from pathlib import Path

import pytest

from pageindex_local.settings import read_settings
from pageindex_local.store import IndexStore
from tests.cli.conftest import GUIDE, Runner

DOCUMENT_KEYS = {
    "doc_id",
    "version",
    "changed",
    "pages",
    "nodes",
    "nodes_reused",
    "nodes_rebuilt",
    "model_calls",
    "cached_calls",
    "input_tokens",
    "output_tokens",
    "seconds",
    "warnings",
    "renamed_from",
    "error",
}


def test_build_folder_publishes_every_document(build: Runner) -> None:
    done = build("--json")
    assert done.code == 0
    assert set(done.json) == {"release", "documents"}
    assert done.json["release"] == "000001"
    documents = {document["doc_id"]: document for document in done.json["documents"]}
    assert set(documents) == {"guide.md", "yard/crane.md"}
    assert all(set(document) == DOCUMENT_KEYS for document in documents.values())
    # Four headings below the first and its introduction; one heading below the first and its introduction.
    assert {name: document["nodes"] for name, document in documents.items()} == {"guide.md": 7, "yard/crane.md": 3}
    assert all(document["changed"] and document["error"] is None for document in documents.values())


def test_build_without_json_prints_table_within_eighty_columns(build: Runner) -> None:
    done = build()
    assert done.code == 0
    lines = done.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [word for word in ("document", "version", "reused", "rebuilt", "seconds") if word not in lines[1]] == []
    assert lines[-1].startswith("new release 000001")
    assert done.err == ""


def test_build_again_makes_no_version_and_opens_no_model(
    build: Runner, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build()
    monkeypatch.setattr("pageindex_local.llm.lazy.open_model", None)
    monkeypatch.setattr("pageindex_local.build.parse_source", None)
    done = build("--json")
    assert done.code == 0
    assert done.json["release"] == "000001"
    assert [document["changed"] for document in done.json["documents"]] == [False, False]
    assert [document["model_calls"] for document in done.json["documents"]] == [0, 0]
    assert len(list(index.glob("default/documents/*/versions/*"))) == 2


def test_build_after_edit_rebuilds_only_that_document(build: Runner, folder: Path) -> None:
    build()
    (folder / "guide.md").write_text(GUIDE.replace("nine crowns", "ten crowns"), encoding="utf-8")
    done = build("--json")
    guide, crane = done.json["documents"]
    assert (guide["changed"], guide["version"]) == (True, "v000002")
    assert (crane["changed"], crane["version"]) == (False, "v000001")
    assert done.json["release"] == "000002"


def test_build_with_bad_document_publishes_the_others_and_exits_3(build: Runner, folder: Path, index: Path) -> None:
    build()
    (folder / "guide.md").write_bytes(b"")
    (folder / "yard" / "crane.md").write_text("# Crane\n\nThe crane is gone. It was sold to the yard in the north.\n")
    done = build("--json")
    assert done.code == 3
    guide, crane = done.json["documents"]
    assert guide["error"]["kind"] == "EmptySourceError"
    assert (guide["changed"], guide["version"]) == (False, "v000001")
    assert crane["version"] == "v000002"
    release = IndexStore(index, "default", read_settings().store).require_current()
    pinned = {entry.doc_id: entry.version_id for entry in release.documents.values()}
    assert pinned == {"guide.md": "v000001", "yard/crane.md": "v000002"}
    assert done.err.startswith("error: guide.md: ")
    assert len(done.err.splitlines()) <= 2


def test_build_with_bad_document_counts_it_in_the_last_line(build: Runner, folder: Path) -> None:
    (folder / "guide.md").write_bytes(b"")
    assert "1 document failed" in build().out.splitlines()[-1]


def test_build_below_a_file_says_so_and_exits_6(run: Runner, folder: Path) -> None:
    done = run("build", folder, "--index", folder / "guide.md", "--summaries", "extractive")
    assert done.code == 6
    assert "a file, not a folder" in done.err
    assert "--index" in done.err


def test_build_where_nothing_can_be_written_says_so_once(run: Runner, folder: Path) -> None:
    done = run("build", folder, "--index", "/proc/nowhere", "--summaries", "extractive", "--no-dagster")
    assert done.code == 6
    assert done.err.count("error: ") == 1
    assert ".tmp-" not in done.err


def test_build_after_removal_drops_the_document(build: Runner, folder: Path) -> None:
    build()
    (folder / "guide.md").unlink()
    done = build("--json")
    assert done.code == 0
    removed = next(document for document in done.json["documents"] if document["doc_id"] == "guide.md")
    assert (removed["version"], removed["changed"], removed["error"]) == (None, True, None)
    assert done.json["release"] == "000002"


def test_build_after_removal_with_keep_missing_keeps_the_document(build: Runner, folder: Path) -> None:
    build()
    (folder / "guide.md").unlink()
    done = build("--json", "--keep-missing")
    assert done.json["release"] == "000001"


def test_build_single_file_leaves_other_documents_in_the_release(build: Runner, folder: Path, index: Path) -> None:
    build()
    other = folder.parent / "extra.md"
    other.write_text("# Extra\n\nA word about extras, of which there are not many in this harbour.\n", encoding="utf-8")
    assert build(source=other).code == 0
    release = IndexStore(index, "default", read_settings().store).require_current()
    assert {entry.doc_id for entry in release.documents.values()} == {"extra.md", "guide.md", "yard/crane.md"}


def test_build_empty_folder_removes_nothing_and_exits_3(build: Runner, folder: Path, tmp_path: Path) -> None:
    build()
    empty = tmp_path / "empty"
    empty.mkdir()
    done = build(source=empty)
    assert done.code == 3
    assert "no document" in done.err


def test_check_before_and_after_build_says_whether_something_would_change(build: Runner, index: Path) -> None:
    before = build("--check", "--json")
    assert before.code == 10
    assert {document["action"] for document in before.json["documents"]} == {"new"}
    assert not (index / "default" / "releases").exists()
    build()
    assert build("--check").code == 0


def test_plan_names_what_changed_and_exits_0(build: Runner, folder: Path) -> None:
    build()
    (folder / "guide.md").write_text(GUIDE + "\n## More\n\nMore is said here than before.\n", encoding="utf-8")
    done = build("--plan")
    assert done.code == 0
    assert "guide.md" in done.out
    assert "crane.md" not in done.out


def test_plan_estimates_what_the_build_then_costs(build: Runner, folder: Path) -> None:
    build()
    (folder / "guide.md").write_text(GUIDE.replace("nine crowns", "ten crowns"), encoding="utf-8")
    plan = {entry["doc_id"]: entry["estimate"] for entry in build("--plan", "--json").json["documents"]}
    assert plan["yard/crane.md"] is None
    built = build("--json").json["documents"][0]
    # The stand-in that estimates is the model of this build, so the figures must agree.
    for key in ("nodes", "nodes_reused", "model_calls", "input_tokens", "output_tokens"):
        assert plan["guide.md"][key] == built[key] + (built["cached_calls"] if key == "model_calls" else 0)


def test_build_with_other_summary_settings_carries_ids_but_not_summaries(build: Runner) -> None:
    build()
    done = build("--json", "--summaries", "none")
    guide = done.json["documents"][0]
    assert guide["version"] == "v000002"
    assert guide["nodes_reused"] == 0
    assert guide["model_calls"] == 0


@pytest.mark.parametrize(
    "options", [("--strategy", "guess"), ("--summaries", "poem"), ("--model", "nobody"), ("--no-such-option",)]
)
def test_build_with_unusable_option_exits_2(build: Runner, options: tuple[str, ...]) -> None:
    done = build(*options)
    assert done.code == 2
    assert done.out == ""
    assert options[-1] in done.err


def test_build_with_unknown_setting_exits_2_and_names_it(build: Runner, tmp_path: Path) -> None:
    config = tmp_path / "own.toml"
    config.write_text("[tree]\nmax_deph = 3\n", encoding="utf-8")
    done = build("--config", config)
    assert done.code == 2
    assert "max_deph" in done.err


def test_build_many_documents_leaves_dagster_out_and_says_so(
    run: Runner, folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pageindex_local.collection.MANY_DOCUMENTS", 1)
    monkeypatch.setitem(sys.modules, "pipelines.in_process", None)  # importing it fails
    done = run("build", folder, "--index", index, "--model", "fake")
    assert done.code == 0
    assert "the library built them alone" in done.err
    assert len(list(index.glob("default/documents/*/versions/*"))) == 2
