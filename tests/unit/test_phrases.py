import random

from pageindex_local.phrases import is_grounded, key_phrases, title_choices
from pageindex_local.tree.titles import is_clean_title


def test_key_phrases_name_what_is_said_again_and_again() -> None:
    text = (
        "Nobody had oiled the harbour crane for years. Its driver said that a harbour crane needs oil, and he knew. "
        "What will a new harbour crane cost? Less than the tower, more than a ship; the old harbour crane was a gift."
    )
    assert key_phrases(text, 1) == ["harbour crane"]


def test_key_phrases_do_not_cross_punctuation() -> None:
    assert key_phrases("The harbour. Cranes turn. " * 5, 2) != ["harbour. Cranes"]
    assert all("." not in phrase for phrase in key_phrases("The harbour. Cranes turn. " * 5, 2))


def test_key_phrases_share_no_word() -> None:
    first, second = key_phrases("The harbour crane lifts. A harbour crane rests. Salt tax rises. " * 6, 2)
    assert set(first.casefold().split()).isdisjoint(second.casefold().split())


def test_key_phrases_of_text_that_repeats_nothing_are_none() -> None:
    assert key_phrases("One ship came. Another left. Nobody waited.", 3) == []


def test_title_choices_are_grounded_for_words_in_any_order() -> None:
    words = ("river", "stone", "market", "window", "letter", "garden", "silver", "morning", "winter", "captain")
    for seed in range(40):
        choose = random.Random(seed)
        sentences = [" ".join(choose.choices(words, k=9)).capitalize() + "." for _ in range(50)]
        text = "\n".join(sentences)
        choices = title_choices(text)
        assert choices
        assert all(is_grounded(title, text) for title in choices)


def test_title_choices_of_text_without_repetition_begin_as_the_text_does() -> None:
    assert title_choices("One ship came in at dawn. Another left; nobody waited.")[0] == "One ship came in at dawn"


def test_title_choices_of_japanese_text_are_grounded() -> None:
    text = "港のクレーンは埠頭の端に立つ。風が弱い限り、どの方向にも回る。綱は毎年春に取り替えられる。"
    choices = title_choices(text)
    assert choices
    assert all(choice.rstrip("…") in text for choice in choices)


def test_title_choices_are_clean_titles() -> None:
    for text in ("delta epsilon\n。", "delta \u202e epsilon zeta . Eta", "one\ttwo three four; five"):
        choices = title_choices(text)
        assert choices
        assert all(is_clean_title(choice) for choice in choices)


def test_title_choices_of_text_without_words_are_none() -> None:
    assert title_choices("-- ... ==") == []


def test_is_grounded_finds_words_that_are_not_there() -> None:
    assert is_grounded("Harbour crane", "The harbour has a\ncrane.")
    assert not is_grounded("Harbour bridge", "The harbour has a crane.")
