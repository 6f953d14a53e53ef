from pathlib import Path

from pageindex_local.query import answer
from pageindex_local.settings import read_settings
from tests.sections import Section
from tests.unit.query.indexes import filler, publish

SETTINGS = read_settings().query
STATEMENT = [
    "Years ended December 31,",
    "(Millions) 2018 2017 2016",
    "Net income of the harbour 5,363 4,869 5,058",
    "Purchases of cranes and tugs (1,577) (1,373) (1,420)",
    "Proceeds from sale of pontoons, net of what they",
    "cost 846 1,065 142",
    "Payments to retired pilots are expected to be made as follows:",
    "2022 1,049 884",
    "2023 1,648 860",
]


def ask(root: Path, question: str) -> list[tuple[str, str]]:
    sections = [
        Section("flows", "Statement of flows", STATEMENT),
        Section("fuel", "Fuel", ["Diesel is sold by the pontoon.", *filler("fuel")]),
    ]
    store, _ = publish(root, {"report.pdf": sections}, lines_per_page=12)
    return [(citation.quote, citation.columns) for citation in answer(question, store, settings=SETTINGS).citations]


def test_answer_of_a_figure_is_the_row_with_the_heads_of_its_columns(tmp_path: Path) -> None:
    quotes = ask(tmp_path, "How much were the purchases of cranes and tugs in 2018?")
    assert quotes[0] == (STATEMENT[3], f"{STATEMENT[0]} {STATEMENT[1]}")


def test_answer_from_a_row_of_two_lines_has_both(tmp_path: Path) -> None:
    quotes = ask(tmp_path, "What were the proceeds from the sale of pontoons, net of their cost?")
    assert quotes[0][0] == f"{STATEMENT[4]} {STATEMENT[5]}"


def test_answer_by_what_ends_with_a_colon_has_what_follows(tmp_path: Path) -> None:
    quotes = ask(tmp_path, "Which payments to retired pilots are expected?")
    assert quotes[0][0] == " ".join(STATEMENT[6:9])


def test_answer_quotes_no_sentence_twice(tmp_path: Path) -> None:
    rules = [
        "No structure is imposed on the inner arrangement of the opt pier.",
        "Rationale",
        "See opt pier.",
        "Mail for the crews of other boats may be left at another pier.",
    ]
    store, _ = publish(tmp_path, {"rules.pdf": [Section("pier", "Piers", rules)]})
    quotes = [
        found.quote
        for found in answer("Which structure is imposed on the opt pier?", store, settings=SETTINGS).citations
    ]
    assert sum(rules[0] in quote for quote in quotes) == 1
