"""Hostile text in documents and names: on a terminal it can only be read."""

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Runner

HOSTILE = "Fees \x1b[31mred\x1b[0m \u202etxt.exe \x07 <script>alert(1)</script>"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile_index(run: Runner, tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    root.mkdir()
    text = (
        f"# {HOSTILE}\n\nThe fee is nine crowns {HOSTILE} for each metre of length and night.\n\n## Second\n\nMore.\n"
    )
    (root / "bad\u202ename.md").write_text(text, encoding="utf-8")
    index = tmp_path / "index"
    done = run("build", root, "--index", index, "--model", "fake", "--no-dagster")
    assert done.code == 0
    assert not CONTROLS.search(done.out)
    return index


@pytest.mark.parametrize(
    "arguments",
    [
        ("tree", "bad\u202ename.md", "--summaries"),
        ("tree", "bad\u202ename.md", "--json"),
        ("tree", "bad\u202ename.md", "--format", "pageindex"),
        ("tree", "bad\u202ename.md", "--format", "html"),
        ("tree", "bad\u202ename"),
        ("status",),
        ("ask", "What is the fee?", "--model", "fake"),
        ("retrieve", "What is the fee?", "--model", "fake"),
    ],
)
def test_output_holds_no_control_or_bidi_character(
    run: Runner, hostile_index: Path, arguments: tuple[str, ...]
) -> None:
    done = run(*arguments, "--index", hostile_index)
    assert not CONTROLS.search(done.out)
    assert not CONTROLS.search(done.err)


def test_html_shows_markup_of_documents_as_text(run: Runner, hostile_index: Path) -> None:
    page = run("tree", "bad\u202ename.md", "--format", "html", "--index", hostile_index).out
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
