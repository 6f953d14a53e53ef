import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.llm.gbnf import parse_grammar
from pageindex_local.llm.grammar import choice_grammar, parse_picks, picks_grammar, render_picks


@pytest.mark.parametrize("text", ["none", "1:1", "3:6", "1:1\n2:2", "1:2\n2:1\n3:1", "2:4\n3:4"])
def test_picks_grammar_admits_ascending_picks(text: str) -> None:
    assert parse_grammar(picks_grammar(3)).matches(text)


@pytest.mark.parametrize(
    "text",
    ["", "4:1", "0:1", "1:7", "1:0", "2:1\n1:1", "1:1\n1:1", "1:1\n", "1", "1:1 2:1", "None", "1:1\nnone", "11:1"],
)
def test_picks_grammar_admits_nothing_else(text: str) -> None:
    assert not parse_grammar(picks_grammar(3)).matches(text)


@given(st.integers(1, 40), st.data())
def test_picks_round_trip(count: int, data: st.DataObject) -> None:
    numbers = sorted(data.draw(st.sets(st.integers(1, count))))
    picks = [(number, data.draw(st.integers(1, 6))) for number in numbers]
    text = render_picks(picks)
    assert parse_grammar(picks_grammar(count)).matches(text)
    assert parse_picks(text, count) == picks


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4:1", "there is no line 4"),
        ("2:1\n1:1", "line 1 comes after line 2"),
        ("1:1\n1:1", "line 1 comes after line 1"),
        ("", "'' is not of the form number:level"),
        ('{"a": 1}', "is not of the form number:level"),
        ("1:9", "'1:9' is not of the form number:level"),
    ],
)
def test_parse_picks_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_picks(text, 3)


def test_picks_grammar_of_nothing_raises() -> None:
    with pytest.raises(ValueError, match="a choice among 0 lines"):
        picks_grammar(0)


def test_choice_grammar_admits_exactly_the_choices() -> None:
    choices = ["n1", 'say "x"', "back\\slash", "two\nlines"]
    grammar = parse_grammar(choice_grammar(choices))
    assert all(grammar.matches(choice) for choice in choices)
    assert not grammar.matches("n2")
    assert not grammar.matches("")
