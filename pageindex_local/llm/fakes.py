"""Models without weights that keep a real model's limits: window, token budgets, stop strings, grammars.

For tests, and (`ExtractiveModel`) for runs of the whole program where no model is wanted. They answer by rule and the
same way each time; `FaultyModel` misbehaves on purpose. Nothing here imports an engine.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from pageindex_local.errors import ModelError
from pageindex_local.ids import sha256_hex
from pageindex_local.llm.base import (
    Capability,
    Generation,
    GenerationRequest,
    ModelDescription,
    OnGeneration,
    OnScore,
    OnText,
    Score,
    ScoreRequest,
    TextModel,
)
from pageindex_local.llm.budget import check_prompt_fits
from pageindex_local.llm.gbnf import Grammar, parse_grammar

TEMPLATE_TOKENS = 8  # what a chat template adds to a prompt
_WORD_PIECE = re.compile(r"[^\W\d_]{1,5}|\d{1,3}|[^\w\s]|_")
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"\S.*?[.!?](?=\s|$)|\S.*?$", re.MULTILINE)
_CANDIDATE = re.compile(r"^[ \t]*[\[(]?(\d{1,4})[\]).:|]+[ \t]+(\S.*)$", re.MULTILINE)
_SECTION_NUMBER = re.compile(r"^(?:chapter|part|appendix|section)?\s*((?:\d+|[A-Z])(?:\.\d+)*)[.):]?\s", re.IGNORECASE)
ALL_CAPABILITIES = frozenset({Capability.SCORE, Capability.GRAMMAR, Capability.STREAM})


def count_word_pieces(text: str) -> int:
    """Tokens of the stand-in models: up to five letters, up to three digits, or one other visible character each."""
    return sum(1 for _ in _WORD_PIECE.finditer(text))


class FunctionModel:
    """Answers with what a function makes of the request; the other stand-ins are built on it.

    `history` holds every request it has answered, `closed` whether `close` was called. Scores come from `score_with`,
    or else from the share of the continuation's words that stand in the prefix.
    """

    def __init__(
        self,
        answer_with: Callable[[GenerationRequest], str],
        *,
        score_with: Callable[[ScoreRequest], float] | None = None,
        context_tokens: int = 2_048,
        strength: str = "small",
        capabilities: frozenset[Capability] = ALL_CAPABILITIES,
        name: str = "",
    ) -> None:
        self._answer_with = answer_with
        self._score_with = score_with or _word_overlap
        self._grammars: dict[str, Grammar] = {}
        label = name or type(self).__name__
        self._description = ModelDescription(
            name=label,
            fingerprint=sha256_hex(f"stand-in 1 {label}".encode()),
            model_sha256="",
            engine="stand-in",
            context_tokens=context_tokens,
            capabilities=capabilities,
            strength=strength,
        )
        self.history: list[GenerationRequest] = []
        self.score_history: list[ScoreRequest] = []
        self.closed = False

    def describe(self) -> ModelDescription:
        """The stand-in's name and limits."""
        return self._description

    def count_tokens(self, text: str) -> int:
        """Length in word pieces."""
        return count_word_pieces(text)

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """Length in word pieces plus `TEMPLATE_TOKENS`."""
        return count_word_pieces(system) + count_word_pieces(user) + TEMPLATE_TOKENS

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """One answer a request; all budgets and grammars are checked before the first is answered.

        Raises:
            PromptTooLongError: a prompt and its `max_tokens` exceed the window.
            ModelError: a grammar does not parse, or the answer given for a request breaks its grammar.
        """
        self._check_open()
        for request in requests:
            prompt_tokens = self.count_prompt_tokens(request.system, request.user)
            check_prompt_fits(
                prompt_tokens, request.max_tokens, self._description.context_tokens, purpose=request.purpose
            )
            self._grammar(request)
        results = []
        for index, request in enumerate(requests):
            self.history.append(request)
            result = self._cut(request, self._answer_with(request))
            results.append(result)
            if on_result is not None:
                on_result(index, result)
        return results

    def stream(self, request: GenerationRequest, on_text: OnText) -> Generation:
        """One answer, told word by word.

        Raises:
            PromptTooLongError: prompt and `max_tokens` exceed the window.
            ModelError: as `generate`.
        """
        (result,) = self.generate([request])
        for found in re.finditer(r"\S+", result.text):
            on_text(result.text[: found.end()])
        return result

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """One score a request.

        Raises:
            PromptTooLongError: prefix and continuation exceed the window.
            ModelError: this stand-in was made without the capability, or a continuation is empty.
        """
        self._check_open()
        if Capability.SCORE not in self._description.capabilities:
            raise ModelError("cannot score", subject=self._description.name)
        for request in requests:
            continuation_tokens = count_word_pieces(request.continuation)
            if not continuation_tokens:
                raise ModelError("nothing to score: the continuation has no tokens", subject=self._description.name)
            prefix_tokens = count_word_pieces(request.prefix)
            check_prompt_fits(prefix_tokens, continuation_tokens, self._description.context_tokens, purpose="scoring")
        results = []
        for index, request in enumerate(requests):
            self.score_history.append(request)
            tokens = count_word_pieces(request.prefix) + count_word_pieces(request.continuation)
            result = Score(self._score_with(request), tokens)
            results.append(result)
            if on_result is not None:
                on_result(index, result)
        return results

    def close(self) -> None:
        """Refuse further work, as a freed engine does."""
        self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise ModelError("is closed", subject=self._description.name)

    def _grammar(self, request: GenerationRequest) -> Grammar | None:
        if request.grammar is None:
            return None
        if request.grammar not in self._grammars:
            try:
                grammar = parse_grammar(request.grammar)
                grammar.admits_start("")  # finds a rule that calls itself before reading anything
                self._grammars[request.grammar] = grammar
            except ValueError as error:
                raise ModelError(f"the grammar does not parse: {error}", subject=self._description.name) from None
        return self._grammars[request.grammar]

    def _cut(self, request: GenerationRequest, text: str) -> Generation:
        grammar = self._grammar(request)
        if grammar is not None and not grammar.matches(text):
            raise ModelError(f"the answer given breaks the grammar: {text[:200]!r}", subject=self._description.name)
        return cut_answer(request, text, self.count_prompt_tokens(request.system, request.user))


def cut_answer(request: GenerationRequest, text: str, prompt_tokens: int) -> Generation:
    """A text as a model would have returned it: ended before the first stop string, or cut after `max_tokens`."""
    finish_reason = "stop"
    found = [position for stop in request.stop if stop and (position := text.find(stop)) >= 0]
    if found:
        text = text[: min(found)]
    pieces = list(_WORD_PIECE.finditer(text))
    if len(pieces) > request.max_tokens:
        text = text[: pieces[request.max_tokens].start()]
        finish_reason = "length"
    return Generation(text, finish_reason, prompt_tokens, min(len(pieces), request.max_tokens))


class ScriptedModel(FunctionModel):
    """Gives the replies it was made with, in order; an exception among them is raised instead.

    Raises `ModelError` when it is asked more often than it has replies: a test then asked for more than it said.
    """

    def __init__(
        self, replies: Iterable[str | Exception], *, context_tokens: int = 2_048, strength: str = "small"
    ) -> None:
        self._replies = deque(replies)
        super().__init__(self._next_reply, context_tokens=context_tokens, strength=strength)

    @property
    def replies_left(self) -> int:
        """How many replies have not been asked for."""
        return len(self._replies)

    def _next_reply(self, request: GenerationRequest) -> str:
        if not self._replies:
            raise ModelError(
                f"no scripted reply left for request {len(self.history)} ({request.purpose or 'no purpose'})"
            )
        reply = self._replies.popleft()
        if isinstance(reply, Exception):
            raise reply
        return reply


class ExtractiveModel(FunctionModel):
    """A quick deterministic stand-in for real work: the first sentence of the longest paragraph it is shown.

    Under a grammar it gives the shortest text that obeys it.
    """

    def __init__(self, *, context_tokens: int = 2_048, strength: str = "small", name: str = "fake") -> None:
        super().__init__(self._extract, context_tokens=context_tokens, strength=strength, name=name)

    def _extract(self, request: GenerationRequest) -> str:
        grammar = self._grammar(request)
        return grammar.shortest() if grammar is not None else first_sentence(request.user)


class HeadingReaderModel(FunctionModel):
    """Reads numbered candidate lines (`3: 2.1 Scope`, `[3] Scope`) and names those that look like headings.

    `render` turns (local number, level) pairs into the form that the caller's grammar wants. A line is a heading when
    it starts with a section number (its depth is the level), or is short, capitalised, without full stop (level 1).
    Requests whose purpose is not `purpose` are answered like `ExtractiveModel` does.
    """

    def __init__(
        self,
        render: Callable[[Sequence[tuple[int, int]]], str],
        *,
        purpose: str = "mini_toc",
        context_tokens: int = 2_048,
        strength: str = "capable",
    ) -> None:
        self._render = render
        self._purpose = purpose
        super().__init__(self._read, context_tokens=context_tokens, strength=strength)

    def _read(self, request: GenerationRequest) -> str:
        if request.purpose == self._purpose:
            return self._render(read_candidate_headings(request.user))
        grammar = self._grammar(request)
        return grammar.shortest() if grammar is not None else first_sentence(request.user)


class Fault(StrEnum):
    """What can go wrong with one answer."""

    BAD_JSON = "bad_json"  # an answer that ignores the grammar
    CUT = "cut"  # ended by max_tokens in the middle
    LOOP = "loop"  # the same words until max_tokens
    EMPTY = "empty"
    SLOW = "slow"
    RAISE = "raise"


class FaultyModel:
    """Another model, with faults at chosen requests (counted from 0 over the model's life).

    Grammars do not bind the faulty answers: some servers accept a grammar and ignore it.
    """

    def __init__(self, inner: TextModel, faults: Mapping[int, Fault], *, delay_s: float = 0.05) -> None:
        self._inner = inner
        self._faults = dict(faults)
        self._delay_s = delay_s
        self.requests_seen = 0

    def describe(self) -> ModelDescription:
        """As the inner model, which cannot be watched here: faults come with whole answers."""
        description = self._inner.describe()
        return replace(description, capabilities=description.capabilities - {Capability.STREAM})

    def count_tokens(self, text: str) -> int:
        """As the inner model."""
        return self._inner.count_tokens(text)

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """As the inner model."""
        return self._inner.count_prompt_tokens(system, user)

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """As the inner model, with the faults due.

        Raises:
            PromptTooLongError: as the inner model.
            ModelError: as the inner model, and for `Fault.RAISE`.
        """
        for request in requests:
            prompt_tokens = self._inner.count_prompt_tokens(request.system, request.user)
            check_prompt_fits(
                prompt_tokens, request.max_tokens, self.describe().context_tokens, purpose=request.purpose
            )
        results = []
        for index, request in enumerate(requests):
            fault = self._faults.get(self.requests_seen)
            self.requests_seen += 1
            result = self._answer(request, fault)
            results.append(result)
            if on_result is not None:
                on_result(index, result)
        return results

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """As the inner model."""
        return self._inner.score(requests, on_result=on_result)

    def close(self) -> None:
        """Close the inner model."""
        self._inner.close()

    def _answer(self, request: GenerationRequest, fault: Fault | None) -> Generation:
        prompt_tokens = self._inner.count_prompt_tokens(request.system, request.user)
        match fault:
            case Fault.RAISE:
                raise ModelError(f"fault at request {self.requests_seen - 1}")
            case Fault.BAD_JSON:
                return cut_answer(request, '{"headings": [{"line": ', prompt_tokens)
            case Fault.EMPTY:
                return Generation("", "stop", prompt_tokens, 0)
            case Fault.LOOP:
                return cut_answer(request, "the same again " * request.max_tokens, prompt_tokens)
            case Fault.CUT:
                whole = self._inner.generate([request])[0]
                return Generation(whole.text[: len(whole.text) // 2], "length", prompt_tokens, request.max_tokens)
            case Fault.SLOW:
                time.sleep(self._delay_s)
        return self._inner.generate([request])[0]


def first_sentence(text: str) -> str:
    """The first sentence of the longest paragraph, on one line; empty for blank text."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
    found = _SENTENCE.search(max(paragraphs, key=len, default=""))
    return found.group(0) if found else ""


def read_candidate_headings(prompt: str) -> list[tuple[int, int]]:
    """(local number, level) of the numbered lines of a prompt that look like headings."""
    headings = []
    for number, line in _CANDIDATE.findall(prompt):
        numbered = _SECTION_NUMBER.match(line)
        if numbered:
            headings.append((int(number), numbered.group(1).count(".") + 1))
        elif len(line) <= 60 and line[:1].isupper() and not line.rstrip().endswith((".", ",", ";", ":")):
            headings.append((int(number), 1))
    return headings


def _word_overlap(request: ScoreRequest) -> float:
    known = {word.casefold() for word in _WORD.findall(request.prefix)}
    words = [word.casefold() for word in _WORD.findall(request.continuation)]
    share = sum(word in known for word in words) / len(words) if words else 0.0
    return -6.0 + 5.0 * share
