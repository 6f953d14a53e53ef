"""A model behind a meter: calls, tokens and seconds, answers from a cache included at what they cost when made."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.llm.base import (
    Generation,
    GenerationRequest,
    ModelDescription,
    OnGeneration,
    OnScore,
    Score,
    ScoreRequest,
    TextModel,
)


@dataclass(slots=True)
class Spent:
    """What was asked so far. Seconds are wall clock inside `generate` and `score`."""

    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


class MeteredModel:
    """Another model, with `spent`."""

    def __init__(self, inner: TextModel) -> None:
        self.inner = inner
        self.spent = Spent()

    def describe(self) -> ModelDescription:
        """As the inner model."""
        return self.inner.describe()

    def count_tokens(self, text: str) -> int:
        """As the inner model."""
        return self.inner.count_tokens(text)

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """As the inner model."""
        return self.inner.count_prompt_tokens(system, user)

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """As the inner model."""
        started = time.monotonic()
        results = self.inner.generate(requests, on_result=on_result)
        self.spent.seconds += time.monotonic() - started
        self.spent.calls += len(results)
        self.spent.cached_calls += sum(result.cached for result in results)
        self.spent.input_tokens += sum(result.input_tokens for result in results)
        self.spent.output_tokens += sum(result.output_tokens for result in results)
        return results

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """As the inner model."""
        started = time.monotonic()
        results = self.inner.score(requests, on_result=on_result)
        self.spent.seconds += time.monotonic() - started
        self.spent.calls += len(results)
        self.spent.cached_calls += sum(result.cached for result in results)
        self.spent.input_tokens += sum(result.input_tokens for result in results)
        return results

    def close(self) -> None:
        """Close the inner model."""
        self.inner.close()
