"""Lines of pages whose layout the test draws itself."""

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from pageindex_local.parsing.pdf import parse_pdf
from pageindex_local.records import Line
from tests.unit.parsing.pdfs import new_document, parse_settings, save, source_of, texts, write

LEFT = "left column words that fill the line well"
RIGHT = "right column words that fill it too, yes"


def _lines(document: Any, folder: Path) -> tuple[Line, ...]:
    return parse_pdf(source_of(save(document, folder)), parse_settings()).pages[0].lines


def test_parse_number_and_title_with_a_wide_gap_gives_one_line(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "3.2", 14, "hebo")
    write(document[0], 130, 100, "Scope and purpose", 14, "hebo")
    write(document[0], 72, 130, "Body text of the section.")
    first, second = _lines(document, tmp_path)
    assert (first.text, first.bold, first.size, first.cells) == ("3.2 Scope and purpose", True, 14.0, 2)
    assert (second.text, second.bold, second.size, second.cells) == ("Body text of the section.", False, 11.0, 1)
    assert first.block != second.block


def test_parse_contents_entry_with_leader_gives_title_and_page_in_one_line(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "Introduction")
    write(document[0], 160, 100, ". . . . . . . . . . . . . . . . . .")
    write(document[0], 500, 100, "12")
    (line,) = _lines(document, tmp_path)
    assert line.text == "Introduction . . . . . . . . . . . . . . . . . . 12"


def test_parse_wrapped_title_gives_lines_of_one_block_and_style(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "A title that is so long that it", 18, "hebo")
    write(document[0], 72, 122, "wraps onto a second line", 18, "hebo")
    write(document[0], 72, 150, "The text begins here.")
    title, rest, body = _lines(document, tmp_path)
    assert (title.block, title.size, title.bold) == (rest.block, rest.size, rest.bold)
    assert body.block != rest.block


@pytest.mark.parametrize("row_by_row", [False, True])
def test_parse_two_columns_reads_the_left_before_the_right(tmp_path: Path, row_by_row: bool) -> None:
    document = new_document()
    page = document[0]
    write(page, 72, 60, "A title over both columns that is wide enough to cross the gap", 14, "hebo")
    rows = [(72, LEFT), (310, RIGHT)]
    if row_by_row:
        for row in range(12):
            for x, words in rows:
                write(page, x, 100 + 14 * row, f"{words} {row}")
    else:
        for x, words in rows:
            for row in range(12):
                write(page, x, 100 + 14 * row, f"{words} {row}")
    expected = [f"{words} {row}" for _, words in rows for row in range(12)]
    assert [line.text for line in _lines(document, tmp_path)][1:] == expected


def test_parse_two_columns_between_wide_lines_reads_band_by_band(tmp_path: Path) -> None:
    document = new_document()
    page = document[0]
    for start in (100, 400):
        write(page, 72, start - 30, f"Band {start}: one line across the whole width of the page, over both columns")
        for x, words in ((72, LEFT), (310, RIGHT)):
            for row in range(6):
                write(page, x, start + 14 * row, f"{words} {start + row}")
    starts = [line.text.split()[0] for line in _lines(document, tmp_path)]
    assert starts == ["Band", *["left"] * 6, *["right"] * 6, "Band", *["left"] * 6, *["right"] * 6]


def test_parse_table_reads_row_by_row(tmp_path: Path) -> None:
    document = new_document()
    for row in range(10):
        write(document[0], 72, 100 + 14 * row, f"Revenue of division {row}")
        write(document[0], 400, 100 + 14 * row, f"{row},000")
        write(document[0], 480, 100 + 14 * row, f"{row},500")
    lines = _lines(document, tmp_path)
    assert [line.text for line in lines] == [f"Revenue of division {row} {row},000 {row},500" for row in range(10)]
    assert {line.cells for line in lines} == {3}


def test_parse_heading_written_after_the_text_comes_before_it(tmp_path: Path) -> None:
    document = new_document()
    for row in range(8):
        write(document[0], 72, 120 + 14 * row, f"Text line {row} of the section below the heading.")
    write(document[0], 72, 90, "The heading", 16, "hebo")
    assert _lines(document, tmp_path)[0].text == "The heading"


def test_parse_run_in_heading_says_where_it_ends(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "Scope.", font="hebo")
    write(document[0], 72 + pymupdf.get_text_length("Scope. ", "hebo", 11), 100, "This part says what is covered here.")
    (line,) = _lines(document, tmp_path)
    assert line.text[: line.lead] == "Scope."
    assert not line.bold


def test_parse_superscript_mark_keeps_the_size_of_the_text(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "Accrued rebates", 12)
    end = 72 + pymupdf.get_text_length("Accrued rebates", "helv", 12)
    for row in range(3):
        write(document[0], 72, 140 + 15 * row, "Other lines of the table stand below.", 12)
    write(document[0], end, 95, "(1)", 6)
    first = _lines(document, tmp_path)[0]
    assert (first.text, first.size) == ("Accrued rebates(1)", 12.0)


def test_parse_text_drawn_twice_for_weight_gives_it_once(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "Shadowed title", 20)
    write(document[0], 73.5, 101, "Shadowed title", 20)
    assert [line.text for line in _lines(document, tmp_path)] == ["Shadowed title"]


def test_parse_italic_and_bold_fonts_are_told_apart(tmp_path: Path) -> None:
    document = new_document()
    for number, font in enumerate(("helv", "hebo", "heit", "hebi")):
        write(document[0], 72, 100 + 40 * number, f"Words in {font}", font=font)
    assert [(line.bold, line.italic) for line in _lines(document, tmp_path)] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]


def test_parse_ligatures_gives_plain_letters(tmp_path: Path) -> None:
    font = pymupdf.Font("cjk")
    if not font.has_glyph(0xFB01):
        pytest.skip("no font with a ligature glyph comes with this PyMuPDF")
    document = new_document()
    writer = pymupdf.TextWriter(document[0].rect)
    writer.append((72, 100), "of\ufb01ce and \ufb02oor", font=font, fontsize=12)
    writer.write_text(document[0])
    assert [line.text for line in _lines(document, tmp_path)] == ["office and floor"]


def test_parse_text_outside_the_page_or_too_small_to_read_leaves_it_out(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "visible")
    write(document[0], 72, 300, "hidden by size", 0.5)
    write(document[0], 5_000, 100, "hidden by place")
    assert [line.text for line in _lines(document, tmp_path)] == ["visible"]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_parse_rotated_page_gives_the_same_lines_and_displayed_boxes(tmp_path: Path, rotation: int) -> None:
    document = new_document()
    page = document[0]
    page.set_rotation(rotation)
    for row, words in enumerate(("First line of the page", "Second line", "Third line")):
        point = pymupdf.Point(72, 100 + 30 * row) * page.derotation_matrix
        page.insert_text(point, words, fontsize=12, rotate=rotation)
    parsed = parse_pdf(source_of(save(document, tmp_path)), parse_settings())
    assert texts(parsed) == ["First line of the page", "Second line", "Third line"]
    for row, line in enumerate(parsed.pages[0].lines):
        x0, y0, x1, y1 = line.box
        assert x0 == pytest.approx(72, abs=2)
        assert y0 < 100 + 30 * row < y1
        assert x1 - x0 > y1 - y0
    upright = rotation in (0, 180)
    assert (parsed.pages[0].width < parsed.pages[0].height) is upright


def test_parse_landscape_table_on_an_upright_page_reads_along_its_text(tmp_path: Path) -> None:
    document = new_document()
    for row in range(3):
        document[0].insert_text((100 + 30 * row, 700), f"Row {row} of the turned table", fontsize=11, rotate=90)
    assert [line.text for line in _lines(document, tmp_path)] == [f"Row {row} of the turned table" for row in range(3)]
