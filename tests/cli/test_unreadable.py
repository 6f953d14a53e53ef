"""Documents that cannot be read: told at every build, read in vain once, no change to anybody who only checks."""

from pathlib import Path

import pytest

from pageindex_local.cli.build import WOULD_CHANGE
from pageindex_local.errors import SourceError
from tests.cli.conftest import GUIDE, Runner
from tests.unit.parsing.pdfs import new_document, save, write

BAD = SourceError.exit_code


@pytest.fixture
def scan(folder: Path) -> Path:
    """Two documents and a PDF of one page without text."""
    return save(new_document(1), folder, "scan.pdf")


@pytest.mark.usefixtures("scan")
def test_check_after_a_build_that_could_not_read_exits_as_the_build(build: Runner) -> None:
    assert build("--check").code == WOULD_CHANGE
    assert build().code == BAD

    checked = build("--check")
    assert checked.code == BAD
    assert checked.out == "0 documents would change, 2 unchanged, 1 cannot be read\n"
    assert "scan.pdf: could not be read before, and has not changed since" in checked.err
    record = build("--check", "--json").json
    assert not record["would_change"]
    planned = {entry["doc_id"]: entry for entry in record["documents"]}["scan.pdf"]
    assert (planned["action"], planned["error"]["kind"]) == ("failed", "NoTextError")


@pytest.mark.usefixtures("scan")
def test_build_again_tells_the_document_without_reading_it(build: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build("--json").json["documents"]
    monkeypatch.setattr("pageindex_local.build.parse_source", None)
    again = build("--json")
    assert again.code == BAD
    before, after = (
        {entry["doc_id"]: entry["error"] for entry in entries} for entries in (first, again.json["documents"])
    )
    assert before == after
    assert before["scan.pdf"]["kind"] == "NoTextError"


def test_document_that_can_be_read_at_last_is_built(build: Runner, folder: Path, scan: Path) -> None:
    build()
    pdf = new_document(1)
    write(pdf[0], 72, 100, "The lock opens at noon.")
    save(pdf, folder, scan.name)
    assert build("--check").code == WOULD_CHANGE
    assert build().code == 0
    assert build("--check").code == 0


@pytest.mark.usefixtures("scan")
def test_other_settings_and_force_try_again(build: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build()
    config = tmp_path / "config.toml"
    config.write_text("[parse]\nmax_pages = 19\n")
    assert build("--check", "--config", config).code == WOULD_CHANGE
    assert build("--check", "--force").code == WOULD_CHANGE


def test_earlier_version_stays_and_the_change_is_no_news(build: Runner, folder: Path) -> None:
    build()
    (folder / "guide.md").write_text(" \n", encoding="utf-8")
    assert build("--check").code == WOULD_CHANGE
    assert build("--json").json["release"] == "000001"
    assert build("--check").code == BAD
    (folder / "guide.md").write_text(GUIDE, encoding="utf-8")
    assert build("--check").code == 0
    assert build().code == 0


def test_change_beside_it_still_exits_10(build: Runner, folder: Path, scan: Path) -> None:
    build()
    (folder / "guide.md").write_text(GUIDE.replace("nine crowns", "ten crowns"), encoding="utf-8")
    assert build("--check").code == WOULD_CHANGE
    scan.unlink()
    assert build().code == 0


def test_encrypted_document_is_tried_again_where_a_password_is_given(
    build: Runner, folder: Path, tmp_path: Path
) -> None:
    pdf = new_document(1)
    write(pdf[0], 72, 100, "The lock opens at noon.")
    save(pdf, folder, "locked.pdf", encryption=5, user_pw="tide", owner_pw="tide")
    assert build().code == BAD
    assert build("--check").code == BAD

    passwords = tmp_path / "passwords"
    passwords.write_text("tide\n")
    assert build("--check", "--password-file", passwords).code == WOULD_CHANGE
    assert build("--password-file", passwords).code == 0


def test_limit_of_the_moment_is_no_change_but_tried_again_by_a_build(
    build: Runner, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[parse]\nmax_characters = 600\n")
    assert build("--config", config).code == BAD  # the guide has more, the crane notes have fewer
    assert build("--check", "--config", config).code == BAD
    tried = []

    def parse(source: object, *_: object, **__: object) -> None:
        tried.append(source)
        raise SourceError("was asked for", subject="guide.md")

    monkeypatch.setattr("pageindex_local.build.parse_source", parse)
    build("--config", config)
    assert len(tried) == 1


def test_renamed_document_that_cannot_be_read_stays_under_its_old_name(
    build: Runner, folder: Path, tmp_path: Path
) -> None:
    build()
    config = tmp_path / "config.toml"
    config.write_text("[parse]\nmax_characters = 600\n")  # the guide has more
    (folder / "guide.md").rename(folder / "manual.md")
    for _ in range(2):
        built = build("--config", config, "--json")
        assert built.code == BAD
        documents = {entry["doc_id"]: entry for entry in built.json["documents"]}
        assert not documents["guide.md"]["changed"]
        assert documents["guide.md"]["nodes"] > 0
    checked = build("--check", "--config", config)
    assert checked.code == BAD
    assert "guide.md: stays until manual.md, as it is called now, can be built" in checked.err
    renamed = {entry["doc_id"]: entry["renamed_from"] for entry in build("--json").json["documents"]}
    assert renamed["manual.md"] == "guide.md"


def test_crash_of_the_parser_is_no_change_but_tried_again_by_a_build(
    build: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the installation that is broken, and be mended before the next build."""
    pdf = new_document(1)
    write(pdf[0], 72, 100, "The lock opens at noon.")
    save(pdf, folder, "lock.pdf")
    with monkeypatch.context() as broken:
        broken.setattr(
            "pageindex_local.parsing.parser_process._bootstrap", lambda: "raise ImportError('no PDF library here')"
        )
        assert build().code == BAD
        assert build("--check").code == BAD
    assert build().code == 0


def test_equal_bytes_as_markdown_and_as_text_are_both_remembered(build: Runner, folder: Path) -> None:
    for name in ("blank.md", "blank.txt"):
        (folder / name).write_text(" \n", encoding="utf-8")
    for _ in range(2):
        assert build().code == BAD
        assert build("--check").code == BAD


@pytest.mark.usefixtures("scan")
@pytest.mark.parametrize("damage", [b"", b"{", b'{"format_version": 1, "documents": {"x": 3}}'])
def test_memory_that_is_damaged_or_gone_only_costs_another_try(build: Runner, index: Path, damage: bytes) -> None:
    build()
    memory = index / "default" / "work" / "unreadable.json"
    memory.write_bytes(damage)
    assert build("--check").code == WOULD_CHANGE
    assert build().code == BAD
    assert build("--check").code == BAD
    memory.unlink()
    assert build().code == BAD
    assert memory.exists()


def test_file_that_may_not_be_opened_is_not_remembered(build: Runner, folder: Path, index: Path) -> None:
    (folder / "empty.md").write_bytes(b"")  # told by the plan itself, at no cost
    assert build().code == BAD
    assert build("--check").code == BAD
    assert not (index / "default" / "work" / "unreadable.json").exists()
