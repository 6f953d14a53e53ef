"""Budgets: nothing is cut that nobody asked to have cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.errors import PromptTooLongError
from pageindex_local.llm.base import GenerationRequest
from pageindex_local.llm.budget import check_prompt_fits, cut_to_tokens, fits, room_for_text
from pageindex_local.llm.fakes import FunctionModel, count_word_pieces


def test_check_prompt_fits_at_the_edge_passes_and_beyond_says_by_how_much() -> None:
    check_prompt_fits(90, 10, 100)
    with pytest.raises(PromptTooLongError, match="by 3"):
        check_prompt_fits(90, 13, 100, purpose="a summary")


def test_room_for_text_filled_to_the_brim_fits_and_one_word_more_does_not() -> None:
    model = FunctionModel(lambda _: "", context_tokens=600)
    room = room_for_text(model, "system words", "task:", 40)
    assert fits(model, GenerationRequest("task:" + " a" * room, 40, system="system words"))
    assert not fits(model, GenerationRequest("task:" + " a" * (room + 1), 40, system="system words"))


@given(text=st.text(alphabet="ab .\n", max_size=80), tokens=st.integers(-1, 30))
def test_cut_to_tokens_is_the_longest_start_of_whole_words(text: str, tokens: int) -> None:
    cut = cut_to_tokens(text, tokens, count_word_pieces)
    assert text.startswith(cut)
    assert count_word_pieces(cut) <= max(0, tokens)
    if tokens > 0 and cut != text:
        ends = [end for end in range(len(cut) + 1, len(text)) if text[end].isspace()] + [len(text)]
        assert count_word_pieces(text[: ends[0]]) > tokens
