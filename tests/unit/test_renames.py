"""Documents under another name: recognised by what they hold, one to one, and gone on with."""

import random
from pathlib import Path

import pytest

from pageindex_local.build import BuildJob
from pageindex_local.collection import BuiltVersion, CollectionReport, build_collection, library_builder
from pageindex_local.errors import ModelError, NoTextError
from pageindex_local.ids import make_doc_key
from pageindex_local.llm.lazy import open_lazily
from pageindex_local.planning import Action, Scope
from pageindex_local.settings import read_settings
from pageindex_local.store.bundle import export_bundle, import_bundle
from pageindex_local.store.history import NodeState, resolve_node
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.verify import verify_index
from tests.store_samples import publish_sections, sample_sections
from tests.unit.parsing.pdfs import new_document, save, write

SETTINGS = read_settings(None, {"model": {"name": "fake"}})


def text(subject: str, sections: int = 5) -> str:
    parts = [f"# On {subject}\n"]
    for number in range(sections):
        sentence = (
            f"Whoever deals with {subject} by rule {number} pays {number + 3} crowns for {subject} and keeps them. "
        )
        parts.append(f"## {subject} rule {number}\n\n{sentence * 4}\n")
    return "\n".join(parts)


class Collection:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "documents"
        self.folder.mkdir()
        self.store = IndexStore(folder / "index", "default", SETTINGS.store)
        self._cache = folder

    def write(self, name: str, content: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def move(self, name: str, to: str) -> None:
        (self.folder / to).parent.mkdir(exist_ok=True)
        (self.folder / name).rename(self.folder / to)

    def build(self) -> CollectionReport:
        release = self.store.current()
        model = open_lazily(SETTINGS.model, self._cache / f"{'none' if release is None else release.name}.sqlite")
        builder = library_builder(self.store, SETTINGS, model)
        return build_collection(Scope((self.folder,)), self.store, SETTINGS, model, builder)

    def version(self, name: str) -> StoredVersion:
        return self.store.open_document(self.store.require_current(), make_doc_key(name))

    def ids(self, name: str) -> dict[str, str]:
        return {node.title: node.node_id for node in self.version(name).tree().walk()}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    collection = Collection(tmp_path)
    collection.write("tides.md", text("tides"))
    collection.write("winds.md", text("winds"))
    collection.build()
    return collection


def test_moved_document_keeps_ids_and_summaries_without_a_call(collection: Collection) -> None:
    before, tree = collection.ids("tides.md"), collection.version("tides.md").tree()
    collection.move("tides.md", "sea/tide-tables.md")
    report = collection.build()
    (new,) = [entry for entry in report.documents if entry.doc_id == "sea/tide-tables.md"]
    assert (new.renamed_from, new.usage.model_calls, new.nodes_rebuilt) == ("tides.md", 0, 0)
    assert collection.ids("sea/tide-tables.md") == before
    assert collection.version("sea/tide-tables.md").tree() == tree
    manifest = collection.version("sea/tide-tables.md").manifest
    assert manifest.renamed_from is not None
    assert (manifest.renamed_from.doc_id, manifest.renamed_from.version_id) == ("tides.md", "v000001")
    assert {entry.doc_id for entry in collection.store.require_current().documents.values()} == {
        "sea/tide-tables.md",
        "winds.md",
    }
    assert verify_index(collection.store, deep=True).problems == ()


def test_moved_and_edited_document_costs_the_edited_section(collection: Collection) -> None:
    before = collection.ids("tides.md")
    (collection.folder / "tides.md").unlink()
    collection.write("tide-tables.md", text("tides").replace("by rule 2 pays 5 crowns", "by rule 2 pays 500 crowns"))
    report = collection.build()
    (new,) = [entry for entry in report.documents if entry.action is Action.ADD]
    assert new.renamed_from == "tides.md"
    assert collection.ids("tide-tables.md") == before
    assert 1 <= new.usage.model_calls <= SETTINGS.summary.attempts


def test_moved_document_that_fails_stays_under_its_old_name_until_it_is_built(collection: Collection) -> None:
    before = collection.ids("tides.md")
    collection.move("tides.md", "sea/tide-tables.md")
    collection.write("winds.md", text("gales"))
    library = library_builder(collection.store, SETTINGS, None)

    def build(job: BuildJob) -> BuiltVersion:
        if job.renamed_from is not None:
            raise ModelError("is busy", subject=job.source.doc_id)
        return library(job)

    report = build_collection(Scope((collection.folder,)), collection.store, SETTINGS, None, build)
    entries = {entry.doc_id: entry for entry in report.documents}
    assert report.is_new_release  # for the other document
    assert not entries["tides.md"].is_changed
    assert entries["tides.md"].warnings == ("stays until sea/tide-tables.md, as it is called now, can be built",)
    assert collection.ids("tides.md") == before
    collection.build()
    assert collection.ids("sea/tide-tables.md") == before
    assert make_doc_key("tides.md") not in collection.store.require_current().documents


def test_moved_document_that_cannot_be_read_any_more_stays_without_another_try(collection: Collection) -> None:
    before = collection.ids("tides.md")
    collection.move("tides.md", "sea/tide-tables.md")
    asked: list[str] = []

    def build(job: BuildJob) -> BuiltVersion:
        asked.append(job.source.doc_id)
        raise NoTextError("has no text any more", subject=job.source.doc_id)

    for _ in range(2):
        report = build_collection(Scope((collection.folder,)), collection.store, SETTINGS, None, build)
        assert not report.is_new_release
        assert "sea/tide-tables.md" in [entry.doc_id for entry in report.documents if entry.error]
    assert asked.count("sea/tide-tables.md") == 1
    assert collection.ids("tides.md") == before


def test_old_citations_resolve_to_the_new_name(collection: Collection) -> None:
    collection.write("tides.md", text("tides", sections=4))
    gone = collection.ids("tides.md")["tides rule 4"]
    kept = collection.ids("tides.md")["tides rule 1"]
    collection.build()
    collection.move("tides.md", "tide-tables.md")
    collection.build()
    release = collection.store.require_current()
    assert resolve_node(collection.store, release, kept).doc_id == "tide-tables.md"
    assert resolve_node(collection.store, release, gone).state is NodeState.DELETED


def test_name_that_moves_on_to_another_document_gets_new_ids(collection: Collection) -> None:
    before = collection.ids("tides.md")
    collection.move("tides.md", "old-tides.md")
    collection.build()
    collection.write("tides.md", text("ebb"))
    collection.build()
    assert collection.ids("old-tides.md") == before
    assert not set(collection.ids("tides.md").values()) & set(before.values())


def test_there_and_back_keeps_the_ids(collection: Collection) -> None:
    before = collection.ids("tides.md")
    collection.move("tides.md", "other.md")
    collection.build()
    collection.move("other.md", "tides.md")
    collection.build()
    assert collection.ids("tides.md") == before
    assert collection.version("tides.md").version_id == "v000002"
    assert verify_index(collection.store, deep=True).problems == ()


@pytest.mark.parametrize("is_empty", [True, False])
def test_name_used_again_where_a_bundle_was_imported_gets_new_ids(
    collection: Collection, tmp_path: Path, is_empty: bool
) -> None:
    """The bundle says nothing of the name under which its document got its ids."""
    before = collection.ids("tides.md")
    collection.move("tides.md", "old-tides.md")
    collection.build()
    export_bundle(collection.store, tmp_path / "bundle")
    collection.store = IndexStore(tmp_path / "elsewhere", "default", SETTINGS.store)
    if not is_empty:
        publish_sections(collection.store, sample_sections("one"))
    import_bundle(collection.store, tmp_path / "bundle")
    for year in ("1987", "1988"):  # the second version is no second chance either
        collection.write("tides.md", text("tides") + f"## Year\n\nWritten in {year}.\n\n## {year}\n\nNothing.\n")
        collection.build()
        assert collection.ids("old-tides.md") == before
        assert not set(collection.ids("tides.md").values()) & set(before.values())
    assert verify_index(collection.store, deep=True).is_clean


def test_copy_is_another_document(collection: Collection) -> None:
    collection.write("copy.md", text("tides"))
    report = collection.build()
    assert [entry.renamed_from for entry in report.documents] == [None, None, None]
    assert not set(collection.ids("copy.md").values()) & set(collection.ids("tides.md").values())


def test_moved_folder_pairs_equal_documents_by_file_name(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    for name in ("a/one.md", "a/two.md", "a/three.md"):
        collection.write(name, text("the same"))
    collection.build()
    ids = {name: collection.ids(f"a/{name}") for name in ("one.md", "two.md", "three.md")}
    (collection.folder / "a").rename(collection.folder / "b")
    report = collection.build()
    renamed = {entry.doc_id: entry.renamed_from for entry in report.documents if entry.action is Action.ADD}
    assert renamed == {"b/one.md": "a/one.md", "b/two.md": "a/two.md", "b/three.md": "a/three.md"}
    assert {name: collection.ids(f"b/{name}") for name in ids} == ids


def test_unlike_document_in_place_of_one_that_is_gone_is_new(collection: Collection) -> None:
    (collection.folder / "tides.md").unlink()
    collection.write("recipes.md", "# Soup\n\nBoil water, add salt, and wait until the fish is done. " * 9)
    report = collection.build()
    assert [entry.renamed_from for entry in report.documents] == [None, None, None]


def contract(parties: str, price: str) -> str:
    clauses = [
        f"## Clause {number}\n\n" + " ".join(f"term{number}x{place} of the general conditions" for place in range(40))
        for number in range(6)
    ]
    return "\n\n".join(["# Contract", f"## Parties\n\n{parties}", f"## Price\n\n{price}", *clauses]) + "\n"


def test_sections_of_another_document_after_the_same_template_get_new_ids(collection: Collection) -> None:
    parties = "Between the harbour board of Lund and the smith Olsen, both of age."
    collection.write("crane.md", contract(parties, "The buyer pays nine hundred crowns within ten days of delivery."))
    collection.build()
    before = collection.ids("crane.md")
    (collection.folder / "crane.md").unlink()
    parties = "Miss Vogel lets rooms to the student Petri until autumn."
    collection.write("rooms.md", contract(parties, "Rent amounts to four florins each month; heating is apart."))
    collection.build()
    after = collection.ids("rooms.md")
    assert {after["Parties"], after["Price"]}.isdisjoint(before.values())
    release = collection.store.require_current()
    assert resolve_node(collection.store, release, before["Price"]).state is NodeState.DELETED
    assert verify_index(collection.store, deep=True).is_clean


def test_of_two_equally_like_documents_neither_is_taken(collection: Collection) -> None:
    (collection.folder / "tides.md").unlink()
    collection.write("x.md", text("tides").replace("rule 2", "rule two"))
    collection.write("y.md", text("tides").replace("rule 3", "rule three"))
    report = collection.build()
    assert {entry.renamed_from for entry in report.documents} == {None}


def test_copy_under_a_name_that_was_given_up_gets_new_ids(collection: Collection) -> None:
    ids = collection.ids("tides.md")
    collection.move("tides.md", "other.md")
    collection.build()
    collection.write("tides.md", text("tides"))
    collection.build()
    assert collection.ids("other.md") == ids
    assert not set(collection.ids("tides.md").values()) & set(ids.values())


def test_copy_under_a_later_name_gets_new_ids(collection: Collection) -> None:
    ids = collection.ids("tides.md")
    collection.move("tides.md", "other.md")
    collection.build()
    collection.move("other.md", "tides.md")
    collection.build()
    collection.write("other.md", text("tides"))
    collection.build()
    assert collection.ids("tides.md") == ids
    assert not set(collection.ids("other.md").values()) & set(ids.values())


def test_document_that_was_away_comes_back_with_its_ids(collection: Collection) -> None:
    ids = collection.ids("tides.md")
    (collection.folder / "tides.md").unlink()
    collection.build()
    collection.write("tides.md", text("tides"))
    collection.build()
    assert collection.ids("tides.md") == ids


def write_pdf(collection: Collection, name: str, subject: str, year: int = 1987, reworded: int = 0) -> None:
    """A PDF of six pages with a heading each; the first `reworded` of twelve lines a page say something else."""
    pdf = new_document(6)
    for number, page in enumerate(pdf, 1):
        write(page, 72, 90, f"{number} The {subject} of gate {number}", 16, "hebo")
        for line in range(12):
            words = (
                f"At hour {line} the {subject} of gate {number} is {line * number + 7} ells, as keeper {line} wrote."
            )
            if line < reworded:
                words = " ".join(f"w{year}{number}{line}{place}" for place in range(12))
            write(page, 72, 130 + 14 * line, words)
    pdf.set_metadata({"title": f"{subject} {year}"})
    save(pdf, collection.folder, name)


def renamed(report: CollectionReport) -> dict[str, str | None]:
    return {entry.doc_id: entry.renamed_from for entry in report.documents if entry.action is Action.ADD}


def test_pdf_written_anew_under_another_name_keeps_its_ids(collection: Collection) -> None:
    write_pdf(collection, "depth.pdf", "depth")
    write_pdf(collection, "width.pdf", "width")
    collection.build()
    ids = collection.ids("depth.pdf")
    (collection.folder / "depth.pdf").unlink()
    write_pdf(collection, "soundings.pdf", "depth", year=1988, reworded=1)
    assert renamed(collection.build()) == {"soundings.pdf": "depth.pdf"}
    assert collection.ids("soundings.pdf") == ids
    assert verify_index(collection.store, deep=True).is_clean


def test_pdf_that_shares_half_with_one_that_is_gone_is_new(collection: Collection) -> None:
    write_pdf(collection, "quarter-1.pdf", "depth", year=1987, reworded=5)
    collection.build()
    ids = collection.ids("quarter-1.pdf")
    (collection.folder / "quarter-1.pdf").unlink()
    write_pdf(collection, "quarter-2.pdf", "depth", year=1997, reworded=5)
    assert renamed(collection.build()) == {"quarter-2.pdf": None}
    assert not set(collection.ids("quarter-2.pdf").values()) & set(ids.values())


def test_of_two_pdf_files_equally_like_neither_is_taken(collection: Collection) -> None:
    write_pdf(collection, "depth.pdf", "depth")
    collection.build()
    (collection.folder / "depth.pdf").unlink()
    write_pdf(collection, "x.pdf", "depth", year=1988, reworded=1)
    write_pdf(collection, "y.pdf", "depth", year=1999, reworded=1)
    assert renamed(collection.build()) == {"x.pdf": None, "y.pdf": None}


def test_more_pdf_text_than_can_be_compared_leaves_equal_files_alone(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pdf(collection, "depth.pdf", "depth")
    write_pdf(collection, "width.pdf", "width")
    collection.build()
    (collection.folder / "depth.pdf").unlink()
    write_pdf(collection, "soundings.pdf", "depth", year=1988, reworded=1)
    collection.move("width.pdf", "span.pdf")
    monkeypatch.setattr("pageindex_local.renames._MAX_RUNS", 100)
    assert renamed(collection.build()) == {"soundings.pdf": None, "span.pdf": "width.pdf"}


def test_pdf_that_cannot_be_read_is_no_other_one_and_stops_nothing(collection: Collection) -> None:
    write_pdf(collection, "depth.pdf", "depth")
    collection.build()
    size = (collection.folder / "depth.pdf").stat().st_size
    (collection.folder / "depth.pdf").rename(collection.folder / "torn.pdf")
    (collection.folder / "torn.pdf").write_bytes((collection.folder / "torn.pdf").read_bytes()[: size // 3])
    report = collection.build()
    assert {entry.doc_id: entry.action for entry in report.documents if entry.doc_id.endswith(".pdf")} in (
        {"depth.pdf": Action.REMOVE, "torn.pdf": Action.FAIL},
        {"depth.pdf": Action.REMOVE, "torn.pdf": Action.ADD},  # the library may mend what it finds
    )
    assert renamed(report) in ({}, {"torn.pdf": None})


def test_text_moved_in_itself_and_a_fifth_reworded_under_another_name_keeps_its_ids(collection: Collection) -> None:
    words = random.Random(4)
    vocabulary = [f"{start}{end}" for start in ("anchor", "beacon", "cable", "dredge", "ferry") for end in range(200)]
    sections = {number: [words.choice(vocabulary) for _ in range(120)] for number in range(8)}
    collection.write("log.md", as_markdown(sections, list(range(8))))
    collection.build()
    ids = collection.ids("log.md")
    (collection.folder / "log.md").unlink()
    for body in sections.values():
        for place in words.sample(range(120), 24):
            body[place] = words.choice(vocabulary)
    collection.write("journal/log-2.md", as_markdown(sections, [5, 1, 2, 0, 3, 4, 7, 6]))
    assert renamed(collection.build()) == {"journal/log-2.md": "log.md"}
    kept = collection.ids("journal/log-2.md")
    assert {title: kept[title] for title in kept if title.startswith("Watch")} == {
        title: node_id for title, node_id in ids.items() if title.startswith("Watch")
    }


def as_markdown(sections: dict[int, list[str]], order: list[int]) -> str:
    return "# Log\n\n" + "\n\n".join(f"## Watch {number}\n\n{' '.join(sections[number])}." for number in order) + "\n"
