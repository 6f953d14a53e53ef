from collections.abc import Sequence

import pytest

from pageindex_local.candidates import Role
from pageindex_local.chunking import Chunk, cut_chunks
from pageindex_local.errors import ModelError
from pageindex_local.headings.evidence import HeadingEvidence
from pageindex_local.llm.base import Generation, GenerationRequest, OnGeneration
from pageindex_local.llm.fakes import Fault, FaultyModel, FunctionModel, HeadingReaderModel, ScriptedModel
from pageindex_local.llm.grammar import render_picks
from pageindex_local.records import Heading, Origin
from pageindex_local.tree.merge import merge_mini_tocs
from pageindex_local.tree.mini_toc import FAILED_CONTROLS, UNCHECKED, MiniToc, build_mini_tocs, describe_degraded
from tests.unit.tree.printed import print_blocks, print_pages, tree_settings

PRINTED = print_pages(["# 1 Cats", "Cats purr.", "# 1.1 Coat", "Fur.", "Not a heading", "More."])
CANDIDATES = (*PRINTED.headings, Heading("Not a heading", 3, (4, 5), 1, Origin.LAYOUT, 0.3))
PARAGRAPH = [
    "Most of them sleep for twelve hours and more in a day,",
    "which their owners take for laziness although it is not:",
    "they hunt at dawn and dusk and have to rest between them,",
    "as all animals do that live on what they catch.",
]
BY_MODEL = tree_settings(strategy="model")
AUTO = tree_settings(strategy="auto")


def _chunks(
    evidence: Sequence[Heading] = (), needs_model: tuple[tuple[int, int], ...] = (), strategy: str = "model"
) -> tuple[Chunk, ...]:
    settings = tree_settings(strategy=strategy)
    found = HeadingEvidence(tuple(evidence), CANDIDATES, (), needs_model)
    return cut_chunks(PRINTED.document, found, len, settings)


def test_build_picks_become_headings_with_titles_of_the_document() -> None:
    model = ScriptedModel(["1:1\n2:2"], strength="capable")
    (part,) = build_mini_tocs(_chunks(), model, BY_MODEL)
    assert [(item.heading.title, item.asked_level) for item in part.items] == [("1 Cats", 1), ("1.1 Coat", 2)]
    assert {item.heading.origin for item in part.items} == {Origin.MODEL}
    assert (part.calls, part.problem) == (1, "")


def test_build_prompt_holds_local_numbers_and_no_pages() -> None:
    model = ScriptedModel(["none"], strength="capable")
    build_mini_tocs(_chunks(), model, BY_MODEL)
    listed = model.history[0].user
    assert listed.splitlines() == [
        "1: 1 Cats (large, bold)",
        "   Cats purr.",
        "2: 1.1 Coat (large, bold)",
        "   Fur.",
        "3: Not a heading",
        "   More.",
    ]


def test_build_equal_chunks_give_equal_prompts_wherever_they_stand() -> None:
    late = print_pages(*[["filler"]] * 7, ["# 1 Cats", "Cats purr.", "# 1.1 Coat", "Fur.", "Not a heading", "More."])
    moved = [Heading(h.title, h.level, (h.span[0] + 7, h.span[1] + 7), 8, h.origin, h.confidence) for h in CANDIDATES]
    first, second = ScriptedModel(["none"], strength="capable"), ScriptedModel(["none"], strength="capable")
    build_mini_tocs(_chunks(), first, BY_MODEL)
    chunks = cut_chunks(late.document, HeadingEvidence((), tuple(moved), ()), len, BY_MODEL)
    build_mini_tocs(chunks, second, BY_MODEL)
    assert first.history == second.history


def test_build_confirmed_evidence_keeps_its_origin_and_level() -> None:
    outline = Heading("1 Cats", 2, (0, 1), 1, Origin.OUTLINE, 0.95)
    model = ScriptedModel(["1:6"], strength="capable")
    (part,) = build_mini_tocs(_chunks([outline]), model, BY_MODEL)
    assert part.items[0].heading == outline
    assert part.items[0].asked_level is None


def test_build_evidence_that_the_model_leaves_out_is_dropped_but_unprinted_stays() -> None:
    unprinted = Heading("Cover", 1, (0, 0), 1, Origin.OUTLINE, 0.9)
    model = ScriptedModel(["2:1"], strength="capable")
    (part,) = build_mini_tocs(_chunks([unprinted, *PRINTED.headings]), model, BY_MODEL)
    assert [item.heading.title for item in part.items] == ["Cover", "1.1 Coat"]


def test_build_auto_with_enough_evidence_asks_nothing() -> None:
    model = ScriptedModel([], strength="capable")
    (part,) = build_mini_tocs(_chunks(PRINTED.headings, strategy="auto"), model, AUTO)
    assert [item.heading for item in part.items] == list(PRINTED.headings)
    assert model.history == []


def test_build_auto_never_asks_a_small_model() -> None:
    chunks = _chunks(PRINTED.headings[:1], needs_model=((2, 6),), strategy="auto")
    model = ScriptedModel([], strength="small")
    (part,) = build_mini_tocs(chunks, model, AUTO)
    assert [item.heading for item in part.items] == [PRINTED.headings[0]]


def test_build_auto_asks_a_capable_model_about_open_regions_only() -> None:
    chunks = _chunks(PRINTED.headings[:1], needs_model=((2, 6),), strategy="auto")
    model = ScriptedModel(["1:2"], strength="capable")
    (part,) = build_mini_tocs(chunks, model, AUTO)
    assert [item.heading.title for item in part.items] == ["1 Cats", "1.1 Coat"]
    assert model.history[0].user.splitlines()[0] == "# 1 Cats"  # known, and no question


def test_build_without_model_gives_the_evidence() -> None:
    (part,) = build_mini_tocs(_chunks(PRINTED.headings), None, BY_MODEL)
    assert [item.heading for item in part.items] == list(PRINTED.headings)


def test_build_bad_answer_is_asked_again_with_the_reason() -> None:
    faulty = FaultyModel(inner := ScriptedModel(["1:1"], strength="capable"), {0: Fault.BAD_JSON})
    (part,) = build_mini_tocs(_chunks(), faulty, BY_MODEL)
    assert [item.heading.title for item in part.items] == ["1 Cats"]
    assert (part.calls, part.problem) == (2, "")
    assert inner.history[0].attempt == 1
    assert "is not of the form number:level" in inner.history[0].system


@pytest.mark.parametrize("fault", [Fault.BAD_JSON, Fault.CUT, Fault.LOOP, Fault.EMPTY])
def test_build_model_that_always_fails_falls_back_within_bounded_calls(fault: Fault) -> None:
    faulty = FaultyModel(FunctionModel(lambda _: "1:1\n2:1", strength="capable"), dict.fromkeys(range(100), fault))
    (part,) = build_mini_tocs(_chunks(PRINTED.headings), faulty, BY_MODEL)
    assert [item.heading for item in part.items] == list(PRINTED.headings)
    assert part.calls == faulty.requests_seen == BY_MODEL.attempts
    (sentence,) = describe_degraded([part])
    assert sentence.startswith("lines 1-6: headings come from the evidence alone, because the model's answer could not")


def test_build_prompt_beyond_the_window_falls_back_without_a_call() -> None:
    model = FunctionModel(lambda _: "none", context_tokens=64, strength="capable")
    (part,) = build_mini_tocs(_chunks(PRINTED.headings), model, BY_MODEL)
    assert part.problem == "the prompt does not fit the model's window"
    assert model.history == []


def test_build_answer_that_names_plain_text_keeps_the_evidence_without_another_call() -> None:
    printed = print_blocks(["# 1 Cats", *PARAGRAPH, "# 1.1 Coat", *PARAGRAPH])
    chunks = cut_chunks(printed.document, HeadingEvidence(printed.headings, printed.headings, ()), len, BY_MODEL)
    asked = chunks[0].candidates
    everything = render_picks([(number, 1) for number in range(1, len(asked) + 1)])
    model = ScriptedModel([everything], strength="capable")
    (part,) = build_mini_tocs(chunks, model, BY_MODEL)
    assert len(asked) > len(printed.headings)
    assert [item.heading for item in part.items] == list(printed.headings)
    assert (part.calls, part.problem) == (1, FAILED_CONTROLS)


def test_build_small_model_is_not_asked_where_nothing_could_show_that_it_guesses() -> None:
    small = ScriptedModel([])
    (part,) = build_mini_tocs(_chunks(PRINTED.headings), small, BY_MODEL)
    assert [item.heading for item in part.items] == list(PRINTED.headings)
    assert (part.calls, part.problem, small.history) == (0, UNCHECKED, [])


def test_build_without_control_questions_counting_takes_any_answer() -> None:
    printed = print_blocks(["# 1 Cats", *PARAGRAPH, "# 1.1 Coat", *PARAGRAPH])
    chunks = cut_chunks(printed.document, HeadingEvidence((), printed.headings, ()), len, BY_MODEL)
    everything = render_picks([(number, 1) for number in range(1, len(chunks[0].candidates) + 1)])
    trusting = tree_settings(strategy="model", control_questions=False)
    (part,) = build_mini_tocs(chunks, ScriptedModel([everything], strength="capable"), trusting)
    assert [item.heading.title for item in part.items] == ["1 Cats", "1.1 Coat"]


def test_build_answer_that_leaves_plain_text_out_counts() -> None:
    printed = print_blocks(["# 1 Cats", *PARAGRAPH, "# 1.1 Coat", *PARAGRAPH])
    chunks = cut_chunks(printed.document, HeadingEvidence((), printed.headings, ()), len, BY_MODEL)
    picks = [(n, 1) for n, c in enumerate(chunks[0].candidates, 1) if c.role is not Role.PLAIN_TEXT]
    (part,) = build_mini_tocs(chunks, ScriptedModel([render_picks(picks)], strength="capable"), BY_MODEL)
    assert [item.heading.title for item in part.items] == ["1 Cats", "1.1 Coat"]
    assert part.problem == ""


def test_describe_degraded_says_each_reason_once_with_its_places() -> None:
    parts = [MiniToc(f"c{n}", (10 * n, 10 * n + 10), (), 1, "it would not") for n in range(6)]
    parts += [MiniToc("d", (60, 70), (), 2, "it could not"), MiniToc("e", (70, 80), ())]
    assert describe_degraded(parts[::-1]) == describe_degraded(parts)
    assert describe_degraded(parts) == [
        "lines 1-10, 11-20, 21-30 and 3 more stretches: headings come from the evidence alone, because it would not",
        "lines 61-70: headings come from the evidence alone, because it could not",
    ]


def test_build_dead_engine_is_an_error() -> None:
    with pytest.raises(ModelError, match="engine died"):
        build_mini_tocs(_chunks(), ScriptedModel([ModelError("engine died")], strength="capable"), BY_MODEL)


def test_build_many_chunks_hands_all_requests_over_in_one_call() -> None:
    printed = print_pages(*[[f"# {page} Title", "text"] for page in range(1, 101)])
    evidence = HeadingEvidence((), printed.headings, ())
    chunks = cut_chunks(printed.document, evidence, len, BY_MODEL)
    model = _CountingModel()
    parts = build_mini_tocs(chunks, model, BY_MODEL)
    assert model.calls == [len(chunks)]
    assert len(chunks) > 2
    titles = [heading.title for heading in merge_mini_tocs(parts, [chunk.chunk_id for chunk in chunks])]
    assert titles == [heading.title for heading in printed.headings]


class _CountingModel(HeadingReaderModel):
    """Reads headings and keeps the number of requests of each call."""

    def __init__(self) -> None:
        super().__init__(render_picks)
        self.calls: list[int] = []

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        self.calls.append(len(requests))
        return super().generate(requests, on_result=on_result)
