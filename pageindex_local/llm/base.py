"""The interface between the program and a language model. Requests in, generations and scores out.

Batch-first: callers hand over everything they want at once, so that a faster engine changes no caller. No type of an
engine's library crosses this line.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

CAPABLE_PARAMETERS = 3_000_000_000  # a model of so many is asked for more than a sentence, see `ModelDescription`


class Capability(StrEnum):
    """What an engine can do beyond `generate`."""

    SCORE = "score"
    GRAMMAR = "grammar"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What identifies a model and its engine, as recorded in every version.

    `fingerprint` changes when the weights, the chat template or the engine build change. `context_tokens` is the window
    for prompt and answer together. `strength` is `small` below `CAPABLE_PARAMETERS` and `capable`
    above: callers choose how much they ask of a model by it. `sampling` names how tokens are drawn (temperature by
    attempt, seed), as far as a request does not say it.
    """

    name: str
    fingerprint: str
    model_sha256: str
    engine: str
    context_tokens: int
    capabilities: frozenset[Capability]
    strength: str = "small"
    sampling: str = "greedy"


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One completion. `system` and `user` are put into the model's own chat template by the engine.

    Requests of one call that start alike share the work of reading the common part. `grammar` is GBNF with the rule
    `root`. Temperature is 0 for `attempt` 0 and rises with it, together with the seed, so that a retry is not a repeat.
    """

    user: str
    max_tokens: int
    system: str = ""
    grammar: str | None = None
    stop: tuple[str, ...] = ()
    attempt: int = 0
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """What came back. `finish_reason` is `stop` (the model ended, or a stop string) or `length` (cut at max_tokens)."""

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    cached: bool = False


OnGeneration: TypeAlias = Callable[[int, Generation], None]
OnText: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """How likely `continuation` is after `prefix`, both as plain text without a chat template."""

    prefix: str
    continuation: str


@dataclass(frozen=True, slots=True)
class Score:
    """Mean log probability of a continuation's tokens (0 is certain, more negative is less likely)."""

    mean_log_probability: float
    input_tokens: int
    cached: bool = False


OnScore: TypeAlias = Callable[[int, Score], None]


class TextModel(Protocol):
    """A language model. Not for concurrent callers unless an engine says so."""

    def describe(self) -> ModelDescription:
        """Name, fingerprint, window and capabilities. No cost."""
        ...

    def count_tokens(self, text: str) -> int:
        """Length of plain text in the model's own tokens; control tokens inside the text count as plain text."""
        ...

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """Length of a rendered prompt in tokens, chat template included."""
        ...

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """One generation a request, in order.

        `on_result` is told each request's number and generation as soon as it is finished, in any order, so that
        finished work can be kept before the whole call is over.

        Raises:
            PromptTooLongError: a prompt and its `max_tokens` exceed the window. Nothing is cut silently.
            ModelError: the engine failed.
        """
        ...

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """One score a request, in order. Only with `Capability.SCORE`. `on_result` as in `generate`.

        Raises:
            PromptTooLongError: prefix and continuation exceed the window.
            ModelError: the engine failed.
        """
        ...

    def close(self) -> None:
        """Free the model. Safe to call twice."""
        ...


@runtime_checkable
class StreamingModel(Protocol):
    """What an engine with `Capability.STREAM` offers besides: an answer that can be watched while it is written."""

    def stream(self, request: GenerationRequest, on_text: OnText) -> Generation:
        """One generation, told while it is written.

        `on_text` hears the whole text so far whenever it has grown, never anything that a later token takes back (a
        stop string that has only begun, reasoning that is cut out); a cached answer comes at once.

        Raises:
            PromptTooLongError: prompt and `max_tokens` exceed the window.
            ModelError: the engine failed.
        """
        ...


def generate_watched(model: TextModel, request: GenerationRequest, on_text: OnText | None) -> Generation:
    """One generation, told to `on_text` as it grows where the engine can, else once when it is complete.

    Raises:
        PromptTooLongError: prompt and `max_tokens` exceed the window.
        ModelError: the engine failed.
    """
    can_stream = Capability.STREAM in model.describe().capabilities
    if on_text is not None and can_stream and isinstance(model, StreamingModel):
        return model.stream(request, on_text)
    (generation,) = model.generate([request])
    if on_text is not None:
        on_text(generation.text)
    return generation
