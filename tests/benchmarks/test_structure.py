"""A perfect model never makes a tree worse than the evidence it was given, on real and made documents."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pageindex_local.chunking import cut_chunks
from pageindex_local.evaluate.structure import Entry, score_structure
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.records import Heading, Origin
from pageindex_local.tree.merge import merge_mini_tocs
from pageindex_local.tree.mini_toc import build_mini_tocs
from tests.benchmarks.perfect import PerfectModel
from tests.benchmarks.structure import main
from tests.unit.tree.printed import print_blocks, tree_settings

PROSE = [
    "The crane stands at the end of the quay and turns",
    "through all directions, as long as the wind is weak",
    "and nobody stands below it; its rope is changed in",
    "every spring, and its driver is paid by the ton.",
]


@pytest.mark.data
@pytest.mark.parametrize(
    ("dataset", "name"),
    [
        ("outline-dev", "packaging-tutorial.pdf"),
        ("outline-dev", "gs-color-management.pdf"),
        ("outline-finance-dev", "VERIZON_2022_10K.pdf"),
    ],
)
def test_perfect_model_scores_at_least_as_high_as_the_evidence(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], dataset: str, name: str
) -> None:
    arguments = [str(shared_data / dataset), "--only", name, "--hide-outline", "--json"]
    assert main([*arguments, "--strategy", "model", "--model", "perfect", "--out", str(tmp_path)]) == 0
    by_model = json.loads(capsys.readouterr().out)["files"][name]
    assert main(arguments) == 0
    by_evidence = json.loads(capsys.readouterr().out)["files"][name]
    assert by_model["model_calls"] > 0
    assert by_model["given_f1"] == pytest.approx(by_evidence["score"]["f1"])
    assert by_model["score"]["f1"] > by_evidence["score"]["f1"]
    assert by_model["problems"] == []
    written = json.loads((tmp_path / name).with_suffix(".json").read_text(encoding="utf-8"))
    assert written["doc_name"] == name


def test_perfect_model_drops_false_headings_adds_missed_ones_and_keeps_the_rest() -> None:
    printed = print_blocks(
        ["# 1 Quay", *PROSE, "# Wet paint", *PROSE, "# 2 Crane", *PROSE],
        ["# 2.1 Rope", *PROSE, "# 3 Basin", *PROSE, "# 3.1 Depth", *PROSE],
    )
    gold = [
        Entry(1, "1 Quay", 1),
        Entry(1, "2 Crane", 1),
        Entry(2, "2.1 Rope", 2),
        Entry(1, "3 Basin", 2),
        Entry(2, "3.1 Depth", 2),
    ]
    by_title = {heading.title: heading for heading in printed.headings}
    seen = [by_title[title] for title in ("1 Quay", "Wet paint", "2 Crane", "3 Basin")]
    listed = replace(seen[0], origin=Origin.TOC, confidence=1.0)
    evidence = HeadingEvidence((listed, *seen[1:]), printed.headings, ())
    settings = tree_settings(strategy="model")
    model = PerfectModel()
    chunks = cut_chunks(printed.document, evidence, model.count_tokens, settings)
    model.learn(chunks, gold)
    parts = build_mini_tocs(chunks, model, settings)
    headings = merge_mini_tocs(parts, [chunk.chunk_id for chunk in chunks])
    assert [part.problem for part in parts] == [""]
    assert [(heading.title, heading.level) for heading in headings] == [(entry.title, entry.level) for entry in gold]
    assert score_structure(gold, _entries(headings)).f1 == 1.0 > score_structure(gold, _entries(seen)).f1


def test_perfect_model_is_no_prophet_about_lines_that_are_not_shown() -> None:
    printed = print_blocks(["# 1 Quay", *PROSE, "# 2 Crane", *PROSE])
    evidence = HeadingEvidence(printed.headings[:1], printed.headings[:1], ())
    settings = tree_settings(strategy="model")
    model = PerfectModel()
    chunks = cut_chunks(printed.document, evidence, model.count_tokens, settings)
    model.learn(chunks, [Entry(1, "1 Quay", 1), Entry(1, "2 Crane", 1)])
    headings = merge_mini_tocs(build_mini_tocs(chunks, model, settings), [chunk.chunk_id for chunk in chunks])
    assert [heading.title for heading in headings] == ["1 Quay"]


def _entries(headings: tuple[Heading, ...] | list[Heading]) -> list[Entry]:
    return [Entry(heading.level, heading.title, heading.page_number) for heading in headings]
