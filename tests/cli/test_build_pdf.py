"""`build` over PDFs: one parser child for a run, and passwords that are used and never kept."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pageindex_local.parsing import parser_process
from tests.cli.conftest import Runner
from tests.unit.parsing.pdfs import new_document, save, write

PASSWORD = "open-sesame-4711"


def _write_pdf(folder: Path, name: str, password: str = "") -> None:
    import pymupdf

    document = new_document(2)
    for number, page in enumerate(document, 1):
        write(page, 72, 100, f"{number} Chapter of {name}", 16, "hebo")
        write(page, 72, 130, f"The harbour of {name} is closed on day {number}.")
    locked = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": password, "owner_pw": "o"} if password else {}
    save(document, folder, name, **locked)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    root.mkdir()
    return root


@pytest.fixture
def password_file(tmp_path: Path) -> Callable[[str], Path]:
    def write_lines(text: str) -> Path:
        file = tmp_path / "passwords.txt"
        file.write_text(text, encoding="utf-8")
        return file

    return write_lines


@pytest.mark.parametrize("options", [["--no-dagster"], []], ids=["library", "dagster"])
def test_build_several_pdfs_starts_one_parser(
    run: Runner, folder: Path, index: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    for number in range(4):
        _write_pdf(folder, f"{number}.pdf")
    started: list[Any] = []

    class Counted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            if "parsing.worker" in str(arguments):
                started.append(arguments)
            super().__init__(*arguments, **named)

    monkeypatch.setattr(parser_process.subprocess, "Popen", Counted)  # type: ignore[attr-defined]

    done = run("build", folder, "--index", index, "--model", "fake", "--json", *options)

    assert done.code == 0
    assert [document["pages"] for document in done.json["documents"]] == [2, 2, 2, 2]
    assert len(started) == 1


def test_build_encrypted_pdf_without_password_says_which_option_gives_it(
    run: Runner, folder: Path, index: Path
) -> None:
    _write_pdf(folder, "locked.pdf", PASSWORD)
    _write_pdf(folder, "open.pdf")

    done = run("build", folder, "--index", index, "--model", "fake", "--no-dagster")

    assert done.code == 3
    assert "locked.pdf" in done.err
    assert "needs a password" in done.err
    assert "--password-file" in done.err


def test_build_encrypted_pdf_with_its_password_keeps_it_nowhere(
    run: Runner, folder: Path, index: Path, password_file: Callable[[str], Path]
) -> None:
    _write_pdf(folder, "locked.pdf", PASSWORD)
    _write_pdf(folder, "other.pdf", "another one")
    _write_pdf(folder, "open.pdf")
    passwords = password_file(f"wrong\n{PASSWORD}\nanother one\n")

    done = run(
        "build", folder, "--index", index, "--model", "fake", "--no-dagster", "--json", "--password-file", passwords
    )

    assert done.code == 0
    assert {document["doc_id"]: document["pages"] for document in done.json["documents"]} == {
        "locked.pdf": 2,
        "open.pdf": 2,
        "other.pdf": 2,
    }
    assert PASSWORD not in done.out + done.err
    kept = [path for path in index.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert kept == []
    again = run("build", folder, "--index", index, "--model", "fake", "--no-dagster", "--json")
    assert [document["changed"] for document in again.json["documents"]] == [False, False, False]


def test_build_encrypted_pdf_with_a_wrong_password_says_so_without_repeating_it(
    run: Runner, folder: Path, index: Path, password_file: Callable[[str], Path]
) -> None:
    _write_pdf(folder, "locked.pdf", PASSWORD)
    wrong = password_file("guessed-wrong-99\n")

    done = run("build", folder, "--index", index, "--model", "fake", "--no-dagster", "--password-file", wrong)

    assert done.code == 3
    assert "password is wrong" in done.err
    assert "guessed-wrong-99" not in done.out + done.err


@pytest.mark.parametrize(("content", "problem"), [(None, "cannot be read"), ("\n\n", "holds no password")])
def test_build_with_an_unusable_password_file_exits_2(
    run: Runner, folder: Path, index: Path, tmp_path: Path, content: str | None, problem: str
) -> None:
    _write_pdf(folder, "open.pdf")
    file = tmp_path / "none.txt"
    if content is not None:
        file.write_text(content, encoding="utf-8")

    done = run("build", folder, "--index", index, "--no-dagster", "--password-file", file)

    assert done.code == 2
    assert problem in done.err
    assert not index.exists()
