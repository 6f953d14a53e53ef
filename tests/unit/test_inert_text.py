import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.inert_text import inert


@pytest.mark.parametrize(
    "hazard", ["\x1b", "\x07", "\x00", "\x7f", "\x9b", "\u202e", "\u2066", "\u200f", "\u061c", "\ufeff", "\ud800"]
)
def test_inert_replaces_hazard_visibly(hazard: str) -> None:
    assert inert(f"a{hazard}b") == "a\ufffdb"


def test_inert_folds_white_space_to_one_line() -> None:
    assert inert("  one\n two\tthree\r\n") == "one two three"


def test_inert_with_lines_keeps_lines_and_indentation() -> None:
    assert inert("one\n  two\r\nthree", keep_lines=True) == "one\n  two\nthree"


def test_inert_leaves_other_scripts_alone() -> None:
    text = "§ 4.2 Größe – Ελλάδα 日本語 עברית می‌خواهم 👩‍🔧"
    assert inert(text) == text


@given(st.text())
def test_inert_leaves_no_control_or_bidi_format_character(text: str) -> None:
    kept = inert(text)
    assert all(unicodedata.category(character) not in {"Cc", "Cs"} for character in kept)
    assert not set(kept) & set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(st.text())
def test_inert_twice_is_inert_once(text: str) -> None:
    assert inert(inert(text)) == inert(text)
