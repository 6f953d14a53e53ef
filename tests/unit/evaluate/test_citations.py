"""The second reader of an index: what it accepts, and every way in which a citation may fail."""

from dataclasses import replace
from pathlib import Path

import pytest

from pageindex_local.evaluate.citations import CitationChecker, PrintedCitation
from tests.unit.query.indexes import HARBOUR, publish

QUOTE = "Every vessel pays a mooring fee of 45 crowns for each night."


def open_checker(root: Path) -> tuple[CitationChecker, PrintedCitation]:
    store, release = publish(root, {"harbour.pdf": HARBOUR})
    version = store.open_document(release, next(iter(release.documents)))
    page = next(page.page_number for page in version.pages() if QUOTE in page.text)
    leaf = next(leaf for leaf in version.tree().leaves() if leaf.first_page <= page <= leaf.last_page)
    citation = PrintedCitation("harbour.pdf", version.version_id, leaf.node_id, leaf.title, page, page, QUOTE)
    return CitationChecker(store.layout.folder, release.name, Path.read_bytes), citation


def test_find_fault_of_a_true_citation_is_none(tmp_path: Path) -> None:
    checker, citation = open_checker(tmp_path)
    assert checker.find_fault(citation) is None
    assert checker.find_fault(replace(citation, quote=QUOTE.replace(" ", "\n  "))) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"doc_id": "orchard.pdf"}, "no such document"),
        ({"version": "v000009"}, "pins v000001"),
        ({"node_id": "n0000000000000"}, "no such section"),
        ({"title": "Fuel"}, "is called"),
        ({"first_page": 99, "last_page": 99}, "no such page"),
        ({"first_page": 2, "last_page": 1}, "no such page"),
        ({"quote": QUOTE.replace("45", "54")}, "does not stand"),
        ({"quote": " "}, "does not stand"),
        ({"columns": "Night Week 2018"}, "heads of the columns do not stand"),
    ],
)
def test_find_fault_names_what_is_wrong(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    checker, citation = open_checker(tmp_path)
    assert words in str(checker.find_fault(replace(citation, **changes)))  # type: ignore[arg-type]


def test_find_fault_of_a_page_outside_the_section(tmp_path: Path) -> None:
    checker, citation = open_checker(tmp_path)
    other = 1 if citation.first_page > 2 else citation.last_page + 3
    assert "stands on pages" in str(checker.find_fault(replace(citation, first_page=other, last_page=other)))


def test_find_fault_in_an_altered_file_trusts_nothing_in_it(tmp_path: Path) -> None:
    checker, citation = open_checker(tmp_path)
    (pages,) = tmp_path.rglob("pages.parquet")
    pages.write_bytes(pages.read_bytes() + b"\0")
    assert "not those it pins" in str(checker.find_fault(citation))
