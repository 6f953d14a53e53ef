import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Runner


@pytest.fixture
def tree(run: Runner, build: Runner, index: Path) -> Runner:
    build()
    return lambda *options: run("tree", *options, "--index", index)


def test_tree_text_shows_titles_in_document_order(tree: Runner) -> None:
    done = tree("guide.md")
    assert done.code == 0
    titles = re.findall(r"[├└]─ (.*?)  \[", done.out)
    assert titles == [
        "Harbour guide",
        "Harbour guide (introduction)",
        "Pilots",
        "Fees",
        "Fees (introduction)",
        "Reductions",
        "Waste",
    ]


def test_tree_depth_hides_what_is_below(tree: Runner) -> None:
    assert "Reductions" not in tree("guide.md", "--depth", 2).out
    assert "Pilots" in tree("guide.md", "--depth", 2).out


def test_tree_pageindex_has_the_form_of_pageindex(tree: Runner) -> None:
    document = tree("guide.md", "--format", "pageindex").json
    assert document["doc_name"] == "guide.md"
    pending = list(document["structure"])
    titles = []
    while pending:
        node = pending.pop(0)
        titles.append(node["title"])
        assert {"title", "node_id", "start_index", "end_index"} <= set(node)
        assert 1 <= node["start_index"] <= node["end_index"]
        pending = [*node.get("nodes", []), *pending]
    assert titles == ["Harbour guide", "Pilots", "Fees", "Reductions", "Waste"]


def test_tree_json_covers_every_line_once(tree: Runner, folder: Path) -> None:
    document = tree("guide.md", "--json").json
    leaves = [node for node in document["nodes"] if not node["children"]]
    covered = [line for leaf in leaves for line in range(leaf["first_line"], leaf["last_line"] + 1)]
    line_count = len((folder / "guide.md").read_text(encoding="utf-8").splitlines())
    assert covered == list(range(1, line_count + 1))


def test_tree_html_to_file_is_self_contained(tree: Runner, tmp_path: Path) -> None:
    target = tmp_path / "guide.html"
    done = tree("guide.md", "--format", "html", "--output", target)
    assert done.code == 0
    assert done.out == ""
    page = target.read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href|action)\s*=|url\(|@import|https?://""", page)
    assert page.count("<details") == page.count("</details>")


def test_tree_to_folder_that_is_not_there_names_the_file_and_exits_2(tree: Runner, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "guide.html"
    done = tree("guide.md", "--format", "html", "--output", target)
    assert done.code == 2
    first, second = done.err.splitlines()
    assert first.startswith(f"error: {target}: cannot be written")
    assert "--output" in second


def test_tree_of_unknown_document_names_near_matches_and_exits_6(tree: Runner) -> None:
    done = tree("crane.md")
    assert done.code == 6
    assert "yard/crane.md" in done.err
    assert len(done.err.splitlines()) <= 2


def test_tree_with_json_on_error_prints_one_object(tree: Runner) -> None:
    done = tree("nothing.md", "--json")
    assert json.loads(done.out)["error"]["exit_code"] == 6


def test_tree_of_older_version_shows_that_version(run: Runner, build: Runner, folder: Path, index: Path) -> None:
    build()
    (folder / "guide.md").write_text("# Harbour guide\n\nThe harbour is closed to all ships from now on.\n")
    build()
    assert "Pilots" not in run("tree", "guide.md", "--index", index).out
    assert "Pilots" in run("tree", "guide.md", "--index", index, "--version", "v000001").out


def test_tree_of_unknown_version_exits_6_and_names_those_there_are(tree: Runner) -> None:
    done = tree("guide.md", "--version", "v000009")
    assert done.code == 6
    assert "v000001" in done.err
