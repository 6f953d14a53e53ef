"""The in-process engine: requests in, generations and scores out, by llama.cpp. The only importer of llama_cpp.

Built on the low-level interface, because the high-level one reads one sequence at a time, ignores some schemas in
silence and cuts `max_tokens` without a word. Which tokens are read when is decided in `batching`.
"""

import ctypes
import hashlib
import logging
import os
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pageindex_local.errors import EngineUnavailableError, ModelError, ModelFileError
from pageindex_local.ids import hash_parts
from pageindex_local.llm.base import (
    Capability,
    Generation,
    GenerationRequest,
    ModelDescription,
    OnGeneration,
    OnScore,
    Score,
    ScoreRequest,
)
from pageindex_local.llm.batching import Job, Read, Scheduler, Share
from pageindex_local.llm.budget import check_prompt_fits
from pageindex_local.llm.gbnf import GrammarError, parse_grammar
from pageindex_local.llm.models import PreparedModel, describe_entry
from pageindex_local.llm.sampling import Consumer, Floats, Scorer, Tokens, Writer, temperature
from pageindex_local.llm.template import ChatTemplate
from pageindex_local.llm.threads import count_physical_cores
from pageindex_local.settings import ModelSettings

# Read by the OpenMP run time when llama_cpp is loaded. Threads that spin while another process works make both crawl.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

try:
    import llama_cpp as native
except (ImportError, OSError, RuntimeError) as error:  # a missing package, or a library that cannot be loaded
    raise EngineUnavailableError(
        f"llama-cpp-python cannot be loaded ({error})", next_step="Rebuild it for this machine with `make engine`."
    ) from None

PROMPT_FORM = 1  # counts changes of how prompts are made from requests; part of the fingerprint
CAPABLE_PARAMETERS = 3_000_000_000
_LOG = logging.getLogger(__name__)
_native_errors: deque[str] = deque(maxlen=8)


@native.llama_log_callback  # type: ignore[untyped-decorator]
def _log_native(level: int, text: bytes, _: object) -> None:
    message = text.decode("utf-8", "replace").strip()
    if message and level in (2, 3):
        _native_errors.append(message)
        _LOG.debug("llama.cpp: %s", message)


# The callback object is a module global: were it collected, the next log line would end the process.
native.llama_log_set(_log_native, ctypes.c_void_p(0))


def convert_gguf(source: Path, target: Path, file_type: str) -> None:
    """Write `source` as `target` in another llama.cpp file type (`Q8_0`, `Q4_0`), by llama.cpp's own quantiser.

    Raises:
        ModelFileError: an unknown type, or a file that cannot be converted.
    """
    kind = getattr(native, f"LLAMA_FTYPE_MOSTLY_{file_type.upper()}", None)
    if kind is None:
        raise ModelFileError(f"llama.cpp knows no file type {file_type}", subject=str(source))
    parameters = native.llama_model_quantize_default_params()
    parameters.ftype = kind
    parameters.allow_requantize = True
    parameters.nthread = count_physical_cores()
    _native_errors.clear()
    if native.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(parameters)):
        raise ModelFileError(f"cannot be converted to {file_type}: {_last_native_error()}", subject=str(source))


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What decides speed and not content; the defaults won in tests/benchmarks/engine.py.

    `batch_tokens` are read in one step; `repack` lets llama.cpp lay weights out for the processor. The
    sequences share `cache_cells` tokens of key-value cache at most, or one window where that is larger.
    """

    batch_tokens: int = 512
    flash_attention: bool = True
    repack: bool = True
    cache_cells: int = 8_192


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
        self._handle: _Handle | None = _Handle(prepared.weights, settings, options or EngineOptions())
        handle = self._handle
        try:
            self._template = ChatTemplate(
                handle.chat_template,
                bos_token=handle.token_text(handle.bos),
                eos_token=handle.token_text(handle.eos),
                variables=prepared.entry.template_variables,
                answer_prefix=prepared.entry.answer_prefix,
            )
        except ModelError as error:
            self.close()
            raise ModelError(error.problem, subject=self._name) from None
        strength = "capable" if handle.parameter_count >= CAPABLE_PARAMETERS else "small"
        engine = f"llama-cpp-python {version('llama-cpp-python')}, llama.cpp {handle.engine_version}"
        template_hash = hashlib.sha256(handle.chat_template.encode()).hexdigest()
        prompting = [template_hash, describe_entry(prepared.entry), str(PROMPT_FORM)]
        self._description = ModelDescription(
            name=self._name,
            fingerprint=hash_parts([engine, prepared.weights_sha256, *prompting]),
            model_sha256=prepared.sha256,
            engine=engine,
            context_tokens=handle.context_tokens,
            capabilities=frozenset({Capability.SCORE, Capability.GRAMMAR}),
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
            return len(self._open().tokenise(text))

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
        with self._lock:
            handle = self._open()
            results: dict[int, Generation] = {}

            def finish(index: int, result: Generation) -> None:
                results[index] = result
                if on_result is not None:
                    on_result(index, result)

            jobs: list[Job[Consumer]] = []
            grammars: set[str] = set()
            for index, request in enumerate(requests):
                tokens = self._prompt_tokens(handle, request.system, request.user)
                check_prompt_fits(len(tokens), request.max_tokens, handle.context_tokens, purpose=request.purpose)
                if request.grammar is not None and request.grammar not in grammars:
                    self._check_grammar(handle, request.grammar)
                    grammars.add(request.grammar)
                random = self._random(request, tokens)
                writer = Writer(request, handle, len(tokens), random, partial(finish, index))
                jobs.append(Job(tokens, len(tokens) - 1, request.max_tokens, writer))
            handle.run(jobs)
            return [results[index] for index in range(len(requests))]

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """One score a request, in order. Prefix and continuation are tokenised apart, so tokens never span both.

        Raises:
            PromptTooLongError: prefix and continuation exceed the window.
            ModelError: an empty continuation, or the engine failed.
        """
        with self._lock:
            handle = self._open()
            results: dict[int, Score] = {}

            def finish(index: int, result: Score) -> None:
                results[index] = result
                if on_result is not None:
                    on_result(index, result)

            jobs: list[Job[Consumer]] = []
            for index, request in enumerate(requests):
                prefix = handle.tokenise(request.prefix)
                if handle.add_bos or not prefix:
                    prefix.insert(0, handle.bos if handle.bos >= 0 else handle.eos)
                continuation = handle.tokenise(request.continuation)
                if not continuation:
                    raise ModelError("nothing to score: the continuation has no tokens", subject=self._name)
                check_prompt_fits(len(prefix), len(continuation), handle.context_tokens, purpose="scoring")
                scorer = Scorer(continuation, len(prefix) - 1, len(prefix) + len(continuation), partial(finish, index))
                jobs.append(Job(prefix + continuation[:-1], len(prefix) - 1, 0, scorer))
            handle.run(jobs)
            return [results[index] for index in range(len(requests))]

    def close(self) -> None:
        """Free the model. Safe to call twice."""
        with self._lock:
            if self._handle is not None:
                self._handle.close()
                self._handle = None

    def _open(self) -> "_Handle":
        if self._handle is None:
            raise ModelError("is closed", subject=self._name)
        if os.getpid() != self._process:
            raise ModelError(
                "was opened before this process was forked", subject=self._name, next_step="Open it in the new process."
            )
        return self._handle

    def _prompt_tokens(self, handle: "_Handle", system: str, user: str) -> list[int]:
        tokens: list[int] = []
        for part in self._template.parts(system, user):
            tokens += handle.tokenise(part.text, control=not part.is_data)
        if handle.add_bos and tokens[:1] != [handle.bos]:
            tokens.insert(0, handle.bos)
        return tokens

    def _check_grammar(self, handle: "_Handle", grammar: str) -> None:
        """llama.cpp writes its complaints about a grammar to standard error, so our own parser complains first."""
        try:
            parse_grammar(grammar)
        except GrammarError as error:
            raise ModelError(f"the grammar does not parse: {error}", subject=self._name) from None
        handle.make_grammar(grammar).close()

    def _random(self, request: GenerationRequest, tokens: list[int]) -> np.random.Generator | None:
        if request.attempt == 0:
            return None
        material = f"{self._seed} {request.attempt} {tokens}".encode()
        return np.random.default_rng(int.from_bytes(hashlib.sha256(material).digest()[:8], "big"))


class _GrammarState:
    """The engine's grammar state of one answer."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer

    def admits(self, tokens: Tokens, logits: Floats) -> Tokens:
        """Those of the tokens that may come next."""
        rows = np.empty(tokens.size, dtype=_TOKEN_DATA)
        rows["id"], rows["logit"], rows["p"] = tokens, logits[tokens], 0.0
        data = rows.ctypes.data_as(ctypes.POINTER(native.llama_token_data))
        array = native.llama_token_data_array(data, tokens.size, -1, False)
        native.llama_sampler_apply(self._pointer, ctypes.byref(array))
        admitted: Tokens = tokens[np.isfinite(rows["logit"])]
        return admitted

    def accept(self, token: int) -> None:
        """Go on behind a token that is admitted (any other would end the process)."""
        native.llama_sampler_accept(self._pointer, token)

    def close(self) -> None:
        """Free the state."""
        if self._pointer is not None:
            native.llama_sampler_free(self._pointer)
            self._pointer = None


_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class _Handle:
    """The native model, context and batch, and what is read from them once."""

    def __init__(self, weights: Path, settings: ModelSettings, options: EngineOptions) -> None:
        self._options = options
        self._model: Any = None
        self._context: Any = None
        self._batch: Any = None
        _native_errors.clear()
        native.llama_backend_init()
        parameters = native.llama_model_default_params()
        parameters.n_gpu_layers = 0
        # `make engine` leaves AMX out. A build from elsewhere may have it, and it is reached only by these buffers; on
        # a processor that names AMX but may not use it the first such instruction ends the process.
        parameters.use_extra_bufts = options.repack and b"AMX_INT8 = 1" not in native.llama_print_system_info()
        self._model = native.llama_model_load_from_file(os.fsencode(weights), parameters)
        if not self._model:
            raise ModelFileError(f"llama.cpp cannot load it: {_last_native_error()}", subject=str(weights))
        if native.llama_model_has_encoder(self._model) or not native.llama_model_has_decoder(self._model):
            self.close()
            raise ModelFileError("is not a model that continues text", subject=str(weights))
        self._vocabulary = native.llama_model_get_vocab(self._model)
        self.vocabulary_size: int = native.llama_vocab_n_tokens(self._vocabulary)
        self.bos: int = native.llama_vocab_bos(self._vocabulary)
        self.eos: int = native.llama_vocab_eos(self._vocabulary)
        self.add_bos: bool = native.llama_vocab_get_add_bos(self._vocabulary) and self.bos >= 0
        self.parameter_count: int = native.llama_model_n_params(self._model)
        self.engine_version = native.llama_version().decode()
        self.chat_template = (native.llama_model_chat_template(self._model, None) or b"").decode("utf-8", "replace")
        self.end_tokens = frozenset(
            token for token in range(self.vocabulary_size) if native.llama_vocab_is_eog(self._vocabulary, token)
        )
        self._pieces: dict[int, bytes] = {}
        self.threads = settings.threads or count_physical_cores()
        self.context_tokens = min(settings.context_tokens, native.llama_model_n_ctx_train(self._model))
        self._sequences = settings.parallel_sequences
        self._cells = max(self.context_tokens, min(self._sequences * self.context_tokens, options.cache_cells))
        self._context = self._make_context(weights)
        self._memory: Any = native.llama_get_memory(self._context)
        self._shares_prefixes = not (
            native.llama_model_is_recurrent(self._model) or native.llama_model_is_hybrid(self._model)
        )
        size = options.batch_tokens
        self._batch = native.llama_batch_init(size, 0, 1)
        self._tokens = np.ctypeslib.as_array(self._batch.token, (size,))
        self._positions = np.ctypeslib.as_array(self._batch.pos, (size,))
        self._outputs = np.ctypeslib.as_array(self._batch.logits, (size,))
        np.ctypeslib.as_array(self._batch.n_seq_id, (size,))[:] = 1

    def _make_context(self, weights: Path) -> Any:
        parameters = native.llama_context_default_params()
        parameters.n_ctx = self._cells
        parameters.n_batch = parameters.n_ubatch = self._options.batch_tokens
        parameters.n_seq_max = self._sequences
        parameters.n_threads = parameters.n_threads_batch = self.threads
        parameters.flash_attn_type = (
            native.LLAMA_FLASH_ATTN_TYPE_ENABLED
            if self._options.flash_attention
            else native.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        parameters.kv_unified = True
        parameters.swa_full = True  # a shared start must be complete, also in models with a sliding window
        parameters.no_perf = True
        context = native.llama_init_from_model(self._model, parameters)
        if not context:
            self.close()
            raise ModelError(
                f"no context of {self._cells} tokens: {_last_native_error()}",
                subject=str(weights),
                next_step="Lower model.context_tokens or model.parallel_sequences.",
            )
        return context

    def tokenise(self, text: str, *, control: bool = False) -> list[int]:
        """Tokens of a text without any added at its ends; with `control`, control tokens written out become such."""
        data = text.encode("utf-8", "replace")
        size = len(data) + 8
        buffer = (native.llama_token * size)()
        count = native.llama_tokenize(self._vocabulary, data, len(data), buffer, size, False, control)
        if count < 0:
            raise ModelError(f"a text of {len(text)} characters cannot be tokenised")
        return list(buffer[:count])

    def token_bytes(self, token: int) -> bytes:
        """What a token adds to a text: nothing for control tokens."""
        if token not in self._pieces:
            self._pieces[token] = self._piece(token, special=False)
        return self._pieces[token]

    def token_text(self, token: int) -> str:
        """A token as a template writes it; empty where the model has no such token (a negative number)."""
        return self._piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

    def _piece(self, token: int, *, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = native.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def make_grammar(self, text: str) -> _GrammarState:
        """A fresh grammar state.

        Raises:
            ModelError: the grammar does not parse.
        """
        pointer = native.llama_sampler_init_grammar(self._vocabulary, text.encode(), b"root")
        if not pointer:
            raise ModelError("llama.cpp refuses the grammar (a rule may call itself before reading a character)")
        return _GrammarState(pointer)

    def run(self, jobs: Sequence[Job[Consumer]]) -> None:
        """Work until every job has ended."""
        native.llama_memory_clear(self._memory, False)
        scheduler: Scheduler[Consumer] = Scheduler(
            sequences=self._sequences,
            cell_count=self._cells,
            batch_tokens=self._options.batch_tokens,
            share_prefixes=self._shares_prefixes,
        )
        scheduler.add(jobs)
        try:
            while step := scheduler.next_step():
                self._share(step.shares)
                self._decode(step.reads)
                row = 0
                for read in step.reads:
                    self._hand_over(scheduler, read, row)
                    row += len(read.tokens)
        finally:
            for job in jobs:
                job.payload.close()

    def _share(self, shares: Sequence[Share]) -> None:
        for share in shares:
            if share.source == share.target:
                native.llama_memory_seq_rm(self._memory, share.target, share.length, -1)
            else:
                native.llama_memory_seq_cp(self._memory, share.source, share.target, 0, share.length)

    def _decode(self, reads: Sequence[Read[Consumer]]) -> None:
        count = 0
        for read in reads:
            end = count + len(read.tokens)
            self._tokens[count:end] = read.tokens
            self._positions[count:end] = np.arange(read.start, read.start + len(read.tokens))
            self._outputs[count:end] = self._positions[count:end] >= read.first_output
            for row in range(count, end):
                self._batch.seq_id[row][0] = read.number
            count = end
        self._batch.n_tokens = count
        _native_errors.clear()
        status = native.llama_decode(self._context, self._batch)
        if status:
            raise ModelError(f"decoding {count} tokens failed with status {status}: {_last_native_error()}")

    def _hand_over(self, scheduler: Scheduler[Consumer], read: Read[Consumer], row: int) -> None:
        consumer = read.job.payload
        for offset in range(max(0, read.first_output - read.start), len(read.tokens)):
            pointer = native.llama_get_logits_ith(self._context, row + offset)
            logits = np.ctypeslib.as_array(pointer, (self.vocabulary_size,))
            token = consumer.take(read.start + offset, logits)
            if token is not None:
                scheduler.extend(read.number, token)
        if consumer.ended:
            scheduler.end(read.number)

    def close(self) -> None:
        """Free everything, in the order that llama.cpp wants."""
        if self._batch is not None:
            native.llama_batch_free(self._batch)
            self._batch = None
        if self._context:
            native.llama_free(self._context)
            self._context = None
        if self._model:
            native.llama_model_free(self._model)
            self._model = None


def _last_native_error() -> str:
    return _native_errors[-1] if _native_errors else "no reason given"
