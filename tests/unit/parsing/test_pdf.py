"""What a PDF file as a whole gives: errors, warnings, labels, metadata."""

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from pageindex_local.errors import (
    DamagedSourceError,
    EmptySourceError,
    EncryptedSourceError,
    NoTextError,
    SourceLimitError,
)
from pageindex_local.parsing.pdf import parse_pdf
from pageindex_local.records import OutlineEntry
from tests.unit.parsing.pdfs import new_document, parse_settings, save, source_of, texts, write


def _text_pdf(folder: Path, page_count: int = 3, **options: Any) -> Path:
    document = new_document(page_count)
    for number, page in enumerate(document, 1):
        write(page, 72, 100, f"Text of page {number}")
    return save(document, folder, **options)


def test_parse_pages_gives_continuous_line_numbers_and_sizes(tmp_path: Path) -> None:
    parsed = parse_pdf(source_of(_text_pdf(tmp_path)), parse_settings())
    assert [page.page_number for page in parsed.pages] == [1, 2, 3]
    assert [page.first_line for page in parsed.pages] == [0, 1, 2]
    assert {(page.width, page.height) for page in parsed.pages} == {(595.0, 842.0)}
    assert parsed.warnings == ()


def test_parse_page_labels_gives_printed_numbers(tmp_path: Path) -> None:
    document = new_document(4)
    for page in document:
        write(page, 72, 100, "Text")
    document.set_page_labels(
        [{"startpage": 0, "style": "r", "firstpagenum": 1}, {"startpage": 2, "style": "D", "firstpagenum": 1}]
    )
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    assert [page.label for page in parsed.pages] == ["i", "ii", "1", "2"]


def test_parse_metadata_gives_cleaned_values(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "Text")
    document.set_metadata({"title": "A\u202e title\n over lines", "author": ""})
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    assert parsed.metadata["title"] == "A title over lines"
    assert "author" not in parsed.metadata


def test_parse_encrypted_file_needs_the_right_password(tmp_path: Path) -> None:
    path = _text_pdf(tmp_path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open sesame", owner_pw="owner")
    with pytest.raises(EncryptedSourceError, match="needs a password"):
        parse_pdf(source_of(path), parse_settings())
    with pytest.raises(EncryptedSourceError, match="password is wrong"):
        parse_pdf(source_of(path), parse_settings(), password="guess")
    assert texts(parse_pdf(source_of(path), parse_settings(), password="open sesame")) == ["Text of page 1"]


def test_parse_copy_protected_file_is_refused_only_where_permissions_count(tmp_path: Path) -> None:
    path = _text_pdf(
        tmp_path, encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", permissions=pymupdf.PDF_PERM_PRINT
    )
    assert len(parse_pdf(source_of(path), parse_settings(respect_permissions=False)).pages) == 3
    with pytest.raises(EncryptedSourceError, match="forbids copying"):
        parse_pdf(source_of(path), parse_settings(respect_permissions=True))


def test_parse_empty_file_is_an_empty_source(tmp_path: Path) -> None:
    path = tmp_path / "empty.pdf"
    path.touch()
    with pytest.raises(EmptySourceError, match="no bytes"):
        parse_pdf(source_of(path), parse_settings())


def test_parse_garbage_is_damaged_and_names_no_path(tmp_path: Path) -> None:
    path = tmp_path / "garbage.pdf"
    path.write_bytes(b"%PDF-1.7\nnothing of the kind")
    with pytest.raises((DamagedSourceError, EmptySourceError)) as caught:
        parse_pdf(source_of(path), parse_settings())
    assert caught.value.subject == "garbage.pdf"
    assert caught.value.next_step
    assert str(tmp_path) not in str(caught.value)


def test_parse_truncated_file_warns_or_is_damaged(tmp_path: Path) -> None:
    whole = _text_pdf(tmp_path).read_bytes()
    path = tmp_path / "cut.pdf"
    path.write_bytes(whole[: len(whole) * 9 // 10])
    try:
        parsed = parse_pdf(source_of(path), parse_settings())
    except (DamagedSourceError, EmptySourceError):
        return
    assert any("repaired" in warning for warning in parsed.warnings)


def test_parse_pages_without_text_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(NoTextError, match="none of its 2 pages") as caught:
        parse_pdf(source_of(save(new_document(2), tmp_path)), parse_settings())
    assert "OCR" in caught.value.next_step


def test_parse_pages_without_text_but_with_outline_gives_a_place_for_each(tmp_path: Path) -> None:
    document = new_document(2)
    document.set_toc([[1, "First", 1], [1, "Second", 2]])
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    assert [entry.title for entry in parsed.outline] == ["First", "Second"]
    assert [page.span for page in parsed.pages] == [(0, 1), (1, 2)]
    assert any("only the outline" in warning for warning in parsed.warnings)


def test_parse_some_pages_without_text_warns_with_their_numbers(tmp_path: Path) -> None:
    document = new_document(6)
    for index in (0, 4):
        write(document[index], 72, 100, "Text")
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    assert any("4 of 6 pages have no text (pages 2-4, 6)" in warning for warning in parsed.warnings)


def test_parse_one_blank_page_of_many_is_no_warning(tmp_path: Path) -> None:
    document = new_document(10)
    for index in range(9):
        write(document[index], 72, 100, "Text")
    assert parse_pdf(source_of(save(document, tmp_path)), parse_settings()).warnings == ()


@pytest.mark.parametrize("limit", [{"max_pages": 2}, {"max_characters": 20}])
def test_parse_beyond_a_limit_names_the_setting(tmp_path: Path, limit: dict[str, int]) -> None:
    (name,) = limit
    with pytest.raises(SourceLimitError, match=name):
        parse_pdf(source_of(_text_pdf(tmp_path)), parse_settings(**limit))


def test_parse_outline_gives_levels_pages_and_tops_as_displayed(tmp_path: Path) -> None:
    document = new_document(3)
    for page in document:
        write(page, 72, 100, "Text")
    top = {"kind": pymupdf.LINK_GOTO, "to": pymupdf.Point(72, 90), "zoom": 0}
    document.set_toc([[1, "One", 1, dict(top, page=0)], [2, "One\u202e one", 2, dict(top, page=1)], [1, "Nowhere", -1]])
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    first, second, last = parsed.outline
    assert (first.level, first.title, first.page_number) == (1, "One", 1)
    assert (second.level, second.title, second.page_number) == (2, "One one", 2)
    assert first.top == pytest.approx(90, abs=1)
    assert second.top == pytest.approx(90, abs=1)
    assert last == OutlineEntry(1, "Nowhere", 0, None)
    assert any("1 of 3 outline entries" in warning for warning in parsed.warnings)


def test_parse_outline_with_a_cycle_gives_every_entry_once(tmp_path: Path) -> None:
    document = new_document(3)
    for page in document:
        write(page, 72, 100, "Text")
    document.set_toc([[1, "A", 1], [2, "B", 2], [1, "C", 3]])
    xrefs = {entry[1]: entry[3]["xref"] for entry in document.get_toc(simple=False)}
    document.xref_set_key(xrefs["C"], "Next", f"{xrefs['A']} 0 R")
    document.xref_set_key(xrefs["B"], "First", f"{xrefs['A']} 0 R")
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    assert [(entry.level, entry.title, entry.page_number) for entry in parsed.outline] == [
        (1, "A", 1),
        (2, "B", 2),
        (1, "C", 3),
    ]


def test_parse_outline_destinations_of_every_form_give_their_page(tmp_path: Path) -> None:
    document = new_document(3)
    for page in document:
        write(page, 72, 100, "Text")
    document.set_toc([[1, title, 1] for title in ("action", "name", "fit", "integer", "beyond", "missing name", "url")])
    pages = [document.page_xref(index) for index in range(3)]
    forms = {
        "action": ("A", f"<</S/GoTo/D[{pages[1]} 0 R/XYZ null 700 null]>>"),
        "name": ("Dest", "(here)"),
        "fit": ("Dest", f"[{pages[1]} 0 R/FitH 642]"),
        "integer": ("Dest", "[2/Fit]"),
        "beyond": ("Dest", "[99/Fit]"),
        "missing name": ("Dest", "(nowhere)"),
        "url": ("A", "<</S/URI/URI(http://localhost/)>>"),
    }
    for entry in document.get_toc(simple=False):
        key, value = forms[entry[1]]
        document.xref_set_key(entry[3]["xref"], "A", "null")
        document.xref_set_key(entry[3]["xref"], "Dest", "null")
        document.xref_set_key(entry[3]["xref"], key, value)
    document.xref_set_key(document.pdf_catalog(), "Names/Dests", f"<</Names[(here)[{pages[2]} 0 R/XYZ 0 742 0]]>>")
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    assert {entry.title: (entry.page_number, entry.top) for entry in parsed.outline} == {
        "action": (2, 142.0),
        "name": (3, 100.0),
        "fit": (2, 200.0),
        "integer": (3, None),
        "beyond": (0, None),
        "missing name": (0, None),
        "url": (0, None),
    }


def test_parse_file_that_changed_since_it_was_hashed_is_an_error(tmp_path: Path) -> None:
    source = source_of(_text_pdf(tmp_path))
    _text_pdf(tmp_path, 4)
    with pytest.raises(DamagedSourceError, match="changed"):
        parse_pdf(source, parse_settings())
