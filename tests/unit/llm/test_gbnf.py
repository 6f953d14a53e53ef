"""Our reading of GBNF, checked against grammars whose sentences are obvious."""

import pytest

from pageindex_local.llm.gbnf import GrammarError, parse_grammar

LIST = r"""
root ::= "[" ws (item ("," ws item)*)? "]"  # a list
item ::= [0-9]{1,3} |
         "\"" [^"\\]+ "\""
ws ::= [ \t]*
"""


@pytest.mark.parametrize("text", ["[]", "[1, 22,333]", '["a b", 7]', "[\t12]"])
def test_matches_sentence_is_true(text: str) -> None:
    grammar = parse_grammar(LIST)
    assert grammar.matches(text)
    assert all(grammar.admits_start(text[:end]) for end in range(len(text)))
    assert not any(grammar.matches(text[:end]) for end in range(len(text)))


@pytest.mark.parametrize("text", ["", "[", "[1,]", "[4444]", '["a\\"]', "[] ", "[a]"])
def test_matches_other_text_is_false(text: str) -> None:
    assert not parse_grammar(LIST).matches(text)


@pytest.mark.parametrize(
    ("grammar", "shortest"),
    [
        (LIST, "[]"),
        ('root ::= "yes" | "no"', "no"),
        ('root ::= "a"+ "b"? [x-z]{2}', "axx"),
        ('root ::= "é\\u00e9\\n" .', "éé\na"),
        ("root ::= [^a-z]", " "),
        ('root ::= "(" root ")" | "x"', "x"),
    ],
)
def test_shortest_gives_the_shortest_sentence(grammar: str, shortest: str) -> None:
    parsed = parse_grammar(grammar)
    assert parsed.shortest() == shortest
    assert parsed.matches(shortest)


@pytest.mark.parametrize(
    ("grammar", "problem"),
    [
        ('root ::= "open', "line 1"),
        ('a ::= "x"', "no rule named root"),
        ("root ::= other", "other"),
        ('root ::= ("a"', "expected \\)"),
        ('root ::= "a"{2001}', "2000"),
        ('root ::= "a"{x}', "expected {m}"),
        ('root = "a"', "expected ::="),
        ('root ::= "\\q"', "escape"),
    ],
)
def test_parse_bad_grammar_says_what_is_wrong(grammar: str, problem: str) -> None:
    with pytest.raises(GrammarError, match=problem):
        parse_grammar(grammar)


def test_rule_that_calls_itself_first_is_refused() -> None:
    with pytest.raises(GrammarError, match="calls itself"):
        parse_grammar('root ::= root "a" | root "b"').matches("a")


def test_shortest_endless_grammar_is_refused() -> None:
    with pytest.raises(GrammarError, match="no finite text"):
        parse_grammar('root ::= "a" root').shortest()
