from pathlib import Path

import pytest

from pageindex_local.query import Trace, retrieve
from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.fulltext import open_search_index
from pageindex_local.query.search_rows import _SCHEMA
from pageindex_local.query.spelling import TOKENIZER, correct_spelling, is_one_slip
from pageindex_local.settings import read_settings
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, filler, publish

SETTINGS = read_settings().query
AMERICAN = Section("license", "Licenses", ["The color of a license shows its category.", *filler("license")])
WANTED = [
    ("licences", "licenses"),
    ("colour", "color"),
    ("catagory", "category"),  # another letter
    ("catgory", "category"),  # one missing
    ("categorry", "category"),  # one too many
    ("cateogry", "category"),  # two changed about
]


@pytest.mark.parametrize(("asked", "meant"), WANTED)
def test_retrieve_of_a_misspelt_word_searches_the_likeliest_and_says_so(tmp_path: Path, asked: str, meant: str) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": [*HARBOUR, AMERICAN]})
    trace = Trace()
    result = retrieve(f"What about {asked}?", store, settings=SETTINGS, trace=trace)
    assert result.notices[0].startswith(f'"{asked}" occurs nowhere; "{meant[:5]}')
    assert (
        result.pages[0].page_number == retrieve(f"What about {meant}?", store, settings=SETTINGS).pages[0].page_number
    )
    assert trace.counters["word that occurs nowhere"] == 1


@pytest.mark.parametrize("question", ["Which categories have colors?", "Who pays mooring fees?", "Why xylophones?"])
def test_correct_spelling_leaves_words_that_exist_or_resemble_none(tmp_path: Path, question: str) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": [*HARBOUR, AMERICAN]})
    analysed = analyse_question(question)
    with open_search_index(store, release) as index:
        assert correct_spelling(analysed, index) == (analysed, [])


PRINTED = Section(
    "words",
    "Words",
    [
        "She calls the policy of this generation a general and literal one.",
        "Operating systems keep redundant copies here, filed by their plan.",
        *filler("copies"),
    ],
)


@pytest.mark.parametrize(
    "question",
    [
        "Which shoes?",  # `oe` is no spelling of `e` at the end of a plural
        "Which heroes?",
        "Which genre?",  # `gener` is the stem of general, but no word
        "How many litres?",  # nor does who writes `literal` write of liters
        "What filling?",
        "Which refund?",  # one letter from the stem of redundant, not from the word
        "Which opera?",
    ],
)
def test_correct_spelling_takes_no_word_that_is_not_printed_so(tmp_path: Path, question: str) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": [*HARBOUR, PRINTED]})
    analysed = analyse_question(question)
    with open_search_index(store, release) as index:
        assert correct_spelling(analysed, index) == (analysed, [])


def test_retrieve_of_another_word_that_a_slip_makes_of_it_finds_it_but_no_evidence(tmp_path: Path) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": [*HARBOUR, PRINTED]})
    asked = retrieve("Who calls the police?", store, settings=SETTINGS)
    meant = retrieve("Who calls the policy?", store, settings=SETTINGS)
    assert asked.notices == ('"police" occurs nowhere; "policy" was searched.',)
    assert asked.pages[0].page_number == meant.pages[0].page_number
    assert asked.abstained
    assert not meant.abstained


def test_retrieve_of_another_spelling_of_a_word_counts_as_the_word(tmp_path: Path) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": [*HARBOUR, AMERICAN]})
    asked = retrieve("Which colour shows the category?", store, settings=SETTINGS)
    meant = retrieve("Which color shows the category?", store, settings=SETTINGS)
    assert asked.evidence == meant.evidence == 1.0


def test_correct_spelling_asks_about_names_and_keeps_them(tmp_path: Path) -> None:
    verizon = Section("v", "Verizon", ["The boats of Verizon lie at the northern quay.", *filler("quay")])
    store, release = publish(tmp_path, {"harbour.pdf": [*HARBOUR, verizon]})
    analysed = analyse_question("Where are the boats of Verzion?")
    with open_search_index(store, release) as index:
        corrected, notices = correct_spelling(analysed, index)
    assert corrected == analysed
    assert notices == ['"verzion" occurs nowhere. Did you mean "verizon"?']


@pytest.mark.parametrize(
    ("asked", "term", "is_slip"),
    [
        ("deprici", "depreci", True),
        ("reciev", "receiv", True),
        ("batl", "battl", True),
        ("battl", "bottl", False),
        ("drag", "drug", False),
        ("harbor", "harbor", False),
        ("licens", "lice", False),
    ],
)
def test_is_one_slip_by_one_letter(asked: str, term: str, is_slip: bool) -> None:
    assert is_one_slip(asked, term) is is_slip
    assert is_one_slip(term, asked) is is_slip


def test_tokenizer_is_the_one_of_search_files() -> None:
    assert _SCHEMA.count(f"tokenize='{TOKENIZER}'") == 2
