import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.errors import DamagedSourceError, EmptySourceError, SourceLimitError
from pageindex_local.parsing.text import LONGEST_LINE, _split_long, parse_text
from pageindex_local.records import MediaType, ParsedDocument
from tests.unit.parsing.pdfs import parse_settings, source_of


def _parse(
    folder: Path, data: str | bytes, media_type: MediaType = MediaType.TEXT, *, block_lines: int = 60
) -> ParsedDocument:
    path = folder / "made"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return parse_text(source_of(path, media_type), parse_settings(block_lines=block_lines))


def _lines(document: ParsedDocument) -> list[str]:
    return [line.text for _, line in document.lines()]


def test_parse_text_keeps_lines_blank_ones_and_indentation(tmp_path: Path) -> None:
    document = _parse(tmp_path, "first\n\n    indented\tx\nlast")
    assert _lines(document) == ["first", "", "    indented\tx", "last"]
    assert not document.has_pages


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_parse_text_with_any_line_end_gives_the_same_lines(tmp_path: Path, end: str) -> None:
    assert _lines(_parse(tmp_path, end.join(["a", "b", "", "c"]) + end)) == ["a", "b", "", "c"]


def test_parse_text_cuts_blocks_that_follow_each_other(tmp_path: Path) -> None:
    document = _parse(tmp_path, "\n".join(str(number) for number in range(25)), block_lines=10)
    assert [page.span for page in document.pages] == [(0, 10), (10, 20), (20, 25)]
    assert [page.page_number for page in document.pages] == [1, 2, 3]


def test_parse_text_ends_a_long_block_at_a_blank_line(tmp_path: Path) -> None:
    lines = ["word"] * 20
    lines[7] = ""
    assert _parse(tmp_path, "\n".join(lines), block_lines=10).pages[0].span == (0, 8)


def test_parse_markdown_starts_blocks_at_headings_with_text_before_them(tmp_path: Path) -> None:
    text = "# One\n\n## Two\n\ntext\n\n## Three\ntext\n```\n# no heading\n```\n# Four"
    document = _parse(tmp_path, text, MediaType.MARKDOWN)
    assert [page.lines[0].text for page in document.pages] == ["# One", "## Three", "# Four"]


def test_parse_markdown_edit_in_one_section_moves_no_other_block(tmp_path: Path) -> None:
    before = [f"# Section {number}\n\ntext {number}\n" for number in range(20)]
    after = [*before[:3], "# Section 3\n\nmuch\nlonger\n\ntext\n", *before[4:]]
    first = [page.text for page in _parse(tmp_path, "\n".join(before), MediaType.MARKDOWN).pages]
    second = [page.text for page in _parse(tmp_path, "\n".join(after), MediaType.MARKDOWN).pages]
    assert first[:3] + first[4:] == second[:3] + second[4:]


def test_parse_markdown_front_matter_gives_what_the_file_says_of_itself(tmp_path: Path) -> None:
    text = '---\ntitle: "The title"\nDate: 2026\nversion: 2.4\n  year: 1\nlayout: page\n---\n\n# Heading\nyear: 1999\n'
    expected = {"title": "The title", "date": "2026", "version": "2.4"}
    assert _parse(tmp_path, text, MediaType.MARKDOWN).metadata == expected


def test_parse_one_line_of_900000_characters_is_quick_and_bounded(tmp_path: Path) -> None:
    line = " ".join(f"This is sentence number {number} of a long talk." for number in range(20_000))[:900_000]
    begin = time.process_time()
    lines = _lines(_parse(tmp_path, line))
    assert time.process_time() - begin < 5
    assert max(len(piece) for piece in lines) <= LONGEST_LINE
    assert " ".join(lines).split() == line.split()
    assert sum(piece.endswith(".") for piece in lines) >= 0.99 * len(lines)


@given(st.text(st.sampled_from("ab .!?。#-"), min_size=1, max_size=5_000))
def test_split_long_lines_loses_nothing_but_spaces_at_cuts(line: str) -> None:
    pieces = list(_split_long(line))
    assert "".join("".join(pieces).split()) == "".join(line.split())
    assert max(len(piece) for piece in pieces) <= LONGEST_LINE


def test_parse_text_of_white_space_is_empty(tmp_path: Path) -> None:
    with pytest.raises(EmptySourceError):
        _parse(tmp_path, " \n\t\n\n")


def test_parse_text_that_changed_since_it_was_hashed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_text("before", encoding="utf-8")
    source = source_of(path, MediaType.TEXT)
    path.write_text("after", encoding="utf-8")
    with pytest.raises(DamagedSourceError, match="changed"):
        parse_text(source, parse_settings())


def test_parse_text_beyond_a_limit_names_the_setting(tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_text("word\n" * 100, encoding="utf-8")
    with pytest.raises(SourceLimitError, match="max_characters = 50"):
        parse_text(source_of(path, MediaType.TEXT), parse_settings(max_characters=50))
    with pytest.raises(SourceLimitError, match="max_pages = 2"):
        parse_text(source_of(path, MediaType.TEXT), parse_settings(max_pages=2, block_lines=10))
