"""An open GGUF: jobs in, their consumers fed with logits. Owns the native model, its context and the batch.

Which tokens are read when is decided in `llm.batching`; what is made of the logits in `llm.sampling`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pageindex_local.errors import ModelError, ModelFileError
from pageindex_local.llm.batching import Job, Read, Scheduler, Share
from pageindex_local.llm.llamacpp.native import clear_errors, last_error, native
from pageindex_local.llm.llamacpp.vocabulary import GgufVocabulary
from pageindex_local.llm.llamacpp.weights import free_native, load_weights
from pageindex_local.llm.sampling import Consumer
from pageindex_local.llm.threads import count_physical_cores
from pageindex_local.settings import ModelSettings


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


class Context:
    """The native model, its vocabulary, context and batch. `context_tokens` is the window of one sequence."""

    def __init__(self, weights: Path, settings: ModelSettings, options: EngineOptions) -> None:
        self._options = options
        self._model: Any = None
        self._context: Any = None
        self._batch: Any = None
        self._model = load_weights(weights, repack=options.repack)
        if native.llama_model_has_encoder(self._model) or not native.llama_model_has_decoder(self._model):
            self.close()
            raise ModelFileError("is not a model that continues text", subject=str(weights))
        self.vocabulary = GgufVocabulary(self._model)
        self.parameter_count: int = native.llama_model_n_params(self._model)
        self.engine_version = native.llama_version().decode()
        self.chat_template = (native.llama_model_chat_template(self._model, None) or b"").decode("utf-8", "replace")
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
                f"no context of {self._cells} tokens: {last_error()}",
                subject=str(weights),
                next_step="Lower model.context_tokens or model.parallel_sequences.",
            )
        return context

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
        clear_errors()
        status = native.llama_decode(self._context, self._batch)
        if status:
            raise ModelError(f"decoding {count} tokens failed with status {status}: {last_error()}")

    def _hand_over(self, scheduler: Scheduler[Consumer], read: Read[Consumer], row: int) -> None:
        consumer = read.job.payload
        for offset in range(max(0, read.first_output - read.start), len(read.tokens)):
            pointer = native.llama_get_logits_ith(self._context, row + offset)
            logits = np.ctypeslib.as_array(pointer, (self.vocabulary.size,))
            token = consumer.take(read.start + offset, logits)
            if token is not None:
                scheduler.extend(read.number, token)
        if consumer.ended:
            scheduler.end(read.number)

    def close(self) -> None:
        """Free everything, in the order that llama.cpp wants."""
        free_native(self._batch, self._context, self._model)
        self._batch = self._context = self._model = None
