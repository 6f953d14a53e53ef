"""Headings by typography and numbers, on small made documents."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest

from pageindex_local.headings.layout import find_layout_headings
from pageindex_local.records import LineRole, MediaType, Page, ParsedDocument, Source, Span
from tests.unit.headings.pages import LEFT, Row, body, document, heading


def _titles(made: ParsedDocument, excluded: Sequence[Span] = ()) -> list[str]:
    return [entry.title for entry in find_layout_headings(made, excluded).headings]


def _levels(made: ParsedDocument) -> list[tuple[int, str]]:
    return [(entry.level, entry.title) for entry in find_layout_headings(made).headings]


def _pages(*titles: str, **style: Any) -> list[list[Row]]:
    return [[*body(), heading(title, **style), *body(6)] for title in titles]


def test_find_layout_headings_with_large_bold_lines_gives_them_with_pages_and_spans() -> None:
    made = document(*_pages("Scope", "Terms", "Duties"))
    found = find_layout_headings(made)
    assert [(entry.title, entry.page_number, entry.level) for entry in found.headings] == [
        ("Scope", 1, 1),
        ("Terms", 2, 1),
        ("Duties", 3, 1),
    ]
    lines = dict(made.lines())
    assert [lines[entry.span[0]].text for entry in found.headings] == ["Scope", "Terms", "Duties"]
    assert found.confidence > 0.5


def test_find_layout_headings_with_two_sizes_nests_the_smaller() -> None:
    made = document(*[[heading(f"Major {n}"), *body(), heading(f"Minor {n}", size=13.0), *body(6)] for n in "ABC"])
    assert _levels(made) == [(level, f"{kind} {n}") for n in "ABC" for level, kind in ((1, "Major"), (2, "Minor"))][:6]


def test_find_layout_headings_in_body_size_bold_gives_them() -> None:
    made = document(*_pages("General Terms", "Other Terms", "Final Terms", size=10.0))
    assert _titles(made) == ["General Terms", "Other Terms", "Final Terms"]


def test_find_layout_headings_with_wrapped_title_joins_it_and_mends_the_hyphen() -> None:
    wrapped = [
        heading("A long title that goes on over the end of its first line with a hyphen-", size=12.0, full=True),
        heading("ated word", size=12.0, gap=14.0),
    ]
    made = document([*body(), *wrapped, *body()], *_pages("Second", "Third", size=12.0))
    assert _titles(made)[0] == "A long title that goes on over the end of its first line with a hyphenated word"


def test_find_layout_headings_with_label_over_title_makes_one_heading() -> None:
    made = document(
        *[
            [heading(f"Chapter {n}", size=14.0), heading(name, size=20.0), *body(8)]
            for n, name in enumerate(("One Thing", "Two Things", "Three Things"), 1)
        ]
    )
    assert _titles(made) == ["Chapter 1 One Thing", "Chapter 2 Two Things", "Chapter 3 Three Things"]


def test_find_layout_headings_with_spelled_number_over_title_leaves_the_ornament_out() -> None:
    made = document(
        *[
            [heading(word, size=20.0), heading(name, size=20.0), *body(8)]
            for word, name in (("One", "Start"), ("Two", "End"))
        ]
    )
    assert _titles(made) == ["Start", "End"]


@pytest.mark.parametrize(
    "row",
    [
        heading("Figure 3: A bold caption", size=10.0),
        heading("Table 2. Another caption", size=10.0),
        heading("• A bold bullet", size=10.0),
        heading("Revenue 12,345 11,987", size=10.0, cells=3),
        heading("Note", size=10.0),
        heading("See https://example.org/page", size=10.0),
        heading("March 3, 2021", size=10.0),
        heading("$ 1,234 million", size=10.0),
    ],
)
def test_find_layout_headings_leaves_out_what_only_looks_like_one(row: Row) -> None:
    made = document([*body(), row, *body()], *_pages("First Part", "Second Part", size=10.0))
    assert _titles(made) == ["First Part", "Second Part"]


def test_find_layout_headings_leaves_out_emphasis_inside_a_paragraph() -> None:
    inside = [
        *body()[:-1],
        Row("some words in bold that take the whole line inside of this very paragraph here", bold=True, full=True),
        Row("and the paragraph goes on in plain type until its end."),
    ]
    made = document([*body(), *inside], *_pages("First Part", "Second Part", size=10.0))
    assert _titles(made) == ["First Part", "Second Part"]


def test_find_layout_headings_leaves_out_excluded_lines_and_running_heads() -> None:
    head = heading("Running Title", running=True)
    made = document(*[[head, *rows] for rows in _pages("First", "Second", "Third")])
    number = next(number for number, line in made.lines() if line.text == "Second")
    assert _titles(made, [(number, number + 1)]) == ["First", "Third"]


def test_find_layout_headings_leaves_out_a_section_name_in_the_place_of_the_running_head() -> None:
    pages = []
    for number in range(1, 9):
        top = Row(
            "The Book" if number % 2 else f"{number}.1. Section {number}",
            bold=not number % 2,
            gap=-20.0,
            running=bool(number % 2),
        )
        pages.append([top, Row("text below", gap=40.0), *body(), heading(f"{number}.1 Section {number}"), *body()])
    assert _titles(document(*pages)) == [f"{number}.1 Section {number}" for number in range(1, 9)]


def test_find_layout_headings_leaves_the_title_page_out() -> None:
    title = [heading("The Great Manual", size=30.0), heading("Jane Doe", size=16.0)]
    made = document(title, *_pages("Scope", "Terms", "Duties"))
    assert _titles(made) == ["Scope", "Terms", "Duties"]


def test_find_layout_headings_of_numbered_document_nests_by_number_and_drops_unnumbered_minor_ones() -> None:
    pages = [
        [
            heading(f"{n} Chapter", size=18.0),
            *body(),
            heading(f"{n}.1 First", size=13.0),
            *body(),
            heading("Aside", size=11.0),
            *body(),
            heading(f"{n}.2 Second", size=13.0),
            *body(),
        ]
        for n in range(1, 5)
    ]
    expected = list(
        chain.from_iterable([(1, f"{n} Chapter"), (2, f"{n}.1 First"), (2, f"{n}.2 Second")] for n in range(1, 5))
    )
    made = document(*pages)
    assert _levels(made) == expected
    assert "Aside" in [entry.title for entry in find_layout_headings(made).candidates]


def test_find_layout_headings_with_one_style_for_two_depths_nests_by_number() -> None:
    pages = [
        [
            *body(),
            heading(f"{n}.1 Part"),
            *body(),
            heading(f"{n}.1.1 Piece"),
            *body(),
            heading(f"{n}.1.2 Piece"),
            *body(),
        ]
        for n in range(1, 5)
    ]
    assert [level for level, _ in _levels(document(*pages))] == [1, 2, 2] * 4


def test_find_layout_headings_in_plain_style_are_found_by_their_series_and_lists_are_not() -> None:
    pages = [
        [
            *body(8),
            Row(f"{n}. Matters of Concern", gap=18.0, x=LEFT + 40),
            *body(10),
            Row("1. an item in a list", gap=18.0),
            Row("2. another item of it", gap=18.0),
            Row("3. the last of the items", gap=18.0),
            *body(4),
        ]
        for n in range(1, 6)
    ]
    assert _titles(document(*pages)) == [f"{n}. Matters of Concern" for n in range(1, 6)]


def test_find_layout_headings_of_lettered_series_nest_under_the_series_they_open_in() -> None:
    def page(roman: str, letter: str) -> list[Row]:
        return [
            *body(4),
            heading(f"{roman}. Part of the Whole", size=12.0, gap=18.0),
            *body(8),
            heading(f"{letter}. Smaller Part", size=12.0, bold=False, italic=True, gap=18.0),
            *body(8),
        ]

    pages = [
        page("I", "A"),
        [*body(4), heading("B. Next Smaller Part", size=12.0, bold=False, italic=True), *body(8)],
        page("II", "A"),
        page("III", "A"),
    ]
    assert [level for level, _ in _levels(document(*pages))] == [1, 2, 2, 1, 2, 1, 2]


def test_find_layout_headings_with_italic_over_bold_takes_the_order_the_document_shows() -> None:
    pages = [
        [
            *body(),
            heading(f"Outer {n}", size=12.0, italic=True),
            heading(f"Inner {n}", size=12.0),
            *body(6),
            heading(f"Last {n}", size=12.0),
            *body(6),
        ]
        for n in "ABCD"
    ]
    assert [level for level, _ in _levels(document(*pages))] == [1, 2, 2] * 4


def test_find_layout_headings_without_font_sizes_says_so() -> None:
    made = document([Row("plain", size=0.0), Row("text", size=0.0)])
    found = find_layout_headings(made)
    assert found.headings == ()
    assert "font sizes" in found.reason


def test_find_layout_headings_of_text_says_it_has_no_pages() -> None:
    text = ParsedDocument(Source("a.txt", "a-0123456789", "a.txt", "", 0, MediaType.TEXT), (Page(1, "1", 0, ()),))
    assert find_layout_headings(text).headings == ()


def test_find_layout_headings_of_body_text_only_finds_none() -> None:
    made = document(body(20), body(20))
    assert _titles(made) == []
    assert all(line.role is LineRole.BODY for _, line in made.lines())


def test_find_layout_headings_twice_gives_the_same() -> None:
    made = document(*_pages("Scope", "Terms", "Duties"))
    assert find_layout_headings(made) == find_layout_headings(made)


def test_find_layout_headings_in_slanted_text_type_only_offers_them_as_candidates() -> None:
    pages = [
        [
            *body(),
            heading(f"Bold {n}", size=10.0),
            *body(6),
            heading(f"Slanted {n}", size=10.0, bold=False, italic=True),
            *body(6),
        ]
        for n in "ABCDE"
    ]
    found = find_layout_headings(document(*pages))
    assert [entry.title for entry in found.headings] == [f"Bold {n}" for n in "ABCDE"]
    assert {f"Slanted {n}" for n in "ABCDE"} <= {entry.title for entry in found.candidates}


def test_find_layout_headings_in_plain_style_that_begin_a_page_each_are_found_past_a_hundred() -> None:
    numbers = range(97, 103)
    made = document([Row("1 Chapter 1"), *body()], *([Row(f"{n} Chapter {n}"), *body()] for n in range(2, 103)))
    found = find_layout_headings(made).headings
    assert [(h.title, h.page_number) for h in found[-6:]] == [(f"{n} Chapter {n}", n) for n in numbers]


def test_find_layout_headings_keeps_the_heading_between_a_centred_title_and_the_text() -> None:
    middle = LEFT + 200.0
    title = [Row(text, size=18, bold=True, gap=30, x=middle - 4.5 * len(text)) for text in ("On Tides", "Some Sailor")]
    pages = [[*title, Row("Abstract", size=14, bold=True, gap=40), *body(), *body()], [*body(), *body()]]
    assert [h.title for h in find_layout_headings(document(*pages)).headings] == ["Abstract"]


def _numbered_pages(text_pages: int) -> list[list[Row]]:
    """Eight numbered sections, each with a numbered one and an unnumbered one in it and so many pages of text."""
    pages: list[list[Row]] = []
    for number in range(1, 9):
        below = Row(f"Loose {number}", size=12, italic=True, gap=30)
        inner = heading(f"{number}.1 Rules {number}", size=14)
        pages.append([heading(f"{number} Section {number}"), *body(), inner, *body(), below, *body()])
        pages += [[*body(), *body()] for _ in range(text_pages)]
    return pages


def test_find_layout_headings_below_long_numbered_sections_are_kept_where_no_contents_list_stands() -> None:
    loose = {f"Loose {number}" for number in range(1, 9)}
    long, short = document(*_numbered_pages(4)), document(*_numbered_pages(0))
    assert loose <= {h.title for h in find_layout_headings(long).headings}
    assert not loose & {h.title for h in find_layout_headings(short).headings}
    # A list of contents says how deep the author counts.
    last = long.line_count
    assert not loose & {h.title for h in find_layout_headings(long, ((last - 1, last),)).headings}
