import pytest

from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.words import GRAMMAR_WORDS, STOP_WORDS


def test_analyse_question_with_many_parts_finds_each() -> None:
    question = analyse_question('What does section 4.9.1 of "source packages" say in 2021 about Q3 2020?')
    assert question.phrases == ("source packages",)
    assert question.section_numbers == ("4.9.1",)
    assert question.years == (2021, 2020)
    assert question.periods == ("2020Q3",)


def test_analyse_question_weighs_the_sentence_that_asks_most() -> None:
    question = analyse_question("Assume a careful reader. Which valve closes first? If none closes, write zero.")
    weights = {word.word: word.weight for word in question.words}
    assert weights["valve"] == 1.0
    assert weights["reader"] < 1.0
    assert weights["zero"] < weights["reader"]


def test_analyse_question_keeps_question_words_when_nothing_else_is_there() -> None:
    assert [word.word for word in analyse_question("Who is it?").words] == ["who", "is", "it"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How much fuel was sold?", True),
        ("What is the ratio of rope to chain?", True),
        ("Who may open the gate?", False),
    ],
)
def test_analyse_question_about_quantities_asks_for_figures(text: str, expected: bool) -> None:
    assert analyse_question(text).asks_figures is expected


def test_analyse_question_names_leave_out_ordinary_sentence_starts() -> None:
    assert analyse_question("Ropes of the Northern Quay and of JnJ in May?").names == ("Northern Quay", "JnJ")


def test_analyse_question_of_nothing_has_no_words() -> None:
    assert analyse_question("?!").words == ()


@pytest.mark.parametrize(
    ("text", "versions", "compares"),
    [
        ("What changed between version 2.0 and 2.1?", ("2.0", "2.1"), True),
        ("What does release 3 say of locks?", ("3",), False),
        ("Sales 2021 vs 2022", (), True),
        ("Sales of 2021 and 2022", (), False),
        ("Is the pump better than the valve?", (), False),
    ],
)
def test_analyse_question_sees_versions_and_comparisons(text: str, versions: tuple[str, ...], compares: bool) -> None:
    question = analyse_question(text)
    assert question.versions == versions
    assert question.compares is compares


def test_analyse_question_takes_an_abbreviation_for_no_end() -> None:
    question = analyse_question("What did the U.S. Navy pay Acme Inc. Holdings?")
    assert {word.weight for word in question.words} == {1.0}


@pytest.mark.parametrize("name", ["/etc/opt", "the MAC address", "data type", "system information"])
def test_analyse_words_that_name_things_stay_in_the_question(name: str) -> None:
    asked = {word.word for word in analyse_question(f"What is {name}?").words}
    assert set(name.strip("/").replace("/", " ").casefold().split()) - {"the"} <= asked


@pytest.mark.parametrize(
    ("text", "words", "is_evidence"),
    [
        ("Who are you?", ["who", "are", "you"], False),
        ("What is this about?", ["what", "is", "this", "about"], False),
        ("How do I use make?", ["use", "make"], True),
        ('What is "to be or not to be"?', ["what", "is", "to", "be", "or", "not"], True),
        ("What is the fee?", ["fee"], True),
    ],
)
def test_analyse_question_of_words_of_grammar_alone_finds_no_evidence(
    text: str, words: list[str], is_evidence: bool
) -> None:
    found = analyse_question(text).words
    assert [word.word for word in found] == words
    assert {word.is_evidence for word in found} == {is_evidence}


def test_every_word_of_grammar_is_left_out_beside_others() -> None:
    assert GRAMMAR_WORDS <= STOP_WORDS
