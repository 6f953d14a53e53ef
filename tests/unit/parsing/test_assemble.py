from collections.abc import Iterable
from pathlib import Path

import pytest

from pageindex_local.errors import DamagedSourceError
from pageindex_local.parsing.assemble import assemble_document
from pageindex_local.parsing.page_records import End, Head, PageRecord
from pageindex_local.records import Line, MediaType, ParsedDocument, Source

SOURCE = Source("a.pdf", "a-0000000000", str(Path("a.pdf")), "0" * 64, 1, MediaType.PDF)


def _page(number: int, *, garbage: int = 0, error: str = "") -> PageRecord:
    lines = () if error else (Line(f"Page {number} text"),)
    return PageRecord(number, str(number), lines, 595.0, 842.0, 100, garbage, error)


def _assemble(pages: Iterable[PageRecord], warnings: tuple[str, ...] = ()) -> ParsedDocument:
    pages = list(pages)
    return assemble_document(SOURCE, [Head(len(pages), {}), *pages, End((), warnings)])


def test_assemble_unreadable_page_keeps_the_others_and_says_why() -> None:
    document = _assemble([_page(1), _page(2, error="cycle in page tree"), _page(3)])
    assert [page.text for page in document.pages] == ["Page 1 text", "", "Page 3 text"]
    assert [page.span for page in document.pages] == [(0, 1), (1, 2), (2, 3)]
    assert document.warnings == ("1 of 3 pages cannot be read: page 2 (cycle in page tree).",)


def test_assemble_only_unreadable_pages_is_damaged() -> None:
    with pytest.raises(DamagedSourceError, match="none of its 2 pages can be read: page 1 \\(broken\\)"):
        _assemble([_page(1, error="broken"), _page(2, error="broken too")])


def test_assemble_garbled_pages_warns_with_their_numbers() -> None:
    document = _assemble([_page(1), _page(2, garbage=60), _page(3, garbage=60), _page(4, garbage=10)])
    (warning,) = document.warnings
    assert "2 of 4 pages is garbled (pages 2-3)" in warning


def test_assemble_without_an_end_is_damaged() -> None:
    with pytest.raises(DamagedSourceError, match="in part"):
        assemble_document(SOURCE, [Head(2, {}), _page(1)])


def test_assemble_keeps_the_readers_warnings_first() -> None:
    document = _assemble([_page(1), _page(2, garbage=100)], ("The file was repaired.",))
    assert document.warnings[0] == "The file was repaired."
