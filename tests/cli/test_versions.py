"""History, differences, releases and lost ids, told by commands over two builds of one folder."""

import re
from pathlib import Path

import pytest

from tests.cli.conftest import GUIDE, Runner


@pytest.fixture
def edited(build: Runner, folder: Path) -> None:
    """The guide in two versions: a fee was changed, the section on waste removed, one on ice added."""
    build()
    text = GUIDE.replace("nine crowns", "ten crowns")
    text = text[: text.index("## Waste")] + "## Ice\n\nIn a hard winter the ice is broken every morning before seven.\n"
    (folder / "guide.md").write_text(text, encoding="utf-8")
    build()


@pytest.fixture
def on_index(run: Runner, index: Path) -> Runner:
    return lambda *arguments: run(*arguments, "--index", index)


def node_of(on_index: Runner, title: str, version: str) -> str:
    nodes = on_index("tree", "guide.md", "--json", "--version", version).json["nodes"]
    return next(str(node["node_id"]) for node in nodes if node["title"] == title)


@pytest.mark.usefixtures("edited")
def test_history_lists_versions_with_their_releases(on_index: Runner) -> None:
    versions = on_index("history", "guide.md", "--json").json["versions"]
    assert [entry["version_id"] for entry in versions] == ["v000001", "v000002"]
    assert [entry["releases"] for entry in versions] == [["000001"], ["000002"]]
    assert [entry["is_live"] for entry in versions] == [False, True]
    done = on_index("history", "guide.md")
    assert all(len(line) <= 80 for line in done.out.splitlines())


@pytest.mark.usefixtures("edited")
def test_history_counts_releases_that_are_not_in_a_row(on_index: Runner) -> None:
    for name in ("1", "2", "1"):
        on_index("release", "rollback", name)
    out = on_index("history", "guide.md").out
    assert "3 releases 000001 to 000005: first version" in out
    assert "releases 000002 000004:" in out


@pytest.mark.usefixtures("edited")
def test_diff_tells_what_was_added_removed_and_edited(on_index: Runner) -> None:
    changes = on_index("diff", "guide.md", "v000001", "v000002", "--json").json
    assert [node["title"] for node in changes["added"]] == ["Ice"]
    assert [node["title"] for node in changes["removed"]] == ["Waste"]
    edited = [change["after"]["title"] for change in changes["changed"] if "edited" in change["kinds"]]
    assert edited == ["Fees"]
    text = on_index("diff", "guide.md", "v000001", "v000002").out
    assert re.search(r"^\+ Ice  \[", text, re.MULTILINE)
    assert re.search(r"^- Waste  \[", text, re.MULTILINE)


@pytest.mark.usefixtures("edited")
def test_diff_as_markdown_is_a_table_with_one_row_a_change(on_index: Runner) -> None:
    text = on_index("diff", "guide.md", "v000001", "v000002", "--format", "markdown").out
    rows = [line for line in text.splitlines() if line.startswith("| ") and "section" not in line]
    assert len(rows) == 3
    assert all(row.count("|") == 6 for row in rows)


@pytest.mark.usefixtures("edited")
def test_diff_of_node_shows_the_changed_words(on_index: Runner) -> None:
    node = node_of(on_index, "Fees", "v000001")
    text = on_index("diff", "guide.md", "v000001", "v000002", "--node", node).out
    assert any(line.startswith("-") and "nine crowns" in line for line in text.splitlines())
    assert any(line.startswith("+") and "ten crowns" in line for line in text.splitlines())


@pytest.mark.usefixtures("edited")
def test_resolve_finds_living_and_removed_sections(on_index: Runner) -> None:
    fees, waste = node_of(on_index, "Fees", "v000001"), node_of(on_index, "Waste", "v000001")
    assert on_index("resolve", fees, "--json").json["state"] == "node"
    gone = on_index("resolve", waste, "--json").json
    assert (gone["state"], gone["ended_in"], gone["node"]) == ("deleted", "v000002", None)
    assert on_index("resolve", waste, "--release", "1", "--json").json["state"] == "node"
    assert on_index("resolve", "naaaaaaaaaaaaa").code == 6


@pytest.mark.usefixtures("edited")
def test_rollback_answers_from_the_old_text_again(on_index: Runner) -> None:
    done = on_index("release", "rollback", "1", "--json")
    assert done.code == 0
    assert done.json["release"] == "000003"
    assert {entry["doc_id"]: entry["version"] for entry in done.json["documents"]}["guide.md"] == "v000001"
    asked = on_index("ask", "How much is the fee for one night?", "--no-model", "--json").json
    assert any("nine crowns" in citation["quote"] for citation in asked["citations"])


@pytest.mark.usefixtures("edited")
def test_pin_to_a_version_that_is_not_there_names_the_document_and_its_versions(on_index: Runner) -> None:
    done = on_index("release", "pin", "guide.md", "v000077")
    assert done.code == 6
    assert done.err.startswith("error: guide.md: has no version v000077")
    assert "v000001" in done.err.splitlines()[1]


@pytest.mark.usefixtures("edited")
def test_pin_changes_one_document_only(on_index: Runner) -> None:
    done = on_index("release", "pin", "guide.md", "v000001", "--json")
    assert done.json["release"] == "000003"
    names = [entry["release"] for entry in on_index("release", "list", "--json").json["releases"]]
    assert names == ["000003", "000002", "000001"]
    shown = on_index("release", "show", "3").out
    assert "guide.md  was v000002" in shown


@pytest.mark.usefixtures("edited")
def test_verify_is_clean_until_a_byte_changes(on_index: Runner, index: Path) -> None:
    assert on_index("verify", "--deep", "--json").json["clean"] is True
    file = next(index.glob("default/documents/*/versions/v000001/nodes.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    done = on_index("verify")
    assert done.code == 6
    assert "nodes.parquet" in done.out


@pytest.mark.usefixtures("edited")
def test_gc_shows_first_and_removes_on_request(on_index: Runner, index: Path, tmp_path: Path) -> None:
    shown = on_index("gc", "--keep", "1", "--json").json
    assert (shown["applied"], shown["releases"]) == (False, ["000001"])
    assert (index / "default/releases/000001.json").exists()
    applied = on_index("gc", "--keep", "1", "--apply", "--json").json
    assert applied["applied"] is True
    assert not (index / "default/releases/000001.json").exists()
    assert on_index("verify", "--json").json["clean"] is True


@pytest.mark.usefixtures("edited")
def test_export_and_import_give_an_index_that_answers_the_same(run: Runner, on_index: Runner, tmp_path: Path) -> None:
    bundle, other = tmp_path / "guide.bundle", tmp_path / "other"
    exported = on_index("export", bundle, "--json").json
    imported = run("import", bundle, "--index", other, "--root-hash", exported["root_hash"], "--json").json
    assert imported["root_hash"] == exported["root_hash"]
    question = ("ask", "How much is the fee for one night?", "--no-model", "--json")
    first, second = on_index(*question).json, run(*question, "--index", other).json
    assert first["citations"] == second["citations"]
    assert first["citations"]


@pytest.mark.usefixtures("edited")
def test_import_with_another_root_hash_is_refused_and_leaves_nothing(
    run: Runner, on_index: Runner, tmp_path: Path
) -> None:
    bundle, other = tmp_path / "guide.bundle", tmp_path / "other"
    on_index("export", bundle)
    assert run("import", bundle, "--index", other, "--root-hash", "0" * 64).code == 6
    assert run("status", "--index", other).code == 6


def test_models_lists_the_default_and_finds_its_file(run: Runner) -> None:
    found = run("models", "--json").json["models"]
    (default,) = [entry for entry in found if entry["is_default"]]
    assert default["problem"] is None
    assert Path(default["path"]).stat().st_size > 1_000_000
