"""The parser child: same records as in process, and what happens when it dies, hangs or grows."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pageindex_local.errors import DamagedSourceError, EmptySourceError, EncryptedSourceError, SourceLimitError
from pageindex_local.parsing import parse_source, parser_process
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.pdf import parse_pdf
from pageindex_local.parsing.wire import Request
from tests.unit.parsing.pdfs import new_document, parse_settings, save, source_of, texts, write

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def text_pdf(tmp_path: Path) -> Path:
    document = new_document(12)
    for number, page in enumerate(document, 1):
        write(page, 72, 100, f"Überschrift {number}", 16, "hebo")
        write(page, 72, 130, "Some text below it.")
    document.set_toc([[1, f"Überschrift {number}", number] for number in range(1, 13)])
    return save(document, tmp_path)


@pytest.fixture
def parser() -> Iterator[ParserProcess]:
    with ParserProcess() as process:
        yield process


def _child_pid(parser: ParserProcess) -> int:
    assert parser._child is not None
    return parser._child.pid


def _misbehave(parser: ParserProcess, program: str) -> None:
    """Let the next child run another program in place of the parser."""
    parser.close()
    parser._program = f"import sys, os, time, signal; sys.stdin.readline(); {program}"


def test_parse_in_the_child_gives_the_same_document_as_in_process(text_pdf: Path, parser: ParserProcess) -> None:
    source = source_of(text_pdf)
    assert parser.parse(source, parse_settings()) == parse_pdf(source, parse_settings())
    assert parse_source(source, parse_settings(), parser=parser) == parse_pdf(source, parse_settings())


def test_parse_source_without_a_parser_starts_one_of_its_own(text_pdf: Path) -> None:
    assert texts(parse_source(source_of(text_pdf), parse_settings()), 3)[0] == "Überschrift 3"


def test_parse_several_documents_uses_one_child_also_after_errors(
    text_pdf: Path, parser: ParserProcess, tmp_path: Path
) -> None:
    parser.parse(source_of(text_pdf), parse_settings())
    pid = _child_pid(parser)
    empty = tmp_path / "empty.pdf"
    empty.touch()
    garbage = tmp_path / "garbage.pdf"
    garbage.write_bytes(b"%PDF-1.4 and nothing more")
    with pytest.raises(EmptySourceError):
        parser.parse(source_of(empty), parse_settings())
    with pytest.raises((DamagedSourceError, EmptySourceError)):
        parser.parse(source_of(garbage), parse_settings())
    assert len(parser.parse(source_of(text_pdf), parse_settings()).pages) == 12
    assert _child_pid(parser) == pid


def test_parse_with_a_password_hands_it_to_the_child(tmp_path: Path, parser: ParserProcess) -> None:
    import pymupdf

    document = new_document()
    write(document[0], 72, 100, "Secret text")
    path = save(document, tmp_path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="gehöheim", owner_pw="o")
    with pytest.raises(EncryptedSourceError, match="needs a password"):
        parser.parse(source_of(path), parse_settings())
    assert texts(parser.parse(source_of(path), parse_settings(), password="gehöheim")) == ["Secret text"]


def test_parse_tries_the_passwords_of_a_run_in_turn(tmp_path: Path) -> None:
    import pymupdf

    document = new_document()
    write(document[0], 72, 100, "Secret text")
    path = save(document, tmp_path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="second", owner_pw="o")
    with ParserProcess(["first", "second", "third"]) as parser:
        assert texts(parser.parse(source_of(path), parse_settings())) == ["Secret text"]
        with pytest.raises(EncryptedSourceError, match="password is wrong"):
            parser.parse(source_of(path), parse_settings(), password="fourth")
    assert "second" not in repr(Request(source_of(path), parse_settings(), "second"))


@pytest.mark.parametrize(
    ("limit", "value"),
    [("_DOCUMENTS_PER_CHILD", 2), ("_PAGES_PER_CHILD", 24), ("_RESIDENT_BYTES_PER_CHILD", 1)],
)
def test_parse_after_a_limit_goes_on_in_a_fresh_child(
    text_pdf: Path, parser: ParserProcess, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(parser_process, limit, value)
    children = []
    for _ in range(3):
        assert len(parser.parse(source_of(text_pdf), parse_settings()).pages) == 12
        children.append(_child_pid(parser))
    assert len(set(children)) == (3 if limit == "_RESIDENT_BYTES_PER_CHILD" else 2)


def test_parse_with_a_crashing_child_is_damaged_and_the_next_document_is_parsed(
    text_pdf: Path, parser: ParserProcess
) -> None:
    source = source_of(text_pdf)
    program = parser._program
    _misbehave(parser, "os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(DamagedSourceError, match=r"crashed before the first page \(SIGSEGV\)"):
        parser.parse(source, parse_settings())
    parser._program = program
    assert len(parser.parse(source, parse_settings()).pages) == 12


def test_parse_with_a_child_that_dies_halfway_names_the_page(text_pdf: Path, parser: ParserProcess) -> None:
    page = '["P",1,"1",[],595,842,0,0,""]'
    head = '["H",3,{}]'
    _misbehave(parser, f"print({head!r}); print({page!r}, flush=True); os.abort()")
    with pytest.raises(DamagedSourceError, match=r"crashed after page 1 \(SIGABRT\)"):
        parser.parse(source_of(text_pdf), parse_settings())


def test_parse_with_a_hanging_child_ends_at_the_time_limit(text_pdf: Path, parser: ParserProcess) -> None:
    _misbehave(parser, "time.sleep(60)")
    with pytest.raises(SourceLimitError, match=r"timeout_s = 0.5 seconds \(stopped before the first page\)"):
        parser.parse(source_of(text_pdf), parse_settings(timeout_s=0.5))
    assert parser._child is None


def test_parse_with_a_child_that_fails_to_start_shows_its_last_words(text_pdf: Path, parser: ParserProcess) -> None:
    _misbehave(parser, "raise ImportError('no PDF library here')")
    with pytest.raises(DamagedSourceError, match=r"code 1 .*no PDF library here"):
        parser.parse(source_of(text_pdf), parse_settings())


def test_parse_with_a_child_killed_from_outside_is_a_limit(text_pdf: Path, parser: ParserProcess) -> None:
    _misbehave(parser, "os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(SourceLimitError, match="killed"):
        parser.parse(source_of(text_pdf), parse_settings())


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="address space cannot be limited on this system")
def test_limited_child_cannot_take_more_memory_than_allowed() -> None:
    program = (
        "from pageindex_local.parsing.worker import limit_resources\n"
        "limit_resources(200_000_000, 60)\n"
        "bytearray(100_000_000)\n"
        "try:\n"
        "    bytearray(400_000_000)\n"
        "except MemoryError:\n"
        "    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "refused\n"


def test_parse_of_a_decompression_bomb_stays_within_little_memory(tmp_path: Path, parser: ParserProcess) -> None:
    document = new_document()
    write(document[0], 72, 100, "Text")
    # A content stream of 300 MB of blanks, compressed to a few hundred kilobytes.
    xref = document[0].get_contents()[0]
    document.update_stream(xref, document.xref_stream(xref) + b" " * 300_000_000)
    path = save(document, tmp_path, deflate=True)
    assert path.stat().st_size < 1_000_000
    parsed = parser.parse(source_of(path), parse_settings(memory_bytes=100_000_000))
    assert texts(parsed) == ["Text"]


def test_close_ends_the_child(text_pdf: Path) -> None:
    parser = ParserProcess()
    parser.parse(source_of(text_pdf), parse_settings())
    child = parser._child
    assert child is not None
    parser.close()
    assert child.poll() is not None
    parser.close()


def test_import_of_the_parsing_package_does_not_load_the_pdf_library() -> None:
    program = "import sys, pageindex_local.parsing; print('pymupdf' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
