import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from pageindex_local.query import fulltext
from pageindex_local.query.fulltext import build_search_index, open_search_index, search_path
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release
from pageindex_local.store.verify import verify_index
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, ORCHARD, filler, publish

BODY = (1.0, 1.0, 1.0)


def pages_with(store: IndexStore, release: Release, doc_id: str, word: str) -> set[int]:
    with open_search_index(store, release) as index:
        document = next(doc for doc in index.documents.values() if doc.doc_id == doc_id)
        rows = index.page_hits(word, document.page_rows, BODY).rows
        pages = index.pages(document)
        return {pages[row].page_number for row in rows}


def everything(path: Path) -> list[tuple[object, ...]]:
    """All rows by document, without the row numbers, which depend on history."""
    connection = sqlite3.connect(path)
    rows: list[tuple[object, ...]] = []
    columns = "doc_key, first_page_row, last_page_row, first_passage_row, last_passage_row"
    documents = connection.execute(f"SELECT {columns} FROM document ORDER BY doc_key").fetchall()
    for key, first, last, first_passage, last_passage in documents:
        rows += [
            (key, *row)
            for row in connection.execute(
                "SELECT page_number, figures, mentions, content_hash, titles, head, body FROM page "
                "JOIN page_text ON page_text.rowid = page_row WHERE page_row BETWEEN ? AND ? ORDER BY page_row",
                (first, last),
            )
        ]
        rows += [
            (key, *row)
            for row in connection.execute(
                "SELECT node_id, first_page, last_page, titles, body FROM passage "
                "JOIN passage_text ON passage_text.rowid = passage_row WHERE passage_row BETWEEN ? AND ? "
                "ORDER BY passage_row",
                (first_passage, last_passage),
            )
        ]
    connection.close()
    return rows


def test_open_search_index_without_a_file_builds_it(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    assert not search_path(store, release).exists()
    assert pages_with(store, release, "orchard.pdf", "hives") == {2}
    assert search_path(store, release).exists()


def test_page_hits_of_one_document_never_name_another(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    assert pages_with(store, release, "harbour.pdf", "hives") == set()
    assert pages_with(store, release, "harbour.pdf", "ropes") != set()


def test_page_hits_find_other_forms_of_a_word(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"orchard.pdf": ORCHARD})
    assert pages_with(store, release, "orchard.pdf", "pruning") == {1}


@pytest.mark.parametrize("damage", [b"", b"not a database", None])
def test_open_search_index_of_a_damaged_file_builds_it_again(tmp_path: Path, damage: bytes | None) -> None:
    store, release = publish(tmp_path, {"orchard.pdf": ORCHARD})
    path = build_search_index(store, release)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert pages_with(store, release, "orchard.pdf", "hives") == {2}


def test_build_search_index_from_the_previous_equals_one_from_nothing(tmp_path: Path) -> None:
    store, first = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    build_search_index(store, first)
    changed = [*ORCHARD, Section("cider", "Cider", ["Cider ferments for six weeks in oak.", *filler("cider")])]
    store, second = publish(tmp_path, {"orchard.pdf": changed})
    rows = everything(build_search_index(store, second))
    search_path(store, second).unlink()
    assert rows == everything(build_search_index(store, second))
    assert any("cider" in str(row).lower() for row in rows)


def test_build_search_index_from_the_previous_reads_only_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, first = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    build_search_index(store, first)
    store, second = publish(tmp_path, {"orchard.pdf": ORCHARD[:1]})
    opened: list[str] = []
    open_document = IndexStore.open_document

    def watch(self: IndexStore, release: Release, doc_key: str) -> object:
        opened.append(release.documents[doc_key].doc_id)
        return open_document(self, release, doc_key)

    monkeypatch.setattr(IndexStore, "open_document", watch)
    build_search_index(store, second)
    assert opened == ["orchard.pdf"]


def test_open_search_index_in_a_read_only_folder_still_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, release = publish(tmp_path, {"orchard.pdf": ORCHARD})

    def refuse(*arguments: object) -> Path:
        raise PermissionError(13, "read-only medium")

    monkeypatch.setattr(fulltext, "build_search_index", refuse)
    assert pages_with(store, release, "orchard.pdf", "hives") == {2}
    assert not search_path(store, release).exists()


def test_page_hits_of_query_syntax_searches_for_the_words(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"orchard.pdf": ORCHARD})
    for text in ('hives" OR "apple', "body : hives", "hives NOT bees", 'NEAR("a" "b")', '"', "*"):
        assert pages_with(store, release, "orchard.pdf", text) in (set(), {2})


def test_page_rows_count_the_pages_that_name_a_title(tmp_path: Path) -> None:
    sections = [
        Section("plan", "Annual Rope Plan", filler("plan", 9)),
        *(Section(f"s{n}", f"Part {n}", [f"See the annual rope plan, point {n}.", *filler("x", 8)]) for n in range(3)),
    ]
    store, release = publish(tmp_path, {"plan.pdf": sections})
    with open_search_index(store, release) as index:
        (document,) = index.documents.values()
        assert [row.mentions for row in index.pages(document).values()] == [3, 0, 0, 0]


def publish_many(root: Path, count: int) -> tuple[IndexStore, list[Release]]:
    """Releases in each of which one document changes, with their search files; the other stays."""
    store, first = publish(root, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    build_search_index(store, first)
    releases = [first]
    for number in range(1, count):
        changed = [*ORCHARD, Section("cider", "Cider", [f"Barrel {number} of cider.", *filler(f"cider {number}")])]
        releases.append(publish(root, {"orchard.pdf": changed})[1])
        build_search_index(store, releases[-1])
    return store, releases


def files_of(store: IndexStore, releases: Sequence[Release]) -> list[bool]:
    return [search_path(store, release).exists() for release in releases]


def test_files_of_old_releases_are_dropped_once_a_newer_one_is_there(tmp_path: Path) -> None:
    store, releases = publish_many(tmp_path, 5)
    assert files_of(store, releases) == [False, False, False, True, True]
    assert verify_index(store).is_clean
    seals = {path.name.removesuffix(".sha256") for path in store.search_folder.glob("*.sha256")}
    assert seals == {path.name for path in store.search_folder.glob("*.sqlite")}


def test_file_of_a_release_that_somebody_reads_stays(tmp_path: Path) -> None:
    store, releases = publish_many(tmp_path, 2)
    with store.lease(releases[0]):
        publish_many(tmp_path, 2)
        assert files_of(store, releases) == [True, False]


def test_reader_with_an_open_file_goes_on_when_it_is_dropped(tmp_path: Path) -> None:
    store, releases = publish_many(tmp_path, 1)
    with open_search_index(store, releases[0]) as index:
        publish_many(tmp_path, 4)
        assert files_of(store, releases) == [False]
        document = next(doc for doc in index.documents.values() if doc.doc_id == "orchard.pdf")
        assert index.page_hits("hives", document.page_rows, BODY).rows


def test_dropped_file_is_made_again_from_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, releases = publish_many(tmp_path, 4)
    opened: list[str] = []
    open_document = IndexStore.open_document

    def watch(self: IndexStore, release: Release, doc_key: str) -> object:
        opened.append(release.documents[doc_key].doc_id)
        return open_document(self, release, doc_key)

    monkeypatch.setattr(IndexStore, "open_document", watch)
    assert pages_with(store, releases[0], "orchard.pdf", "cider") == set()
    assert opened == ["orchard.pdf"]  # of two documents the one that differs
    made = everything(search_path(store, releases[0]))
    for path in store.search_folder.glob("*.sqlite"):
        path.unlink()
    assert made == everything(build_search_index(store, releases[0]))


def test_file_is_made_from_the_release_that_differs_least_and_not_the_newest(tmp_path: Path) -> None:
    store, first = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    build_search_index(store, first)
    build_search_index(store, publish(tmp_path, {"harbour.pdf": HARBOUR[:1], "orchard.pdf": ORCHARD[:1]})[1])
    back = store.rollback(first.name)
    marked = sqlite3.connect(search_path(store, first))
    marked.execute("INSERT INTO meta VALUES ('mark', 'first')")
    marked.commit()
    marked.close()
    search_path(store, first).with_suffix(".sqlite.sha256").unlink()
    copy = sqlite3.connect(build_search_index(store, back))
    assert copy.execute("SELECT value FROM meta WHERE key = 'mark'").fetchone() == ("first",)
    copy.close()


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_damaged_file_is_no_beginning_for_the_next(tmp_path: Path, damage: str) -> None:
    store, releases = publish_many(tmp_path, 1)
    path = search_path(store, releases[0])
    whole = bytearray(path.read_bytes())
    if damage == "flipped":
        whole[len(whole) // 2] ^= 255
    path.write_bytes(bytes({"cut": whole[: len(whole) // 2], "flipped": whole, "empty": b""}[damage]))
    second = publish(tmp_path, {"orchard.pdf": ORCHARD[:1]})[1]
    rows = everything(build_search_index(store, second))
    for file in store.search_folder.glob("*.sqlite"):
        file.unlink()
    assert rows == everything(build_search_index(store, second))


def test_file_dropped_at_the_moment_of_opening_is_made_for_this_one_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, releases = publish_many(tmp_path, 4)

    def lose(store: IndexStore, release: Release) -> Path:
        path = build_search_index(store, release)
        path.unlink()
        return path

    monkeypatch.setattr(fulltext, "build_search_index", lose)
    assert pages_with(store, releases[0], "orchard.pdf", "hives") == {2}


def test_search_file_can_be_read_by_whoever_can_read_the_index(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    manifest = next(tmp_path.rglob("manifest.json"))
    assert build_search_index(store, release).stat().st_mode == manifest.stat().st_mode
