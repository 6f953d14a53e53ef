"""Headings of texts without styles."""

import textwrap

from pageindex_local.headings.evidence import SourceResult
from pageindex_local.headings.plain_text import find_text_headings
from pageindex_local.records import Line, MediaType, Origin, Page, ParsedDocument, Source

BODY = "Words of running text follow here.\nThey go on for some lines.\nAnd then they end.\nNearly.\nNow.\n"


def _read(text: str) -> SourceResult:
    lines = tuple(Line(line) for line in textwrap.dedent(text).split("\n"))
    made = ParsedDocument(Source("a.txt", "a-0123456789", "a.txt", "", 0, MediaType.TEXT), (Page(1, "1", 0, lines),))
    return find_text_headings(made)


def _outline(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in _read(text).headings]


def test_find_text_headings_with_underlines_ranks_marks_by_first_appearance() -> None:
    text = f"Guide\n=====\n\n{BODY}\nFirst\n-----\n\n{BODY}\nSecond\n------\n\n{BODY}\nMore\n====\n\n{BODY}"
    assert _outline(text) == [(1, "Guide"), (2, "First"), (2, "Second"), (1, "More")]


def test_find_text_headings_with_running_numbers_nests_by_depth() -> None:
    text = "".join(f"{n}. Part of it\n\n{BODY}\n{n}.1. Piece\n\n{BODY}\n{n}.2. Piece\n\n{BODY}\n" for n in (1, 2, 3))
    assert [level for level, _ in _outline(text)] == [1, 2, 2] * 3
    assert {heading.origin for heading in _read(text).headings} == {Origin.NUMBERING}


def test_find_text_headings_with_a_spaced_list_keeps_its_items_out() -> None:
    text = f"{BODY}\n1. First Item\n\n2. Second Item\n\n3. Third Item\n\n{BODY}"
    assert _outline(text) == []


def test_find_text_headings_in_capitals_gives_them_where_there_are_several() -> None:
    text = f"OPENING WORDS\n\n{BODY}\nCLOSING WORDS\n\n{BODY}"
    assert _outline(text) == [(1, "OPENING WORDS"), (1, "CLOSING WORDS")]


def test_find_text_headings_leaves_contents_lines_out() -> None:
    text = f"1. Scope .......... 3\n\n2. Terms .......... 9\n\n{BODY}\n1. Scope\n\n{BODY}\n2. Terms\n\n{BODY}"
    assert [title for _, title in _outline(text)] == ["1. Scope", "2. Terms"]


def test_find_text_headings_of_prose_finds_none_and_says_so() -> None:
    found = _read(f"{BODY}\n{BODY}\n{BODY}")
    assert found.headings == ()
    assert found.confidence == 0.0


def test_find_text_headings_spans_point_at_the_printed_lines() -> None:
    text = f"{BODY}\nGuide\n=====\n\n{BODY}\nEnd\n===\n\n{BODY}"
    lines = textwrap.dedent(text).split("\n")
    assert [lines[heading.span[0]] for heading in _read(text).headings] == ["Guide", "End"]


def test_find_text_headings_with_a_rule_across_the_page_is_no_underline() -> None:
    text = f"{BODY}\nShort\n{'-' * 70}\n\n{BODY}"
    assert _outline(text) == []
