"""Corrections of a PDF: lines stay on their pages, sections stay where they are, a rebuild comes to the same."""

from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from pageindex_local.build import BuildJob, build_document
from pageindex_local.errors import SourceError
from pageindex_local.grafts.carry import apply_grafts
from pageindex_local.grafts.replace import draft_replacement, publish_draft
from pageindex_local.grafts.section import PAGE_BREAK, read_section
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import Graft, LineRole, Origin, Page, ParsedDocument
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import VersionDraft

SETTINGS = read_settings(None, {"summary": {"mode": "extractive"}, "tree": {"strategy": "outline"}})
TITLES = ["1 Tides", "1.1 Springs", "1.2 Neaps", "2 Winds"]


def write_pdf(path: Path) -> None:
    """Four pages with a running head; 1 begins on page 1, 1.1 on page 2, 1.2 on page 3, 2 on page 4."""
    with pymupdf.open() as document:
        for number, title in enumerate(TITLES, 1):
            page = document.new_page()
            page.insert_text((72, 40), f"Harbour handbook {number}", fontsize=9)
            page.insert_text((72, 100), title, fontsize=18)
            for row in range(8):
                page.insert_text(
                    (72, 140 + 20 * row), f"Row {row} of {title} speaks of water and of ships.", fontsize=11
                )
        document.set_toc([[1 if "." not in title else 2, title, number] for number, title in enumerate(TITLES, 1)])
        document.save(path)


def build_in(folder: Path) -> IndexStore:
    write_pdf(folder / "handbook.pdf")
    store = IndexStore(folder / "index", "default", SETTINGS.store)
    rebuild(store, folder)
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    """Shared: drafts change nothing."""
    return build_in(tmp_path_factory.mktemp("handbook"))


def rebuild(store: IndexStore, tmp_path: Path) -> VersionDraft:
    source = read_source("handbook.pdf", tmp_path / "handbook.pdf", SETTINGS.parse)
    live = store.current()
    previous = None if live is None else store.open_document(live, source.doc_key)
    parent = None if previous is None else previous.version_id
    job = BuildJob(source, store.next_version_id(source.doc_key), parent)
    draft = build_document(job, previous, None, SETTINGS)
    ref = store.write_version(draft)
    store.publish({ref.doc_key: ref}, expected_parent=None if live is None else live.name)
    return draft


def draft_of(store: IndexStore, title: str, text: str) -> VersionDraft | None:
    release = store.require_current()
    stored = store.open_document(release, next(iter(release.documents)))
    node = next(node for node in stored.tree().walk() if node.title == title)
    return draft_replacement(store, stored, node.node_id, text, model=None, settings=SETTINGS)


def text_of(store: IndexStore, title: str) -> str:
    release = store.require_current()
    stored = store.open_document(release, next(iter(release.documents)))
    node = next(node for node in stored.tree().walk() if node.title == title)
    return read_section(stored, node.node_id).text()


def body_by_page(draft: VersionDraft) -> list[list[str]]:
    return body_by_page_of(draft.document)


def body_by_page_of(document: ParsedDocument) -> list[list[str]]:
    return [
        [line.text for line in page.lines if line.role is not LineRole.RUNNING and line.text.strip()]
        for page in document.pages
    ]


def test_text_of_a_section_parts_its_pages_by_form_feeds(store: IndexStore) -> None:
    pages = text_of(store, "1 Tides").split(PAGE_BREAK)
    assert [page.split("\n")[0] for page in pages] == ["1 Tides", "1.1 Springs", "1.2 Neaps"]
    assert "Harbour handbook" not in "".join(pages)


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("with_breaks", [True, False])
def test_replace_by_its_own_text_changes_nothing(store: IndexStore, title: str, with_breaks: bool) -> None:
    text = text_of(store, title)
    assert draft_of(store, title, text if with_breaks else text.replace(PAGE_BREAK, "")) is None


def test_replaced_lines_stay_on_their_pages_and_ranges_stay(store: IndexStore) -> None:
    text = text_of(store, "1 Tides").replace(PAGE_BREAK, "")
    text = text.replace("Row 3 of 1.1 Springs", "Third row of springs").replace(
        "Row 7 of 1.2 Neaps", "Last row of neaps"
    )
    draft = draft_of(store, "1 Tides", text)
    assert draft is not None
    pages = body_by_page(draft)
    assert [len(page) for page in pages] == [9, 9, 9, 9]
    assert pages[1][4].startswith("Third row of springs")
    assert pages[2][8].startswith("Last row of neaps")
    ranges = {
        node.title: (node.first_page, node.last_page) for node in draft.tree.walk() if node.kind.value == "section"
    }
    assert ranges == {"1 Tides": (1, 3), "1.1 Springs": (2, 2), "1.2 Neaps": (3, 3), "2 Winds": (4, 4)}
    heads = [line.text for page in draft.document.pages for line in page.lines if line.role is LineRole.RUNNING]
    assert heads == [f"Harbour handbook {number}" for number in range(1, 5)]


def test_form_feeds_say_which_page_a_line_goes_on(store: IndexStore) -> None:
    pages = text_of(store, "1 Tides").split(PAGE_BREAK)
    draft = draft_of(store, "1 Tides", PAGE_BREAK.join([pages[0] + "Added.\n", pages[1], pages[2]]))
    assert draft is not None
    assert [len(page) for page in body_by_page(draft)] == [10, 9, 9, 9]


def test_another_number_of_pages_is_refused(store: IndexStore) -> None:
    with pytest.raises(SourceError, match="2 pages"):
        draft_of(store, "1 Tides", f"one{PAGE_BREAK}two")


def test_text_without_the_headings_inside_is_refused_and_names_one(store: IndexStore) -> None:
    with pytest.raises(SourceError, match=r"“1\.1 Springs”"):
        draft_of(store, "1 Tides", "1 Tides\nAll about the tide.\n")


def test_rebuild_from_the_file_comes_to_the_same_sections_and_keeps_the_correction(tmp_path: Path) -> None:
    store = build_in(tmp_path)
    draft = draft_of(store, "1.2 Neaps", "A neap tide is weak.\nIt comes at half moon.")
    assert draft is not None
    publish_draft(store, draft, store.require_current(), "test")
    again = rebuild(store, tmp_path)
    assert again.tree == draft.tree
    by_hand = [node.title for node in again.tree.walk() if node.origin is Origin.HAND]
    assert by_hand == ["1.2 Neaps"]
    assert body_by_page(again)[2] == ["1.2 Neaps", "A neap tide is weak.", "It comes at half moon."]


def test_correction_follows_its_lines_where_they_stand_on_fewer_pages(tmp_path: Path) -> None:
    write_pdf(tmp_path / "handbook.pdf")
    source = read_source("handbook.pdf", tmp_path / "handbook.pdf", SETTINGS.parse)
    document = parse_source(source, SETTINGS.parse)
    rows = [line for _, line in document.lines() if line.role is not LineRole.RUNNING and line.text.strip()]
    base = tuple(line.text for line in rows[9:27])  # sections 1.1 and 1.2, of page 2 and page 3
    new = ("1.1 Springs", "High water.", "1.2 Neaps", "Low water.")
    graft = Graft("n1", "1.1 Springs", "v000001", base, new, (0, 0, 1, 1))
    apart = apply_grafts(document, [graft], SETTINGS.parse)
    assert [len(page) for page in body_by_page_of(apart)] == [9, 2, 2, 9]
    one_page = replace(document, pages=(Page(1, "1", 0, tuple(rows)),))
    together = apply_grafts(one_page, [graft], SETTINGS.parse)
    texts = tuple(line.text for line in rows)
    assert body_by_page_of(together) == [[*texts[:9], *new, *texts[27:]]]
    assert together.grafts[0].span == (9, 13)
