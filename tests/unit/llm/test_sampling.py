import numpy as np
import pytest

from pageindex_local.llm.base import Generation, GenerationRequest
from pageindex_local.llm.sampling import GrammarState, Writer
from pageindex_local.llm.template import certain_text


@pytest.mark.parametrize(
    ("text", "stops", "told"),
    [
        ("Nine crowns", (), "Nine crowns"),
        ("Nine crowns\n", ("\n\n",), "Nine crowns"),
        ("Nine crowns END", ("ENDE", "ROWS"), "Nine crowns "),
        ("<thi", (), ""),
        ("<think>is it nine?", (), ""),
        ("<think>is it nine?</think>\nNine", (), "Nine"),
    ],
)
def test_certain_text_holds_back_what_may_be_taken_back(text: str, stops: tuple[str, ...], told: str) -> None:
    assert certain_text(text, stops, has_grammar=False) == told


class Letters:
    """A vocabulary of single characters; token 0 ends an answer."""

    end_tokens = frozenset({0})

    def token_bytes(self, token: int) -> bytes:
        return bytes([token]) if token else b""

    def make_grammar(self, text: str) -> GrammarState:
        raise AssertionError(text)


def test_writer_tells_nothing_of_a_stop_string() -> None:
    told: list[str] = []
    finished: list[Generation] = []
    request = GenerationRequest("?", 40, stop=("stop",))
    writer = Writer(request, Letters(), 1, None, finished.append, told.append)
    for letter in "at the stable stop":
        logits = np.zeros(128, dtype=np.float32)
        logits[ord(letter)] = 1.0
        writer.take(0, logits)
    assert finished[0].text == "at the stable "
    assert told[-1] == "at the stable "
    assert all("at the stable ".startswith(text) for text in told)
