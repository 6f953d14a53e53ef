import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.query.citations import (
    MAX_QUOTE_CHARACTERS,
    cut_quote,
    is_on_page,
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


def test_cut_quote_ends_at_a_word() -> None:
    cut = cut_quote("word " * 200)
    assert len(cut) <= MAX_QUOTE_CHARACTERS
    assert cut.endswith("word")


def test_numbers_in_drops_thousands_separators() -> None:
    assert numbers_in("rose to 1,577 from 1.5 in 2018") == {"1577", "1.5", "2018"}


def test_cut_quote_prefers_the_end_of_a_clause() -> None:
    clause = "word " * 70 + "last, "
    assert cut_quote(clause + "more " * 60) == clause.strip().rstrip(",")
