from dataclasses import replace

import pytest

from pageindex_local.candidates import Candidate, Role
from pageindex_local.chunking import Chunk, cut_chunks
from pageindex_local.controls import passes_controls, passes_decoys
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.records import Heading, Origin
from tests.unit.tree.printed import print_blocks, tree_settings

TEXT = [
    "The crane stands at the end of the quay and turns",
    "through all directions, as long as the wind is weak",
    "and nobody stands below it; its rope is changed in",
    "every spring, and its driver is paid by the ton.",
]


def _chunk(*, settled: int = 0) -> Chunk:
    """Twelve sections of one paragraph; the first `settled` are known from a printed contents list."""
    printed = print_blocks(*[[f"# {number} Section", *TEXT] for number in range(1, 13)])
    headings = [
        replace(heading, origin=Origin.TOC, confidence=1.0) if number < settled else heading
        for number, heading in enumerate(printed.headings)
    ]
    evidence = HeadingEvidence(tuple(headings), tuple(headings), ())
    (chunk,) = cut_chunks(printed.document, evidence, len, tree_settings(strategy="model", chunk_tokens=10_000))
    return chunk


def _numbers(chunk: Chunk, *roles: Role) -> set[int]:
    return {number for number, candidate in enumerate(chunk.candidates, 1) if candidate.role in roles}


def test_add_controls_takes_lines_from_inside_paragraphs() -> None:
    chunk = _chunk()
    plain = [candidate.heading.title for candidate in chunk.candidates if candidate.role is Role.PLAIN_TEXT]
    assert len(plain) == 4
    assert set(plain) <= set(TEXT[1:3])


def test_add_controls_shows_them_like_any_other_question() -> None:
    chunk = _chunk(settled=4)
    for candidate in chunk.candidates:
        assert candidate.entry.startswith(candidate.heading.title)
        assert "\n   " in candidate.entry


def test_add_controls_asks_about_settled_headings_near_questions() -> None:
    chunk = _chunk(settled=4)
    known = [candidate.heading.title for candidate in chunk.candidates if candidate.role is Role.KNOWN_HEADING]
    assert set(known) == {"3 Section", "4 Section"}


def test_add_controls_is_the_same_wherever_the_chunk_stands() -> None:
    printed = print_blocks(["Some front matter"], *[[f"# {number} Section", *TEXT] for number in range(1, 13)])
    evidence = HeadingEvidence(printed.headings, printed.headings, ())
    (moved,) = cut_chunks(printed.document, evidence, len, tree_settings(strategy="model", chunk_tokens=10_000))
    assert [candidate.entry for candidate in moved.shown] == [candidate.entry for candidate in _chunk().shown]


@pytest.mark.parametrize("settled", [0, 4])
def test_pass_controls_fails_answers_that_do_not_judge(settled: int) -> None:
    chunk = _chunk(settled=settled)
    assert not passes_controls(chunk.candidates, range(1, len(chunk.candidates) + 1))
    assert not passes_controls(chunk.candidates, [])
    assert not passes_controls(chunk.candidates, _numbers(chunk, Role.PLAIN_TEXT))


@pytest.mark.parametrize("settled", [0, 4])
def test_pass_controls_passes_right_answers(settled: int) -> None:
    chunk = _chunk(settled=settled)
    assert passes_controls(chunk.candidates, _numbers(chunk, Role.OPEN, Role.KNOWN_HEADING))


def test_pass_controls_allows_a_model_to_drop_most_of_the_evidence() -> None:
    chunk = _chunk()
    assert passes_controls(chunk.candidates, sorted(_numbers(chunk, Role.OPEN))[::3])


def test_pass_decoys_fails_one_wrong_title_in_four_and_passes_none() -> None:
    heading = Heading("Own", 1, (0, 0), 1, Origin.DERIVED, 0.3)
    passages = [Candidate(heading, "", False, titles=("Own", "Another", "Else"), decoy="Else")] * 8
    assert passes_decoys(passages, [(number, number % 2 + 1) for number in range(1, 9)])
    assert not passes_decoys(passages, [(number, 3 if number % 4 == 0 else 1) for number in range(1, 9)])
