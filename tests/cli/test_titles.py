"""Titles in several scripts, and hostile ones, through every output: whole, on one line, and only to be read.

The documents are a Markdown file and a PDF whose titles hold escape sequences, bidirectional overrides and isolates,
line ends and invisible characters among Japanese, German, Arabic and Hebrew.
"""

import json
import re
import tarfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from typer.testing import CliRunner

from pageindex_local.cli import app
from pageindex_local.ids import make_doc_key
from pageindex_local.settings import read_settings
from pageindex_local.store import IndexStore
from pipelines.metadata import tree_markdown, version_diff
from tests.cli.conftest import Run, Runner
from tests.unit.parsing.pdfs import new_document, save, write

# What is written, and what a person reads: the letters between the characters that may not be shown.
TITLES = {
    "港の規則と料金": "港の規則と料金",
    "Gebühren für die Größe": "Gebühren für die Größe",
    "قواعد الميناء": "قواعد الميناء",
    "כללי הנמל": "כללי הנמל",
    "Red \x1b[31mlight\x1b[0m": "Red [31mlight[0m",
    "Over \u202efdp.exe\u202c here": "Over fdp.exe here",
    "Iso \u2066late\u2069 \u200fmark": "Iso late mark",
    "Bell \x07 and \x9b31m": "Bell and 31m",
    "Zero\u200bwidth \ufeffand \u2060joined": "Zerowidth and joined",
}
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
WORDS = "Ships of more than forty metres take a pilot at the outer buoy, and the fee is nine crowns a night."
DOCUMENTS = ("titles.md", "titles.pdf")


def _markdown(note: str) -> str:
    sections = (f"## {title}\n\n{WORDS} Rule {number}. {note}\n" for number, title in enumerate(TITLES, 1))
    return "\n".join(["# All \x1b]0;titles\x07\n", f"{WORDS}\n", *sections])


def _write_documents(folder: Path, note: str) -> None:
    (folder / "titles.md").write_text(_markdown(note), encoding="utf-8", newline="\n")
    document = new_document(len(TITLES))
    for number, page in enumerate(document, 1):
        write(page, 72, 100, f"{WORDS} Rule {number}. {note}", 9)
    # A character beyond Latin makes the library write the title as UTF-16, controls and all.
    document.set_toc([[1, f"{title}\r\n✓", number] for number, title in enumerate(TITLES, 1)])
    save(document, folder, "titles.pdf")


def _run(*arguments: object) -> Run:
    done = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, [str(argument) for argument in arguments])
    return Run(done.exit_code, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both documents in two versions, the second with another sentence in each section."""
    work = tmp_path_factory.mktemp("titles")
    folder = work / "documents"
    folder.mkdir()
    for note in ("First year.", "Second year."):
        _write_documents(folder, note)
        assert _run("build", folder, "--index", work / "index", "--model", "fake", "--no-dagster", "-q").code == 0
    return work / "index"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch, run: Runner) -> Runner:
    """Commands on a terminal wide enough that no title has to be wrapped."""
    monkeypatch.setenv("COLUMNS", "200")
    return run


def _titles_of(doc_id: str) -> list[str]:
    return [title if doc_id.endswith(".md") else f"{title} ✓" for title in TITLES.values()]


def _strings(data: Any) -> Iterator[str]:
    """Every string in parsed JSON, keys too."""
    pending = [data]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item


def _check_inert(*texts: str) -> None:
    for text in texts:
        assert not CONTROLS.search(text), repr(text)


def test_made_titles_hold_what_they_are_to_test(index: Path) -> None:
    written = "".join(TITLES)
    assert {"\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\u200f", "\u200b", "\ufeff"} <= set(written)
    assert {unicodedata.bidirectional(character) for character in written} >= {"AL", "R", "L", "RLO", "LRI"}
    with pymupdf.open(index.parent / "documents" / "titles.pdf") as document:
        raw = "".join(document.xref_object(number) for number in range(1, document.xref_length()))
    assert "202E" in raw.upper()


@pytest.mark.parametrize("doc_id", DOCUMENTS)
@pytest.mark.parametrize("form", ["text", "html"])
def test_tree_shows_titles_whole_and_on_one_line(wide: Runner, index: Path, doc_id: str, form: str) -> None:
    done = wide("tree", doc_id, "--format", form, "--index", index)
    _check_inert(done.out, done.err)
    lines = done.out.splitlines()
    assert [title for title in _titles_of(doc_id) if not any(title in line for line in lines)] == []


@pytest.mark.parametrize("doc_id", DOCUMENTS)
@pytest.mark.parametrize("form", ["json", "pageindex"])
def test_tree_data_holds_titles_whole_and_on_one_line(wide: Runner, index: Path, doc_id: str, form: str) -> None:
    done = wide("tree", doc_id, "--format", form, "--index", index)
    _check_inert(done.out)
    strings = set(_strings(done.json))
    _check_inert(*strings)
    assert not set(_titles_of(doc_id)) - strings


@pytest.mark.parametrize("doc_id", DOCUMENTS)
def test_stored_and_exported_trees_hold_titles_clean(wide: Runner, index: Path, tmp_path: Path, doc_id: str) -> None:
    bundle = tmp_path / "all.pil"
    assert wide("export", bundle, "--index", index).code == 0
    stored = [path.read_text(encoding="utf-8") for path in index.rglob("tree.json")]
    exported = list(_read_members(bundle, "tree.json"))
    assert len(exported) == len(DOCUMENTS)
    assert set(exported) <= set(stored)
    for text in stored:
        _check_inert(text, *_strings(json.loads(text)))
    titles = {string for text in exported for string in _strings(json.loads(text))}
    assert not set(_titles_of(doc_id)) - titles


def _read_members(bundle: Path, name: str) -> Iterator[str]:
    with tarfile.open(bundle) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith(name) else None
            if stream is not None:
                yield stream.read().decode()


@pytest.mark.parametrize("doc_id", DOCUMENTS)
@pytest.mark.parametrize("options", [(), ("--text",), ("--markdown", "--text"), ("--json",)], ids=" ".join)
def test_diff_shows_titles_clean(wide: Runner, index: Path, doc_id: str, options: tuple[str, ...]) -> None:
    done = wide("diff", doc_id, *options, "--index", index)
    assert done.code == 0
    _check_inert(done.out, done.err)
    if "--json" in options:
        _check_inert(*_strings(done.json))
    shown = re.sub(
        r"\\(?=[\[\]_*])", "", json.dumps(done.json, ensure_ascii=False) if "--json" in options else done.out
    )
    assert [title for title in _titles_of(doc_id) if title not in shown] == []


@pytest.mark.parametrize("doc_id", DOCUMENTS)
def test_history_and_status_are_clean(wide: Runner, index: Path, doc_id: str) -> None:
    for command in (("history", doc_id), ("history", doc_id, "--json"), ("status",), ("status", "--json")):
        done = wide(*command, "--index", index)
        assert done.code == 0
        _check_inert(done.out, done.err)
        if "--json" in command:
            _check_inert(*_strings(done.json))


@pytest.mark.parametrize(
    "question", ["港の規則と料金", "Gebühren Größe", "قواعد الميناء", "כללי הנמל", "red light fdp bell"]
)
def test_answers_and_citations_are_clean_and_name_the_sections(wide: Runner, index: Path, question: str) -> None:
    expected = [title for title in TITLES.values() if set(question.casefold().split()) & set(title.casefold().split())]
    for command in ("retrieve", "ask"):
        text = wide(command, question, "--model", "fake", "--index", index)
        data = wide(command, question, "--model", "fake", "--json", "--index", index)
        assert (text.code, data.code) == (0, 0)
        strings = list(_strings(data.json))
        _check_inert(text.out, text.err, data.out, *strings)
        assert not [string for string in strings if "Rule" not in string and "\n" in string]
        if command == "retrieve":
            assert any(title in string for title in expected for string in strings)


@pytest.mark.parametrize("doc_id", DOCUMENTS)
def test_dagster_metadata_shows_titles_clean(index: Path, doc_id: str) -> None:
    store = IndexStore(index, "default", read_settings().store)
    versions = [store.open_version(make_doc_key(doc_id), name) for name in ("v000001", "v000002")]
    tree = tree_markdown(versions[-1].tree())
    changes = str(version_diff(store, versions[0], versions[-1]).value)
    _check_inert(tree, changes)
    assert len(tree.splitlines()) == len(versions[-1].tree().nodes) - _introductions(versions[-1].tree())
    plain = re.sub(r"\\(.)", r"\1", tree)
    assert [title for title in _titles_of(doc_id) if title not in plain] == []


def _introductions(tree: Any) -> int:
    return sum(node.kind.value == "introduction" for node in tree.walk())
