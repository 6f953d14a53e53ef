import math
import sqlite3
from pathlib import Path

import pytest

from pageindex_local.ids import sha256_hex
from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.documents import choose_documents, is_abbreviation, rank_documents, score_documents
from pageindex_local.query.fulltext import build_search_index, open_search_index
from pageindex_local.store.layout import SEAL_SUFFIX, seal_bytes
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, ORCHARD, filler, publish


def test_score_documents_divides_the_sum_by_the_root_of_one_more() -> None:
    scores = score_documents([("a", 2.0), ("b", 5.0), ("a", 4.0), ("a", 1.0)])
    assert scores == {"a": pytest.approx(7 / math.sqrt(4)), "b": pytest.approx(5 / math.sqrt(2))}


@pytest.mark.parametrize(
    ("short", "name", "expected"),
    [
        ("AMEX", "americanexpress", True),
        ("JnJ", "johnsonjohnson", True),
        ("Amex", "americanexpress", False),
        ("EBITDA", "americanexpress", False),
        ("IBM", "verizon", False),
    ],
)
def test_is_abbreviation_follows_the_letters_of_a_name(short: str, name: str, expected: bool) -> None:
    assert is_abbreviation(short, name) is expected


def ranked(tmp_path: Path, documents: dict[str, list[Section]], question: str) -> tuple[list[str], tuple[str, ...]]:
    store, release = publish(tmp_path, documents)
    with open_search_index(store, release) as index:
        choice = rank_documents(index, analyse_question(question))
    return [found.document.doc_id for found in choice.ranked], choice.notices


def test_rank_documents_by_their_text_puts_the_one_that_speaks_of_it_first(tmp_path: Path) -> None:
    documents = {"a.pdf": HARBOUR, "b.pdf": ORCHARD}
    assert ranked(tmp_path, documents, "When are apple trees pruned?")[0][0] == "b.pdf"
    assert ranked(tmp_path / "again", documents, "Who owns the yellow buoys?")[0][0] == "a.pdf"


def test_rank_documents_by_name_and_year_prefers_the_version_asked_for(tmp_path: Path) -> None:
    text = [Section("fee", "Fees", ["The fee is paid monthly.", *filler("fee")])]
    documents = {f"{name}_{year}.pdf": text for name in ("northport", "southport") for year in (2020, 2021)}
    order, notices = ranked(tmp_path, documents, "What is the Southport fee in 2020?")
    assert order[0] == "southport_2020.pdf"
    assert notices == ()


def test_rank_documents_without_the_year_asked_names_the_nearest(tmp_path: Path) -> None:
    text = [Section("fee", "Fees", ["The fee is paid monthly.", *filler("fee")])]
    documents = {"northport_2018.pdf": text, "northport_2021.pdf": text, "other.pdf": ORCHARD}
    _, notices = ranked(tmp_path, documents, "What is the Northport fee in 2022?")
    assert len(notices) == 1
    assert "2022" in notices[0]
    assert "2021" in notices[0]


def test_rank_documents_by_a_name_that_others_use_too_follows_the_text(tmp_path: Path) -> None:
    """`policy` is a word of everybody's text, so it does not mean the document of that name; `Southport` does."""
    policy = [Section("p", "Policy", ["A policy binds the crew.", *filler("anchor", 3)])]
    quay = [Section(f"q{n}", f"Quay {n}", [f"Quay policy {n}.", *filler(f"quay {n}", 8)]) for n in range(5)]
    quay.append(Section("oil", "Oil", ["The harbour pays for lantern oil."]))
    documents = {"policy.pdf": policy, "southport.pdf": quay}
    assert ranked(tmp_path, documents, "Does a policy speak of lantern oil?")[0][0] == "southport.pdf"
    assert ranked(tmp_path / "again", documents, "Which rule holds at Southport?")[0][0] == "southport.pdf"


FEES = [Section("fee", "Fees", ["The fee is paid monthly."]), Section("other", "Other", filler("fee", 14))]


def test_rank_documents_by_version_prefers_the_one_asked_for(tmp_path: Path) -> None:
    documents = {f"northport-{version}.md": FEES for version in ("1.9", "2.0", "2.1")}
    order, notices = ranked(tmp_path, documents, "What is the Northport fee in version 2.0?")
    assert order[0] == "northport-2.0.md"
    assert notices == ()


def test_rank_documents_without_the_version_asked_names_the_one_before(tmp_path: Path) -> None:
    documents = {f"northport-{version}.md": FEES for version in ("1.9", "2.1", "10.0")}
    _, notices = ranked(tmp_path, documents, "What is the Northport fee in version 3.5?")
    assert len(notices) == 1
    assert "3.5" in notices[0]
    assert "2.1" in notices[0]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How did the Northport fee change between 2020 and 2021?", {"northport_2020.pdf", "northport_2021.pdf"}),
        ("Northport fee 2019 vs 2021", {"northport_2019.pdf", "northport_2021.pdf"}),
    ],
)
def test_choose_documents_of_a_comparison_takes_one_of_each_year(
    tmp_path: Path, question: str, expected: set[str]
) -> None:
    documents = {f"{name}_{year}.pdf": FEES for name in ("northport", "southport") for year in (2019, 2020, 2021)}
    store, release = publish(tmp_path, documents)
    analysed = analyse_question(question)
    with open_search_index(store, release) as index:
        chosen, compared = choose_documents(rank_documents(index, analysed).ranked, analysed)
    assert compared
    assert {found.document.doc_id for found in chosen} == expected


def test_choose_documents_of_a_comparison_says_which_year_is_missing(tmp_path: Path) -> None:
    documents = {f"northport_{year}.pdf": FEES for year in (2019, 2021)}
    _, notices = ranked(tmp_path, documents, "Northport fee: 2020 versus 2021?")
    assert len(notices) == 1
    assert "2020" in notices[0]


FEE = [Section("fee", "Fees", ["The fee is paid monthly.", *filler("fee")])]


def test_rank_documents_by_the_title_of_their_metadata_prefers_the_one_asked_for(tmp_path: Path) -> None:
    documents = {"a.pdf": FEE, "b.pdf": FEE, "c.pdf": FEE}
    titles = {"b.pdf": {"title": "Handbook of Moorings"}, "c.pdf": {"title": "Fee"}}
    store, _ = publish(tmp_path, documents, metadata=titles)
    with open_search_index(store, store.require_current()) as index:
        named = rank_documents(index, analyse_question("What is the fee in the Handbook of Moorings?")).ranked
        other = rank_documents(index, analyse_question("What is the fee in a handbook?")).ranked
    assert named[0].document.doc_id == "b.pdf"
    assert [found.title for found in other] == [0.0, 0.0, 0.0]  # half a title and a title of one word name nothing


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the fee in 2021?", "b.pdf"),
        ("What is the fee of version 3.0?", "b.pdf"),
        ("What is the fee in 2019?", "c.pdf"),
    ],
)
def test_rank_documents_by_version_and_year_of_their_metadata(tmp_path: Path, question: str, expected: str) -> None:
    metadata = {
        "a.pdf": {"version": "v2.0", "year": "2020"},
        "b.pdf": {"version": "3.0", "date": "2021-05-01"},
        "c.pdf": {"version": "draft", "creationDate": "D:20190101120000Z"},
    }
    store, release = publish(tmp_path, dict.fromkeys(metadata, FEE), metadata=metadata)
    with open_search_index(store, release) as index:
        assert rank_documents(index, analyse_question(question)).ranked[0].document.doc_id == expected


def test_choose_documents_compares_versions_of_front_matter(tmp_path: Path) -> None:
    metadata = {"fees/old.pdf": {"version": "2.0"}, "fees/new.pdf": {"version": "3.0"}}
    store, release = publish(tmp_path, dict.fromkeys(metadata, FEE), metadata=metadata)
    question = analyse_question("How did the fee change between version 2.0 and version 3.0?")
    with open_search_index(store, release) as index:
        chosen, compared = choose_documents(rank_documents(index, question).ranked, question)
    assert compared
    assert {found.document.doc_id for found in chosen} == set(metadata)


def test_search_file_of_an_earlier_program_goes_on_without_metadata(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"a.pdf": FEE}, metadata={"a.pdf": {"title": "Handbook of Moorings"}})
    path = build_search_index(store, release)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE document_metadata")
    connection.close()
    path.with_name(path.name + SEAL_SUFFIX).write_bytes(seal_bytes(sha256_hex(path.read_bytes())))
    with open_search_index(store, release) as index:
        assert [document.metadata for document in index.documents.values()] == [{}]
    store, second = publish(tmp_path, {"b.pdf": FEE}, metadata={"b.pdf": {"title": "Guide to Winds"}})
    build_search_index(store, second)
    with open_search_index(store, second) as index:
        found = {document.doc_id: dict(document.metadata) for document in index.documents.values()}
    assert found == {"a.pdf": {}, "b.pdf": {"title": "Guide to Winds"}}
