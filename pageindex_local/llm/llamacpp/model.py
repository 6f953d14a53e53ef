"""The in-process engine: requests in, generations and scores out, by llama.cpp."""

import hashlib
import os
import threading
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version

import numpy as np

from pageindex_local.errors import ModelError
from pageindex_local.ids import hash_parts
from pageindex_local.llm.base import (
    CAPABLE_PARAMETERS,
    Capability,
    Generation,
    GenerationRequest,
    ModelDescription,
    OnGeneration,
    OnScore,
    OnText,
    Score,
    ScoreRequest,
)
from pageindex_local.llm.batching import Job
from pageindex_local.llm.budget import check_prompt_fits
from pageindex_local.llm.gbnf import GrammarError, parse_grammar
from pageindex_local.llm.llamacpp.context import Context, EngineOptions
from pageindex_local.llm.models import PreparedModel, describe_entry
from pageindex_local.llm.sampling import Consumer, Scorer, Writer, temperature
from pageindex_local.llm.template import ChatTemplate
from pageindex_local.settings import ModelSettings

PROMPT_FORM = 1  # counts changes of how prompts are made from requests; part of the fingerprint


class LlamaCppModel:
    """A GGUF in this process.

    Several requests are read and written together in one batch; what prompts have in common at their start is read once
    a call. Greedy for attempt 0; later attempts draw with a seed made from the settings' seed, the prompt and the
    attempt. A result depends on its request and, by rounding, on the requests beside it in the same call; on nothing
    that came before. One caller at a time: a lock makes others wait. Not usable after a fork.

    Raises:
        ModelFileError: not a model that can generate text.
        ModelError: the context cannot be made (memory), or the chat template is unusable.
    """

    def __init__(self, prepared: PreparedModel, settings: ModelSettings, options: EngineOptions | None = None) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._seed = settings.seed
        self._name = prepared.entry.name
        self._context: Context | None = Context(prepared.weights, settings, options or EngineOptions())
        context = self._context
        try:
            self._template = ChatTemplate(
                context.chat_template,
                bos_token=context.vocabulary.token_text(context.vocabulary.bos),
                eos_token=context.vocabulary.token_text(context.vocabulary.eos),
                variables=prepared.entry.template_variables,
                answer_prefix=prepared.entry.answer_prefix,
            )
        except ModelError as error:
            self.close()
            raise ModelError(error.problem, subject=self._name) from None
        strength = "capable" if context.parameter_count >= CAPABLE_PARAMETERS else "small"
        engine = f"llama-cpp-python {version('llama-cpp-python')}, llama.cpp {context.engine_version}"
        template_hash = hashlib.sha256(context.chat_template.encode()).hexdigest()
        prompting = [template_hash, describe_entry(prepared.entry), str(PROMPT_FORM)]
        self._description = ModelDescription(
            name=self._name,
            fingerprint=hash_parts([engine, prepared.weights_sha256, *prompting]),
            model_sha256=prepared.sha256,
            engine=engine,
            context_tokens=context.context_tokens,
            capabilities=frozenset({Capability.SCORE, Capability.GRAMMAR, Capability.STREAM}),
            strength=prepared.entry.strength or strength,
            sampling=f"greedy, then temperature {temperature(1)}+, seed {settings.seed}",
        )

    @property
    def threads(self) -> int:
        """Threads the engine works with."""
        return self._open().threads

    def describe(self) -> ModelDescription:
        """Name, fingerprint, window and capabilities."""
        return self._description

    def count_tokens(self, text: str) -> int:
        """Length of plain text in tokens."""
        with self._lock:
            return len(self._open().vocabulary.tokenise(text))

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """Length of a rendered prompt in tokens."""
        with self._lock:
            return len(self._prompt_tokens(self._open(), system, user))

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """One generation a request, in order. Budgets and grammars are checked before anything is computed.

        Raises:
            PromptTooLongError: a prompt and its `max_tokens` exceed the window.
            ModelError: a grammar does not parse, or the engine failed.
        """
        return self._generate(requests, on_result, None)

    def stream(self, request: GenerationRequest, on_text: OnText) -> Generation:
        """One generation, told as it grows (see `StreamingModel`).

        Raises:
            PromptTooLongError: prompt and `max_tokens` exceed the window.
            ModelError: the grammar does not parse, or the engine failed.
        """
        return self._generate([request], None, on_text)[0]

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """One score a request, in order. Prefix and continuation are tokenised apart, so tokens never span both.

        Raises:
            PromptTooLongError: prefix and continuation exceed the window.
            ModelError: an empty continuation, or the engine failed.
        """
        with self._lock:
            context = self._open()
            vocabulary = context.vocabulary
            results: dict[int, Score] = {}

            def finish(index: int, result: Score) -> None:
                results[index] = result
                if on_result is not None:
                    on_result(index, result)

            jobs: list[Job[Consumer]] = []
            for index, request in enumerate(requests):
                prefix = vocabulary.tokenise(request.prefix)
                if vocabulary.add_bos or not prefix:
                    prefix.insert(0, vocabulary.bos if vocabulary.bos >= 0 else vocabulary.eos)
                continuation = vocabulary.tokenise(request.continuation)
                if not continuation:
                    raise ModelError("nothing to score: the continuation has no tokens", subject=self._name)
                check_prompt_fits(len(prefix), len(continuation), context.context_tokens, purpose="scoring")
                scorer = Scorer(continuation, len(prefix) - 1, len(prefix) + len(continuation), partial(finish, index))
                jobs.append(Job(prefix + continuation[:-1], len(prefix) - 1, 0, scorer))
            context.run(jobs)
            return [results[index] for index in range(len(requests))]

    def close(self) -> None:
        """Free the model. Safe to call twice."""
        with self._lock:
            if self._context is not None:
                self._context.close()
                self._context = None

    def _generate(
        self, requests: Sequence[GenerationRequest], on_result: OnGeneration | None, on_text: OnText | None
    ) -> list[Generation]:
        with self._lock:
            context = self._open()
            results: dict[int, Generation] = {}

            def finish(index: int, result: Generation) -> None:
                results[index] = result
                if on_result is not None:
                    on_result(index, result)

            jobs: list[Job[Consumer]] = []
            grammars: set[str] = set()
            for index, request in enumerate(requests):
                tokens = self._prompt_tokens(context, request.system, request.user)
                check_prompt_fits(len(tokens), request.max_tokens, context.context_tokens, purpose=request.purpose)
                if request.grammar is not None and request.grammar not in grammars:
                    self._check_grammar(context, request.grammar)
                    grammars.add(request.grammar)
                random = self._random(request, tokens)
                writer = Writer(
                    request,
                    context.vocabulary,
                    len(tokens),
                    random,
                    partial(finish, index),
                    on_text if index == 0 else None,
                )
                jobs.append(Job(tokens, len(tokens) - 1, request.max_tokens, writer))
            context.run(jobs)
            return [results[index] for index in range(len(requests))]

    def _open(self) -> Context:
        if self._context is None:
            raise ModelError("is closed", subject=self._name)
        if os.getpid() != self._process:
            raise ModelError(
                "was opened before this process was forked", subject=self._name, next_step="Open it in the new process."
            )
        return self._context

    def _prompt_tokens(self, context: Context, system: str, user: str) -> list[int]:
        tokens: list[int] = []
        for part in self._template.parts(system, user):
            tokens += context.vocabulary.tokenise(part.text, control=not part.is_data)
        if context.vocabulary.add_bos and tokens[:1] != [context.vocabulary.bos]:
            tokens.insert(0, context.vocabulary.bos)
        return tokens

    def _check_grammar(self, context: Context, grammar: str) -> None:
        """llama.cpp writes its complaints about a grammar to standard error, so our own parser complains first."""
        try:
            parse_grammar(grammar)
        except GrammarError as error:
            raise ModelError(f"the grammar does not parse: {error}", subject=self._name) from None
        context.vocabulary.make_grammar(grammar).close()

    def _random(self, request: GenerationRequest, tokens: list[int]) -> np.random.Generator | None:
        if request.attempt == 0:
            return None
        material = f"{self._seed} {request.attempt} {tokens}".encode()
        return np.random.default_rng(int.from_bytes(hashlib.sha256(material).digest()[:8], "big"))
