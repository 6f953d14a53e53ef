import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.query.citations import (
    cut_quote,
    find_quote,
    is_on_page,
    iter_segments,
    make_inert,
    numbers_in,
)

PAGE = "The mooring fee is\n45 crowns a night. It is paid in ad-\nvance at the office.\nQuay  North  12  15\n"


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("The mooring fee is 45 crowns a night.", True),
        ("the   MOORING fee", True),
        ("paid in advance at the office", True),
        ("Quay North 12 15", True),
        ("The mooring fee is 54 crowns a night.", False),
        ("", False),
        ("   ", False),
    ],
)
def test_is_on_page_folds_white_space_and_hyphens_only(quote: str, expected: bool) -> None:
    assert is_on_page(quote, PAGE) is expected


def test_find_quote_names_the_page_that_holds_it() -> None:
    assert find_quote("a lamp burns", {3: "no light", 4: "here a lamp\nburns all night"}) == 4
    assert find_quote("a lamp burns", {3: "no light"}) is None


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("\x1b[31mred\x1b[0m text", "red text"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\u202eb\u200bc\x00d", "abcd"),
        ("\x9b2Jgone", "gone"),
        ("plain  words\nhere", "plain words here"),
    ],
)
def test_make_inert_leaves_only_what_is_seen(text: str, inert: str) -> None:
    assert make_inert(text) == inert


@given(st.text(max_size=200))
def test_make_inert_of_anything_has_no_control_character(text: str) -> None:
    assert all(char.isprintable() for char in make_inert(text).replace("\u3000", " "))


def test_iter_segments_splits_sentences_and_keeps_table_rows_whole() -> None:
    lines = list(enumerate(PAGE.rstrip("\n").split("\n"), 7))
    segments = [(s.text, s.first_line, s.last_line) for s in iter_segments(2, lines)]
    assert segments == [
        ("The mooring fee is 45 crowns a night.", 7, 8),
        ("It is paid in ad- vance at the office.", 8, 9),
        ("Quay North 12 15", 10, 10),
    ]


@given(st.lists(st.text(alphabet="abcdef ,.1ABC", max_size=40), max_size=12))
def test_iter_segments_are_printed_on_their_lines(texts: list[str]) -> None:
    lines = list(enumerate(texts, 100))
    for segment in iter_segments(1, lines):
        printed = " ".join(" ".join(texts[segment.first_line - 100 : segment.last_line - 100 + 1]).split())
        assert segment.text in printed


def test_cut_quote_ends_at_a_word() -> None:
    cut = cut_quote("word " * 200)
    assert len(cut) <= 320
    assert cut.endswith("word")


def test_numbers_in_drops_thousands_separators() -> None:
    assert numbers_in("rose to 1,577 from 1.5 in 2018") == {"1577", "1.5", "2018"}
