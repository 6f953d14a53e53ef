import pytest

from pageindex_local.query.words import index_text, quote_word, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Revenue of 1,577 rose", ["revenue", "of", "1577", "rose"]),
        ("FY2022 and 2023Q4", ["fy", "2022", "and", "2023", "q4"]),
        ("FY2023Q1", ["fy", "2023", "q1"]),
        ("prop-\nerty", ["property"]),
        ("1,57", ["1", "57"]),
        ("e\ufb03cient", ["efficient"]),
        ("日本語", ["日本", "本語"]),
        ("company's", ["company"]),
        ("snake_case", ["snake", "case"]),
    ],
)
def test_split_words_of_printed_text_gives_plain_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_index_text_drops_control_characters() -> None:
    assert index_text("a\x1b[31mb\x00c") == "a 31mb c"


def test_quote_word_with_quotes_doubles_them() -> None:
    assert quote_word('a" OR "b') == '"a"" OR ""b"'
