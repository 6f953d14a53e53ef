"""PDFs of over a hundred pages with a page put in front or a section moved: what a rebuild asks, where it points.

One is made here, the other is a real manual. The truth is the embedded outline, whose pages are shifted with the edit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pageindex_local.build import BuildJob, build_document
from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import Node, NodeKind
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import VersionDraft
from tests.unit.parsing.pdfs import new_document, write

CHAPTERS, PAGES_PER_CHAPTER = 30, 4
NOTICE = "This notice was put in front of the second edition by the printer."
_PARTS = ("pump", "valve", "rotor", "seal", "gauge", "hose", "motor", "spring", "nozzle", "filter", "lever")
_DEEDS = ("opens", "closes", "carries", "holds", "heats", "cools", "turns")


@dataclass(frozen=True)
class Rebuilt:
    """A PDF before and after an edit of its pages, and the prompts of the rebuild."""

    old: VersionDraft
    new: VersionDraft
    full_calls: int
    prompts: list[str]
    outline: list[tuple[str, int]]

    def sections(self, draft: VersionDraft) -> dict[str, Node]:
        return {node.node_id: node for node in draft.tree.walk() if node.kind is NodeKind.SECTION}


@pytest.fixture(scope="module")
def made_pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A title page, then chapters of four pages, each page with a text of its own and a printed page number."""
    pdf = new_document(1 + CHAPTERS * PAGES_PER_CHAPTER)
    write(pdf[0], 72, 200, "Manual of the pumping station", 20, "hebo")
    write(pdf[0], 72, 240, "Edition of the harbour board, in thirty chapters.")
    outline = []
    for chapter in range(1, CHAPTERS + 1):
        for place in range(PAGES_PER_CHAPTER):
            number = 1 + (chapter - 1) * PAGES_PER_CHAPTER + place
            page = pdf[number]
            if place % 2 == 0:
                title = f"{chapter} Chapter {_name(chapter)}" if place == 0 else f"{chapter}.1 Care of {_name(chapter)}"
                write(page, 72, 80, title, 16 if place == 0 else 13, "hebo")
                outline.append([1 if place == 0 else 2, title, number + 1])
            for line in range(12):
                seed = number * 31 + line * 7
                first, deed, second = _PARTS[seed % 11], _DEEDS[seed % 7], _PARTS[(seed // 11) % 11]
                write(page, 72, 120 + 16 * line, f"The {first} of bay {seed} {deed} the {second} behind door {number}.")
            write(page, 290, 800, str(number + 1))
    pdf.set_toc(outline)
    path = tmp_path_factory.mktemp("made") / "manual.pdf"
    pdf.save(path)
    pdf.close()
    return path


def _name(chapter: int) -> str:
    return f"{_PARTS[chapter % 11]}s and {_PARTS[(chapter * 5 + 3) % 11]}s in hall {chapter}"


@pytest.fixture
def real_pdf(shared_data: Path) -> Path:
    return shared_data / "outline-dev" / "debian-policy.pdf"


def insert_page(pdf: Any) -> None:
    """Put a page in front; the outline goes on pointing at the same text."""
    outline = pdf.get_toc()
    pdf.new_page(0).insert_text((72, 100), NOTICE)
    pdf.set_toc([[level, title, number + 1] for level, title, number in outline])


def move_section(title: str) -> Callable[[Any], None]:
    """Move the pages of a top-level section, up to the page of the next one, to the end."""

    def move(pdf: Any) -> None:
        outline = pdf.get_toc()
        tops = [place for place, (level, _, _) in enumerate(outline) if level == 1]
        place = next(place for place in tops if outline[place][1] == title)
        after = tops[tops.index(place) + 1]
        first, last = outline[place][2] - 1, outline[after][2] - 1
        order = [*range(first), *range(last, pdf.page_count), *range(first, last)]
        numbers = {page: number for number, page in enumerate(order, 1)}
        pdf.select(order)
        rows = [*outline[:place], *outline[after:], *outline[place:after]]
        pdf.set_toc([[level, title, numbers[number - 1]] for level, title, number in rows])

    return move


def rebuild(source: Path, folder: Path, change: Callable[[Any], None]) -> Rebuilt:
    """Build a PDF, change it, build it again from the version before; no completion cache takes part."""
    import pymupdf

    settings = read_settings()
    store = IndexStore(folder / "index", "main", settings.store)
    drafts: list[VersionDraft] = []
    counts: list[list[str]] = []
    outline: list[tuple[str, int]] = []
    for number, edit in enumerate((None, change), 1):
        pdf = pymupdf.open(source)
        if edit is not None:
            edit(pdf)
            outline = [(title, page) for _, title, page in pdf.get_toc()]
        (folder / str(number)).mkdir()
        path = folder / str(number) / "manual.pdf"
        pdf.save(path)
        pdf.close()
        model = ExtractiveModel(strength="capable")
        job = BuildJob(
            read_source("manual.pdf", path, settings.parse), f"v{number:06d}", drafts[0].version_id if drafts else None
        )
        previous = store.open_version(job.source.doc_key, drafts[0].version_id) if drafts else None
        drafts.append(build_document(job, previous, _lazy(model), settings))
        counts.append([request.user for request in model.history if request.attempt == 0])
        store.write_version(drafts[-1])
    return Rebuilt(drafts[0], drafts[1], len(counts[0]), counts[1], outline)


def _lazy(model: ExtractiveModel) -> LazyModel:
    return LazyModel(lambda: model, identity="counting")


def check_inserted_page(done: Rebuilt) -> None:
    old, new = done.sections(done.old), done.sections(done.new)
    assert new.keys() == old.keys()
    for node_id, node in new.items():
        assert (node.first_page, node.last_page) == (old[node_id].first_page + 1, old[node_id].last_page + 1)
    report = done.new.report
    tree = done.new.tree
    edited = report.with_change("edited")
    assert edited
    assert all(tree.nodes[tree.path(node_id)[0]].kind is NodeKind.FRONT_MATTER for node_id in edited)
    assert not {node_id for change in ("moved", "retitled") for node_id in report.with_change(change)} & new.keys()
    # The front matter has new text, and it and the document read its summary: no section is asked about.
    assert done.full_calls > 50
    above = {parent for node_id in edited for parent in tree.path(node_id)}
    assert len(done.prompts) <= len(above) + 1


def test_rebuild_made_pdf_with_a_page_in_front_asks_nothing_about_sections(made_pdf: Path, tmp_path: Path) -> None:
    done = rebuild(made_pdf, tmp_path, insert_page)

    check_inserted_page(done)
    assert [(node.title, node.first_page) for node in done.sections(done.new).values()] == done.outline


def test_rebuild_made_pdf_with_a_chapter_moved_asks_nothing_about_sections(made_pdf: Path, tmp_path: Path) -> None:
    title = f"7 Chapter {_name(7)}"

    done = rebuild(made_pdf, tmp_path, move_section(title))

    old, new = done.sections(done.old), done.sections(done.new)
    assert new.keys() == old.keys()
    assert [old[node_id].title for node_id in done.new.report.with_change("moved")] == [title]
    assert done.new.report.with_change("edited") == ()
    assert [(node.title, node.first_page) for node in new.values()] == done.outline
    # A capable model describes the document by its chapters in their order; nothing else reads that order.
    assert len(done.prompts) <= 1


@pytest.mark.data
@pytest.mark.slow
def test_rebuild_real_pdf_with_a_page_in_front_asks_nothing_about_sections(real_pdf: Path, tmp_path: Path) -> None:
    check_inserted_page(rebuild(real_pdf, tmp_path, insert_page))


@pytest.mark.data
@pytest.mark.slow
def test_rebuild_real_pdf_with_a_section_moved_asks_about_its_edges_only(real_pdf: Path, tmp_path: Path) -> None:
    title = "Introduction and scope of these appendices"

    done = rebuild(real_pdf, tmp_path, move_section(title))

    old, new = done.sections(done.old), done.sections(done.new)
    report = done.new.report
    assert new.keys() == old.keys()
    assert [old[node_id].title for node_id in report.with_change("moved")] == [title]
    # The last lines before a place where pages were cut out or put in may belong to a neighbour now.
    assert len(report.with_change("edited")) <= 4
    above = {parent for node_id in report.with_change("edited") for parent in done.new.tree.path(node_id)}
    assert len(done.prompts) <= len(above) + 1
    gold = dict(done.outline)
    pages = {node.title: node.first_page for node in new.values() if len(done.outline) == len(gold)}
    assert all(gold[name] == page for name, page in pages.items() if name in gold)
