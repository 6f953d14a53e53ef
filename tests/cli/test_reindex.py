"""What a commit changes in the index, on a real git repository: only that is built, and told as Markdown."""

from pathlib import Path

import pytest

from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from tests.cli.conftest import Run, Runner
from tests.cli.repository import Repository, rules


@pytest.fixture
def reindex(run: Runner, repository: Repository, tmp_path: Path) -> Runner:
    def invoke(*options: object, index: str = "index") -> Run:
        return run("reindex", repository.docs, "--index", tmp_path / index, "--model", "fake", *options)

    return invoke


def test_only_the_edited_section_costs_calls(reindex: Runner, changed: Repository) -> None:
    done = reindex("--base", "main", "--json")
    assert done.code == 0
    documents = {document["doc_id"]: document for document in done.json["documents"]}
    calls = {name: document["model_calls"] for name, document in documents.items()}
    # The stand-in writes a summary a section; a refused one is asked for once more.
    assert 1 <= calls["tides.md"] <= 2
    assert (calls["gales.md"], documents["gales.md"]["renamed_from"]) == (0, "winds.md")
    assert done.json["base_model_calls"] >= 3 * 8
    told = {entry["doc_id"]: entry for entry in done.json["differences"]}
    assert {name: entry["change"] for name, entry in told.items()} == {
        "tides.md": "changed",
        "gales.md": "renamed",
        "ropes.md": "removed",
    }
    edited = [c["after"]["title"] for c in told["tides.md"]["sections"]["changed"] if "edited" in c["kinds"]]
    assert edited == ["Tides rule 3"]
    assert told["gales.md"]["sections"]["changed"] == []


def test_index_of_the_base_is_taken_over_without_a_call(
    run: Runner, reindex: Runner, repository: Repository, tmp_path: Path, changed: Repository
) -> None:
    repository.git("switch", "--quiet", "main")
    run("build", repository.docs, "--index", tmp_path / "index", "--model", "fake", "--no-dagster")
    (tmp_path / "index/default/work/completions.sqlite").unlink()
    repository.git("switch", "--quiet", "branch")
    done = reindex("--base", "main", "--json")
    assert done.json["base_model_calls"] == 0
    assert (done.json["base_release"], done.json["release"]) == ("000001", "000002")


def test_index_of_a_later_commit_goes_back_to_the_base_without_a_call(
    reindex: Runner, repository: Repository, changed: Repository
) -> None:
    reindex("--base", "main")
    repository.git("switch", "--quiet", "--create", "other", "main")
    repository.write("winds.md", rules("winds").replace("pays 5 crowns", "pays 55 crowns"))
    repository.commit("Change winds")
    done = reindex("--base", "main", "--json")
    assert done.json["base_model_calls"] == 0
    assert [entry["doc_id"] for entry in done.json["differences"]] == ["winds.md"]


def test_base_is_where_the_branch_began(reindex: Runner, repository: Repository, changed: Repository) -> None:
    repository.git("switch", "--quiet", "main")
    repository.write("ropes.md", rules("ropes", sections=9))
    repository.commit("Go on with main")
    repository.git("switch", "--quiet", "branch")
    done = reindex("--base", "main", "--json")
    assert done.json["base"] == repository.git("merge-base", "main", "branch")
    assert {entry["doc_id"]: entry["change"] for entry in done.json["differences"]}["ropes.md"] == "removed"


def test_report_is_markdown_that_names_what_changed(reindex: Runner, changed: Repository, tmp_path: Path) -> None:
    report = tmp_path / "diff.md"
    done = reindex("--base", "main", "--report", report, "--text", "--quiet")
    assert (done.code, done.out) == (0, "")
    text = report.read_text(encoding="utf-8")
    assert text.splitlines()[0] == "## Index: 3 documents differ: 1 removed, 1 renamed, 1 changed"
    (row,) = [line for line in text.splitlines() if line.startswith("| ~ |")]
    assert "| Tides rule 3 |" in row
    assert "| edited |" in row
    assert "renamed, was winds.md" in text
    assert "\n-Whoever deals with tides under rule 3 pays 6 crowns" in text
    assert "\n+Whoever deals with tides under rule 3 pays 66 crowns" in text


def test_bundle_carries_the_index_from_run_to_run(reindex: Runner, changed: Repository, tmp_path: Path) -> None:
    bundle = tmp_path / "main.pil"
    reindex("--base", "main", "--head", "main", "--save", bundle, index="first")
    done = reindex("--base", "main", "--bundle", bundle, "--json", index="second")
    assert done.json["base_model_calls"] == 0
    assert 1 <= sum(document["model_calls"] for document in done.json["documents"]) <= 2


def test_first_commit_has_nothing_to_compare_with(reindex: Runner, repository: Repository) -> None:
    done = reindex("--base", "0" * 40, "--json")
    assert done.code == 0
    assert {entry["change"] for entry in done.json["differences"]} == {"added"}
    assert done.json["base"] is None


def test_unchanged_commit_says_so(reindex: Runner, repository: Repository) -> None:
    reindex("--base", "main")
    repository.commit("Change nothing")
    assert "no document changed" in reindex("--base", "HEAD~1").out


def test_working_tree_is_neither_read_nor_touched(reindex: Runner, changed: Repository) -> None:
    changed.write("draft.md", rules("drafts"))
    before = changed.git("status", "--porcelain")
    done = reindex("--base", "main", "--json")
    assert "draft.md" not in {document["doc_id"] for document in done.json["documents"]}
    assert changed.git("status", "--porcelain") == before


def test_document_that_fails_is_told_and_the_others_are_published(reindex: Runner, changed: Repository) -> None:
    changed.write("empty.md", " \n")
    changed.commit("Add an empty document")
    done = reindex("--base", "main")
    assert done.code == 3
    assert "**failed** empty.md" in done.out
    assert "Tides rule 3" in done.out


@pytest.mark.parametrize(("options", "said"), [(("--base", "nowhere"), "nowhere"), (("--base", "--help"), "--help")])
def test_unknown_commit_exits_3(reindex: Runner, repository: Repository, options: tuple[str, ...], said: str) -> None:
    done = reindex(*options)
    assert done.code == 3
    assert said in done.err
    assert "fetch-depth" in done.err


def test_folder_outside_of_a_repository_exits_3(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "plain").mkdir()
    done = run("reindex", tmp_path / "plain", "--base", "HEAD", "--index", tmp_path / "index")
    assert done.code == 3
    assert "git repository" in done.err


def test_release_diff_tells_the_same_without_git(
    run: Runner, reindex: Runner, changed: Repository, tmp_path: Path
) -> None:
    reindex("--base", "main")
    index = ("--index", tmp_path / "index")
    told = run("release", "diff", *index, "--json").json
    assert (told["old"], told["new"]) == ("000001", "000002")
    assert {entry["doc_id"]: entry["change"] for entry in told["documents"]} == {
        "tides.md": "changed",
        "gales.md": "renamed",
        "ropes.md": "removed",
    }
    lines = run("release", "diff", "1", "2", *index).out.splitlines()
    assert lines[0] == "000001 -> 000002: 3 documents differ: 1 removed, 1 renamed, 1 changed"
    assert any(line.startswith("  ~ Tides rule 3  [") for line in lines)
    assert all(len(line) <= 82 for line in lines)
    back = run("release", "diff", "2", "1", *index, "--json").json
    assert {entry["doc_id"]: entry["change"] for entry in back["documents"]}["ropes.md"] == "added"


def test_links_out_of_the_folder_are_left_out(reindex: Runner, changed: Repository) -> None:
    (changed.root / "notes.md").write_text(rules("notes"), encoding="utf-8")
    (changed.docs / "absolute.md").symlink_to("/etc/hostname")
    (changed.docs / "outside.md").symlink_to("../notes.md")
    (changed.docs / "inside.md").symlink_to("tides.md")
    changed.commit("Link")
    done = reindex("--base", "main", "--json")
    assert done.code == 0
    assert {entry["doc_id"] for entry in done.json["documents"]} >= {"inside.md", "tides.md"}
    assert not {entry["doc_id"] for entry in done.json["documents"]} & {"absolute.md", "outside.md"}


def test_document_kept_out_of_archives_is_indexed(reindex: Runner, changed: Repository) -> None:
    changed.write(".gitattributes", "*.md export-ignore\n")
    changed.write("-a file ü.md", "# Soup\n\nBoil water, add salt, and wait until the fish is done.\n")
    changed.commit("Keep documents out of archives")
    done = reindex("--base", "main", "--json")
    assert {entry["doc_id"]: entry["change"] for entry in done.json["differences"]} == {
        "-a file ü.md": "added",
        "tides.md": "changed",
        "gales.md": "renamed",
        "ropes.md": "removed",
    }


def test_base_whose_documents_are_all_left_out_counts_as_empty(reindex: Runner, repository: Repository) -> None:
    repository.git("rm", "--quiet", "-r", "docs")
    repository.docs.mkdir(exist_ok=True)
    repository.write(".hidden.md", rules("secrets"))
    base = repository.commit("Hide")
    repository.write("tides.md", rules("tides"))
    repository.commit("Show")
    done = reindex("--base", base, "--json")
    assert done.code == 0
    assert [entry["change"] for entry in done.json["differences"]] == ["added"]


def test_correction_made_after_the_head_survives_the_same_run_again(
    run: Runner, reindex: Runner, changed: Repository, tmp_path: Path
) -> None:
    reindex("--base", "main")
    index = ("--index", tmp_path / "index", "--model", "fake")
    tree = run("tree", "tides.md", "--index", tmp_path / "index", "--json").json
    node_id = next(node["node_id"] for node in tree["nodes"] if node["title"] == "Tides rule 5")
    (tmp_path / "rule.md").write_text("Rule five costs nothing at all.\n", encoding="utf-8")
    assert run("replace", node_id, "--from", tmp_path / "rule.md", *index).code == 0
    reindex("--base", "main")
    assert "costs nothing" in run("resolve", node_id, "--text", "--index", tmp_path / "index").out
    changed.write("tides.md", rules("tides").replace("under rule 2 pays 5 crowns", "under rule 2 pays 55 crowns"))
    changed.commit("Edit another rule")
    reindex("--base", "main")
    assert "costs nothing" in run("resolve", node_id, "--text", "--index", tmp_path / "index").out


def test_report_is_written_before_a_bundle_that_cannot_be(reindex: Runner, changed: Repository, tmp_path: Path) -> None:
    report, there = tmp_path / "diff.md", tmp_path / "there.pil"
    done = reindex("--base", "main", "--report", report, "--save", tmp_path / "no/folder.pil")
    assert (done.code, report.exists()) == (6, True)
    there.write_text("", encoding="utf-8")
    done = reindex("--base", "main", "--save", there, index="untouched")
    assert done.code == 6
    assert "is there already" in done.err
    assert not (tmp_path / "untouched").exists()


def test_dropped_correction_is_told_by_the_same_run_again(
    run: Runner, reindex: Runner, repository: Repository, tmp_path: Path
) -> None:
    index = ("--index", tmp_path / "index", "--model", "fake")
    run("build", repository.docs, *index, "--no-dagster")
    tree = run("tree", "tides.md", "--index", tmp_path / "index", "--json").json
    node_id = next(node["node_id"] for node in tree["nodes"] if node["title"] == "Tides rule 3")
    (tmp_path / "rule.md").write_text("Rule three costs nothing at all.\n", encoding="utf-8")
    assert run("replace", node_id, "--from", tmp_path / "rule.md", *index).code == 0
    repository.write("tides.md", rules("tides").replace("under rule 3 pays 6 crowns", "under rule 3 pays 66 crowns"))
    repository.commit("Edit the corrected rule")
    for _ in range(2):
        assert "correction of “Tides rule 3” made by hand" in reindex("--base", "HEAD~1").out


def test_document_that_fails_in_the_base_alone_is_told_and_is_no_failure(
    reindex: Runner, repository: Repository
) -> None:
    repository.write("swell.md", " \n")
    repository.commit("Add an empty document")
    repository.git("switch", "--quiet", "--create", "branch")
    repository.write("swell.md", rules("swell"))
    repository.commit("Fill it")
    said = "failed in the base, so compared with its last good version or nothing: swell.md: has no text"

    first = reindex("--base", "main")
    assert first.code == 0
    assert said in first.out
    # By now the base is a release that is gone back to, and not built: what it lacks is told all the same.
    again = reindex("--base", "main", "--json")
    assert again.code == 0
    (told,) = again.json["base_failed"]
    assert (told["doc_id"], told["error"]["kind"]) == ("swell.md", "EmptySourceError")
    assert [(entry["doc_id"], entry["change"]) for entry in again.json["differences"]] == [("swell.md", "added")]
    assert said in reindex("--base", "main").out


def test_document_that_fails_on_both_sides_is_told_once(
    reindex: Runner, repository: Repository, tmp_path: Path
) -> None:
    repository.write("swell.md", " \n")
    repository.commit("Add an empty document")
    repository.git("switch", "--quiet", "--create", "branch")
    repository.write("tides.md", rules("tides").replace("rule 3 pays", "rule 3 never pays"))
    repository.commit("Edit")
    for _ in range(2):
        done = reindex("--base", "main")
        assert done.code == 3
        assert done.out.count("swell.md: has no text") == 1
    releases = IndexStore(tmp_path / "index", "default", read_settings().store).releases()
    done = reindex("--base", "main")
    # Back to the base and forward again, each found among the releases: nothing is built for the sake of the bad one.
    assert ", 0 model calls" in done.out
    after = IndexStore(tmp_path / "index", "default", read_settings().store)
    assert len(after.releases()) == len(releases) + 2
    assert {after.release(name).reason for name in after.releases()[-2:]} == {
        f"rollback to {releases[-2]}",
        f"rollback to {releases[-1]}",
    }
