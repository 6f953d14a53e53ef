"""From logits to answers: one job's logits in, its next token, text or score out. Knows no engine.

Drawing tokens here, and not by the engine's samplers, keeps an impossible choice an error instead of a crash, and shows
a grammar only the few tokens that matter.
"""

import codecs
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pageindex_local.errors import ModelError
from pageindex_local.llm.base import Generation, GenerationRequest, OnText, Score
from pageindex_local.llm.template import certain_text, strip_thinking

CANDIDATES = 64  # tokens looked at first where a grammar or a temperature chooses
Floats = NDArray[np.float32]
Tokens = NDArray[np.intp]


class GrammarState(Protocol):
    """Where an answer stands in its grammar."""

    def admits(self, tokens: Tokens, logits: Floats) -> Tokens:
        """Those of the tokens that may come next."""
        ...

    def accept(self, token: int) -> None:
        """Go on behind a token that is admitted."""
        ...

    def close(self) -> None:
        """Free the state. Safe to call twice."""
        ...


class Vocabulary(Protocol):
    """What a writer needs of an engine."""

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens that end an answer."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """What a token adds to a text."""
        ...

    def make_grammar(self, text: str) -> GrammarState:
        """A fresh grammar state."""
        ...


class Consumer(Protocol):
    """Takes the logits of one job's positions, in order."""

    ended: bool

    def take(self, position: int, logits: Floats, /) -> int | None:
        """The token to go on with, or None."""
        ...

    def close(self) -> None:
        """Free what the engine holds for it. Safe to call twice."""
        ...


class Writer:
    """Draws one request's answer token by token and hands the finished generation over.

    A character whose bytes are spread over tokens appears when its last byte has come; one cut off at the end does not.
    """

    def __init__(
        self,
        request: GenerationRequest,
        vocabulary: Vocabulary,
        prompt_tokens: int,
        random: np.random.Generator | None,
        finish: Callable[[Generation], None],
        on_text: OnText | None = None,
    ) -> None:
        self.ended = False
        self._on_text = on_text
        self._told = ""
        self._request = request
        self._vocabulary = vocabulary
        self._prompt_tokens = prompt_tokens
        self._random = random
        self._finish = finish
        self._text = ""
        self._count = 0
        self._grammar: GrammarState | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def take(self, _position: int, logits: Floats, /) -> int | None:
        """The next token of the answer, or None where it has ended."""
        request = self._request
        if request.grammar is not None and self._grammar is None:
            self._grammar = self._vocabulary.make_grammar(request.grammar)
        token = choose_token(logits, self._grammar, self._random, request.attempt)
        self._count += 1
        if token in self._vocabulary.end_tokens:
            self._end("stop")
            return None
        if self._grammar is not None:
            self._grammar.accept(token)
        self._text += self._decoder.decode(self._vocabulary.token_bytes(token))
        found = [at for stop in request.stop if stop and (at := self._text.find(stop)) >= 0]
        if found:
            self._text = self._text[: min(found)]
            self._end("stop")
        elif self._count >= request.max_tokens:
            self._end("length")
        elif self._on_text is not None:
            self._tell(certain_text(self._text, request.stop, has_grammar=request.grammar is not None))
        return None if self.ended else token

    def close(self) -> None:
        """Free the grammar state."""
        if self._grammar is not None:
            self._grammar.close()
            self._grammar = None

    def _tell(self, text: str) -> None:
        if self._on_text is not None and len(text) > len(self._told):
            self._told = text
            self._on_text(text)

    def _end(self, reason: str) -> None:
        self.ended = True
        self.close()
        text = self._text if self._request.grammar is not None else strip_thinking(self._text)
        self._tell(text)
        self._finish(Generation(text, reason, self._prompt_tokens, self._count))


class Scorer:
    """Adds up the log probabilities of one continuation, whose first token follows position `first`."""

    def __init__(self, continuation: list[int], first: int, input_tokens: int, finish: Callable[[Score], None]) -> None:
        self.ended = False
        self._continuation = continuation
        self._first = first
        self._input_tokens = input_tokens
        self._finish = finish
        self._total = 0.0

    def take(self, position: int, logits: Floats, /) -> int | None:
        """None: the tokens are known."""
        number = position - self._first
        self._total += log_probability(logits, self._continuation[number])
        if number == len(self._continuation) - 1:
            self.ended = True
            self._finish(Score(self._total / len(self._continuation), self._input_tokens))
        return None

    def close(self) -> None:
        """Nothing to free."""


def log_probability(logits: Floats, token: int) -> float:
    """Natural logarithm of a token's probability."""
    largest = float(logits.max())
    return float(logits[token]) - largest - float(np.log(np.exp(logits - largest).sum(dtype=np.float64)))


def temperature(attempt: int) -> float:
    """0 for the first attempt, then 0.5, 0.7, 0.9 and 1 from there on."""
    return min(1.0, 0.3 + 0.2 * attempt) if attempt else 0.0


def choose_token(logits: Floats, grammar: GrammarState | None, random: np.random.Generator | None, attempt: int) -> int:
    """The likeliest token that the grammar admits; with `random`, one drawn from the likeliest `CANDIDATES`.

    Only likely tokens are shown to the grammar first, since it looks at each of them; all tokens only where it admits
    none of those.

    Raises:
        ModelError: the grammar admits no token at all.
    """
    if random is None:
        best = int(logits.argmax())
        if grammar is None or grammar.admits(np.array([best]), logits).size:
            return best
    count = min(CANDIDATES, logits.size)
    tokens: Tokens = np.argpartition(logits, -count)[-count:]
    if grammar is not None:
        tokens = grammar.admits(tokens, logits)
        if not tokens.size:
            tokens = grammar.admits(np.arange(logits.size), logits)
        if not tokens.size:
            raise ModelError("the grammar admits no token of this model's vocabulary")
    tokens = tokens[np.lexsort((tokens, -logits[tokens]))][:count]
    if random is None:
        return int(tokens[0])
    scaled = (logits[tokens] - logits[tokens[0]]).astype(np.float64) / temperature(attempt)
    weights = np.exp(scaled)
    return int(random.choice(tokens, p=weights / weights.sum()))
