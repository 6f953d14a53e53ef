import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.query.patterns import MAX_TEXT, compile_pattern

ATOMS = st.sampled_from(["a", "B", "é", ".", "[ab]", "[^a]", "[]a-]", r"\w", r"\s", r"\.", r"\b", r"\B", "^", "$"])
MARKS = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{1,}", "*?", "+?"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, MARKS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)


@given(PATTERNS, st.text("abBÉ .\n", max_size=8))
def test_pattern_agrees_with_the_standard_library_on_any_short_text(source: str, text: str) -> None:
    assert compile_pattern(source).is_in(text) == bool(re.search(source, text, re.IGNORECASE))


@pytest.mark.parametrize("source", ["(a+)+$", "^(a|a)*$", "(.*)*b", "(a?){60}a{60}$", ".*.*.*.*.*.*b", r"(\w+\s?)+:"])
def test_pattern_that_backtracks_without_end_is_decided_at_once(source: str) -> None:
    pattern = compile_pattern(source)
    started = time.process_time()
    assert not pattern.is_in("a" * (MAX_TEXT - 1) + "!")
    assert time.process_time() - started < 5  # backtracking takes years


@pytest.mark.parametrize(("source", "text"), [(r"\?+", "Why??"), (r"\*{2}", "a**b"), ("[*]+c", "**c"), ("x{}", "x{}")])
def test_pattern_reads_marks_that_are_escaped_as_characters(source: str, text: str) -> None:
    assert compile_pattern(source).is_in(text)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("(", "no regular expression"),
        ("a**", "no regular expression"),
        ("(?=a)", "do not know"),
        (r"(a)\1", "do not know"),
        ("(?i)a", "do not know"),
        ("a*+", "do not know"),
        ("(?P<year>a)", "do not know"),
        ("x{5000}", "too large"),
        ("((a{1,40}){1,40})", "too large"),
        ("a{4294967296}", "no regular expression"),
    ],
)
def test_compile_pattern_that_cannot_be_bounded_says_why(source: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compile_pattern(source)


def test_compile_pattern_of_very_many_alternatives_refuses_it_at_once() -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="too large"):
        compile_pattern("a|" * 50_000)
    assert time.process_time() - started < 5


def test_pattern_reads_digits_of_other_scripts_in_braces_as_characters() -> None:
    pattern = compile_pattern("a{٣}")
    assert pattern.is_in("a{٣}")
    assert not pattern.is_in("aaa")


def test_pattern_with_a_bracket_in_a_class_warns_nobody() -> None:
    assert compile_pattern("[[a]+").is_in("[a")  # Python warns of it, and warnings are errors here
