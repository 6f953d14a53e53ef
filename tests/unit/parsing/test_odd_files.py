"""Odd and hostile files, read as a build reads them: the right result or the right error, quickly and in little memory.

The expected values say what `odd.tsv` beside the files asks of parsing.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pageindex_local.errors import (
    DamagedSourceError,
    EmptySourceError,
    EncryptedSourceError,
    NoTextError,
    SourceError,
    UnsupportedSourceError,
)
from pageindex_local.headings.markdown import find_markdown_headings
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import LineRole, ParsedDocument
from tests.unit.parsing.pdfs import parse_settings

pytestmark = pytest.mark.data
LIMIT_S = 10.0
LIMIT_BYTES = 1_000_000_000

# Pages, entries of the outline and how many of them lead to a page; what a warning must say.
READABLE: dict[str, tuple[int, int, int, str]] = {
    "outlines-with-invalid-destinations.pdf": (4, 9, 3, "lead to no page"),
    "outline-without-title.pdf": (4, 8, 8, ""),
    "mistitled_outlines_example.pdf": (4, 27, 27, ""),
    "outlines_for_editor.pdf": (5, 12, 8, "None of the 5 pages has text"),
    "outline_goto_action.pdf": (2, 2, 2, "repaired"),
    "nested_outline.pdf": (9, 9, 9, ""),
    "issue14267.pdf": (1, 1, 1, ""),
    "file_pdfjs_test.pdf": (5, 17, 17, ""),
    "issue3214.pdf": (14, 5, 4, ""),
    "issue15367.pdf": (3, 4, 2, ""),
    "labelled_pages.pdf": (11, 11, 11, ""),
    "bad-PageLabels.pdf": (1, 0, 0, ""),
    "Pages-tree-refs.pdf": (2, 0, 0, "1 of 2 pages cannot be read"),
    "r6-empty-password.pdf": (1, 0, 0, ""),
    "TAMReview.pdf": (23, 1, 1, "garbled"),
    "Seige_of_Vicksburg_Sample_OCR.pdf": (6, 0, 0, ""),
    "multilang.pdf": (1, 0, 0, ""),
    "issue11656.pdf": (1, 0, 0, ""),
    "habibi-rotated.pdf": (4, 0, 0, ""),
    "rotation.pdf": (2, 0, 0, ""),
    "issue6387.pdf": (1, 0, 0, ""),
    "multicolumn.pdf": (3, 0, 0, ""),
    "bomb_giant.pdf": (1, 0, 0, ""),
    "syn-circular-next.pdf": (12, 4, 4, ""),
    "syn-depth-60.pdf": (60, 60, 60, ""),
    "syn-page-out-of-range.pdf": (8, 8, 5, "3 of 8 outline entries"),
    "syn-same-title-40.pdf": (40, 40, 40, ""),
    "syn-5000-pages.pdf": (5000, 0, 0, "4900 of 5000 pages have no text"),
    "syn-prompt-injection.pdf": (4, 0, 0, ""),
}
REFUSED: dict[str, type[SourceError] | tuple[type[SourceError], ...]] = {
    "poppler-85140-0.pdf": DamagedSourceError,
    "poppler-67295-0.pdf": DamagedSourceError,
    "REDHAT-1531897-0.pdf": EmptySourceError,
    "issue9418.pdf": EmptySourceError,
    "r6-user-password.pdf": EncryptedSourceError,
    "encrypted-file.pdf": EncryptedSourceError,
    "imagemagick-images.pdf": NoTextError,
    "syn-scan-policy.pdf": NoTextError,
    "syn-empty.pdf": EmptySourceError,
    "syn-not-a-pdf.pdf": UnsupportedSourceError,
    "syn-truncated.pdf": (DamagedSourceError, EmptySourceError),
}
TEXTS = {"syn-fences.md", "syn-no-headings.txt", "syn-utf16-crlf.md", "syn-one-line-900k.txt"}


@pytest.fixture(scope="module")
def parser() -> Iterator[ParserProcess]:
    with ParserProcess() as process:
        yield process


def _parse(shared_data: Path, name: str, parser: ParserProcess, password: str | None = None) -> ParsedDocument:
    settings = parse_settings(timeout_s=LIMIT_S, memory_bytes=LIMIT_BYTES)
    source = read_source(name, shared_data / "odd" / name, settings)
    return parse_source(source, settings, password=password, parser=parser)


def _texts(document: ParsedDocument) -> list[str]:
    return [page.text for page in document.pages]


def test_every_odd_file_is_expected_to_be_read_or_refused(shared_data: Path) -> None:
    files = {path.name for path in (shared_data / "odd").iterdir()} - {"odd.tsv"}
    assert files == {*READABLE, *REFUSED, *TEXTS}


@pytest.mark.parametrize("name", READABLE)
def test_parse_readable_odd_file_gives_its_pages_and_outline(
    shared_data: Path, parser: ParserProcess, name: str
) -> None:
    pages, entries, usable, warning = READABLE[name]
    begin = time.monotonic()
    document = _parse(shared_data, name, parser)
    assert time.monotonic() - begin < LIMIT_S
    assert len(document.pages) == pages
    assert len(document.outline) == entries
    assert sum(1 for entry in document.outline if entry.page_number) == usable
    assert all(0 <= entry.page_number <= pages and entry.title for entry in document.outline)
    assert any(warning in given for given in document.warnings) or not warning
    everything = "".join([*(entry.title for entry in document.outline), *(line.text for _, line in document.lines())])
    assert everything.isprintable() or not [char for char in everything if ord(char) < 32 or 127 <= ord(char) < 160]
    assert [page.page_number for page in document.pages] == list(range(1, pages + 1))


@pytest.mark.parametrize("name", REFUSED)
def test_parse_unreadable_odd_file_is_a_clear_error(shared_data: Path, parser: ParserProcess, name: str) -> None:
    begin = time.monotonic()
    with pytest.raises(REFUSED[name]) as caught:
        _parse(shared_data, name, parser)
    assert time.monotonic() - begin < LIMIT_S
    assert caught.value.subject == name
    assert caught.value.problem.endswith(".")
    assert caught.value.next_step


def test_parse_protected_odd_file_opens_with_its_password(shared_data: Path, parser: ParserProcess) -> None:
    document = _parse(shared_data, "r6-user-password.pdf", parser, password="asdfzxcv")
    assert any(line.text for _, line in document.lines())


def test_parse_rotated_arabic_gives_the_same_text_on_all_pages(shared_data: Path, parser: ParserProcess) -> None:
    pages = _texts(_parse(shared_data, "habibi-rotated.pdf", parser))
    assert len(set(pages)) == 1
    assert "habibi" in pages[0]
    assert "حَبيبي" in pages[0]


def test_parse_hebrew_keeps_words_in_logical_order_and_marks_at_their_end(
    shared_data: Path, parser: ParserProcess
) -> None:
    lines = _texts(_parse(shared_data, "issue11656.pdf", parser))[0].splitlines()
    assert lines[0] == "שלום עולם מה שלום כולם?"
    assert lines[2] == "כמו כל הילדים."


def test_parse_many_scripts_keeps_each(shared_data: Path, parser: ParserProcess) -> None:
    text = _texts(_parse(shared_data, "multilang.pdf", parser))[0]
    for first, last in (("a", "z"), ("а", "я"), ("一", "鿿"), ("\u0600", "\u06ff")):
        assert any(first <= character <= last for character in text)


def test_parse_two_column_article_reads_columns_one_after_the_other(shared_data: Path, parser: ParserProcess) -> None:
    page = _parse(shared_data, "multicolumn.pdf", parser).pages[0]
    body = [line for line in page.lines if line.role is LineRole.BODY and line.box[1] > 260]
    middle = page.width / 2
    sides = [line.box[0] > middle for line in body]
    assert sides == sorted(sides)
    assert sides.count(True) > 20


def test_parse_scanned_book_tags_its_running_heads(shared_data: Path, parser: ParserProcess) -> None:
    document = _parse(shared_data, "Seige_of_Vicksburg_Sample_OCR.pdf", parser)
    assert all(line.role is LineRole.BODY for _, line in document.lines() if len(line.text) > 80)


def test_parse_labelled_pages_gives_their_labels(shared_data: Path, parser: ParserProcess) -> None:
    labels = [page.label for page in _parse(shared_data, "labelled_pages.pdf", parser).pages]
    assert labels[:5] == ["i", "ii", "iii", "iv", "1"]


def test_parse_fenced_markdown_finds_the_written_headings(shared_data: Path, parser: ParserProcess) -> None:
    headings = find_markdown_headings(_parse(shared_data, "syn-fences.md", parser)).headings
    assert [heading.title for heading in headings] == ["Real 1", "Real 1.1", "Setext One", "Setext two", "Closed"]


def test_parse_utf16_markdown_is_decoded(shared_data: Path, parser: ParserProcess) -> None:
    headings = find_markdown_headings(_parse(shared_data, "syn-utf16-crlf.md", parser)).headings
    assert headings[0].title == "Überschrift"


@pytest.mark.parametrize("name", ["syn-no-headings.txt", "syn-one-line-900k.txt"])
def test_parse_text_without_structure_gives_bounded_lines(shared_data: Path, parser: ParserProcess, name: str) -> None:
    begin = time.monotonic()
    document = _parse(shared_data, name, parser)
    assert time.monotonic() - begin < LIMIT_S
    assert len(document.pages) > 1
    assert max(len(line.text) for _, line in document.lines()) <= 1_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell a process's memory")
def test_parse_many_pages_does_not_grow_the_child(shared_data: Path) -> None:
    peaks = []
    for name in ("syn-depth-60.pdf", "syn-5000-pages.pdf"):
        with ParserProcess() as process:
            _parse(shared_data, name, process)
            assert process._child is not None
            status = Path(f"/proc/{process._child.pid}/status").read_text(encoding="ascii")
            peaks.append(int(status.split("VmHWM:")[1].split()[0]) * 1024)
    assert peaks[1] < LIMIT_BYTES
    assert peaks[1] - peaks[0] < 40_000_000
