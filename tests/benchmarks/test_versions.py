"""The claims about ids on real version series; the whole table is printed by `python -m tests.benchmarks.versions`."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pageindex_local.records import Node, NodeKind
from pageindex_local.settings import read_settings
from pageindex_local.tree.identity import assign_ids
from pageindex_local.tree.match_report import MatchReport
from tests.benchmarks.versions import SERIES, TRUTHS, Pair, Truth, carry_ids, iter_pairs, judge, load_version, measure


@cache
def read_series(data: Path, series: str) -> tuple[Pair, ...]:
    """All pairs of a series; two tests look at them."""
    return tuple(iter_pairs(data, series))


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_carry_real_series_keeps_the_id_of_every_unchanged_section(shared_data: Path, series: str) -> None:
    pairs = read_series(shared_data / "versions", series)

    assert len(pairs) == 9
    for pair in pairs:
        row = measure(pair)
        assert row.kept == row.unchanged, f"{series} {pair.old_name} > {pair.new_name}"
        assert row.unchanged > 0


@pytest.mark.data
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.series)
def test_carry_pair_known_by_hand_loses_few_ids_and_gives_none_away(shared_data: Path, truth: Truth) -> None:
    pairs = read_series(shared_data / "versions", truth.series)
    pair = next(pair for pair in pairs if pair.new_name == truth.new)

    changed, lost, wrong = judge(pair, truth)

    assert changed > 10
    assert wrong == []
    assert len(lost) <= 0.05 * changed, lost


@pytest.mark.data
@pytest.mark.slow
def test_carry_pdf_with_a_page_inserted_in_front_touches_the_front_matter_only(
    shared_data: Path, tmp_path: Path
) -> None:
    source = shared_data / "outline-dev" / "debian-policy.pdf"

    def insert(pdf: Any, outline: list[Any]) -> None:
        page = pdf.new_page(0)
        page.insert_text((72, 100), "This notice was put in front of the second edition.")
        pdf.set_toc([[level, title, number + 1] for level, title, number in outline])

    old, new, report = _carry_pdf(source, tmp_path, insert)

    assert new.keys() == old.keys()
    assert {old[node_id].title for node_id in report.with_change("edited")} == {"Front matter"}
    assert report.with_change("moved") == report.with_change("retitled") == ()
    for node_id, node in new.items():
        if node.kind is NodeKind.SECTION:
            assert (node.first_page, node.last_page) == (old[node_id].first_page + 1, old[node_id].last_page + 1)


@pytest.mark.data
@pytest.mark.slow
def test_carry_pdf_with_pages_of_a_chapter_moved_keeps_every_id(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "outline-dev" / "debian-policy.pdf"
    moved_title = "Introduction and scope of these appendices"

    def move(pdf: Any, outline: list[Any]) -> None:
        tops = [place for place, (level, _, _) in enumerate(outline) if level == 1]
        place = next(place for place in tops if outline[place][1] == moved_title)
        after = tops[tops.index(place) + 1]
        first, last = outline[place][2] - 1, outline[after][2] - 1
        order = [*range(first), *range(last, pdf.page_count), *range(first, last)]
        numbers = {page: number for number, page in enumerate(order, 1)}
        pdf.select(order)
        rows = [*outline[:place], *outline[after:], *outline[place:after]]
        pdf.set_toc([[level, title, numbers[number - 1]] for level, title, number in rows])

    old, new, report = _carry_pdf(source, tmp_path, move)

    assert new.keys() == old.keys()
    assert [old[node_id].title for node_id in report.with_change("moved")] == [moved_title]
    # The last lines before a place where pages were cut out or put in may belong to a neighbour now.
    assert len(report.with_change("edited")) <= 4


def _carry_pdf(
    source: Path, folder: Path, change: Callable[[Any, list[Any]], None]
) -> tuple[Mapping[str, Node], Mapping[str, Node], MatchReport]:
    """The nodes of a PDF before and after a change to its pages, and the report."""
    import pymupdf

    for name in ("old", "new"):
        (folder / name).mkdir()
        pdf = pymupdf.open(source)
        if name == "new":
            change(pdf, pdf.get_toc())
        pdf.save(folder / name / "manual.pdf")
        pdf.close()
    settings = read_settings()
    old_document, draft = load_version(folder / "old", settings)
    old = assign_ids(draft, None, doc_id="m", version_id="v000001", document=old_document).tree
    document, draft = load_version(folder / "new", settings)
    result = carry_ids(old_document, old, document, draft, "m", "v000002")
    return old.nodes, result.tree.nodes, result.report
