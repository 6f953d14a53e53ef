"""The stand-ins' own ways; what they share with every model is in tests/contract."""

import pytest

from pageindex_local.errors import ModelError
from pageindex_local.llm.base import GenerationRequest
from pageindex_local.llm.fakes import (
    ExtractiveModel,
    Fault,
    FaultyModel,
    FunctionModel,
    HeadingReaderModel,
    ScriptedModel,
    count_word_pieces,
)
from pageindex_local.llm.grammar import picks_grammar, render_picks

REQUEST = GenerationRequest("Say something.", 12)


def test_count_word_pieces_cuts_words_and_numbers() -> None:
    assert count_word_pieces("The boilers, 12345!") == 1 + 2 + 1 + 2 + 1


def test_scripted_replies_come_in_order_and_then_no_more() -> None:
    model = ScriptedModel(["one", ModelError("planned"), "three"])
    assert model.generate([REQUEST])[0].text == "one"
    with pytest.raises(ModelError, match="planned"):
        model.generate([REQUEST])
    assert model.replies_left == 1
    assert model.generate([REQUEST])[0].text == "three"
    with pytest.raises(ModelError, match="no scripted reply"):
        model.generate([REQUEST])


def test_scripted_reply_that_breaks_the_grammar_is_refused() -> None:
    with pytest.raises(ModelError, match="breaks the grammar"):
        ScriptedModel(["maybe"]).generate([GenerationRequest("?", 5, grammar='root ::= "yes" | "no"')])


def test_extractive_gives_the_first_sentence_of_the_longest_paragraph() -> None:
    prompt = "Summarise.\n\nBread is baked at 220 degrees. The crust is dark. The loaf sounds hollow.\n\nSummary:"
    assert ExtractiveModel().generate([GenerationRequest(prompt, 30)])[0].text == "Bread is baked at 220 degrees."


def test_heading_reader_picks_numbered_and_short_lines() -> None:
    prompt = "1: 2.1 Scope\n2: this is a sentence that goes on.\n3: Overview\n4: 2.1.3 Terms"
    request = GenerationRequest(prompt, 60, grammar=picks_grammar(4), purpose="mini_toc")
    assert HeadingReaderModel(render_picks).generate([request])[0].text == "1:2\n3:1\n4:3"


@pytest.mark.parametrize(
    ("fault", "text", "reason"),
    [(Fault.BAD_JSON, '{"headings"', "stop"), (Fault.EMPTY, "", "stop"), (Fault.LOOP, "the same again", "length")],
)
def test_faulty_misbehaves_at_the_chosen_request_only(fault: Fault, text: str, reason: str) -> None:
    model = FaultyModel(FunctionModel(lambda _: "fine"), {1: fault})
    first, second, third = model.generate([GenerationRequest("?", 12)] * 3)
    assert first.text == third.text == "fine"
    assert second.text.startswith(text)
    assert second.finish_reason in (reason, "length")


def test_faulty_cut_is_half_of_the_answer() -> None:
    result = FaultyModel(FunctionModel(lambda _: "0123456789"), {0: Fault.CUT}).generate([REQUEST])[0]
    assert (result.text, result.finish_reason) == ("01234", "length")


def test_faulty_raise_keeps_what_was_handed_over_before() -> None:
    model = FaultyModel(FunctionModel(lambda _: "fine"), {2: Fault.RAISE})
    seen: list[int] = []
    with pytest.raises(ModelError, match="fault at request 2"):
        model.generate([REQUEST] * 4, on_result=lambda index, _: seen.append(index))
    assert seen == [0, 1]
