"""A GGUF that makes vectors: texts in, rows of length 1 out, by a llama.cpp context of its own in embedding mode."""

import os
import threading
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from pageindex_local.errors import ModelError, ModelFileError, SettingsError
from pageindex_local.ids import hash_parts
from pageindex_local.llm.embedding import Matrix
from pageindex_local.llm.llamacpp.native import clear_errors, last_error, native
from pageindex_local.llm.llamacpp.vocabulary import GgufVocabulary
from pageindex_local.llm.llamacpp.weights import free_native, load_weights
from pageindex_local.llm.models import PreparedModel
from pageindex_local.llm.threads import count_physical_cores

WINDOW_TOKENS = 2_048  # ten times a passage; models with a shorter window keep theirs
SEQUENCES = 16  # texts read at once
BATCH_TOKENS = 512  # and their tokens together, where one is not longer: every token is held against all of a batch
_POOLINGS = {
    native.LLAMA_POOLING_TYPE_MEAN: "mean",
    native.LLAMA_POOLING_TYPE_CLS: "first token",
    native.LLAMA_POOLING_TYPE_LAST: "last token",
}


class LlamaCppEmbedder:
    """Vectors by a GGUF: an embedding model, or by the mean of its tokens any other.

    Token vectors are pooled as the model's metadata says; by their mean where it says nothing. Several texts are read
    in one batch. A text longer than the window is read in parts of equal length, whose vectors are averaged, and
    counted in `split_texts`: nothing is cut. The entry's prefixes stand before questions and passages; without an entry
    there are none. One caller at a time: a lock makes others wait. Not usable after a fork.

    Raises:
        ModelFileError: not a model that llama.cpp can load, or one that only ranks pairs of texts.
        SettingsError: a prefix is as long as the window.
        ModelError: the context cannot be made (memory).
    """

    def __init__(self, prepared: PreparedModel, *, threads: int = 0) -> None:
        entry = prepared.entry
        self._name = entry.name
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._question_prefix, self._passage_prefix = entry.question_prefix, entry.passage_prefix
        self._threads = threads or count_physical_cores()
        self._context: Any = None
        self._batch: Any = None
        self.split_texts = 0
        self._model: Any = load_weights(prepared.weights, repack=True)
        self._vocabulary = GgufVocabulary(self._model)
        trained = native.llama_model_n_ctx_train(self._model)
        self._window = min(entry.context_tokens or WINDOW_TOKENS, trained, WINDOW_TOKENS)
        self._cells = max(BATCH_TOKENS, self._window)  # a text must be read in one step to be pooled
        pooling = self._open_context(prepared.weights)
        self.pooling = _POOLINGS[pooling]
        self._width: int = native.llama_model_n_embd_out(self._model)
        self._front, self._back = self._read_ends()
        self._check_prefixes()
        self._batch = native.llama_batch_init(self._cells, 0, 1)
        self._encodes = native.llama_model_has_encoder(self._model) and not native.llama_model_has_decoder(self._model)
        engine = f"llama-cpp-python {version('llama-cpp-python')}, llama.cpp {native.llama_version().decode()}"
        prefixes = self._question_prefix, self._passage_prefix
        decided = [prepared.weights_sha256, self.pooling, engine, str(self._window), *prefixes]
        self.fingerprint = f"{self._name}, pooled by {self.pooling}, {hash_parts(decided)[:16]}"

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text; zeros for a text without tokens.

        Raises:
            ModelError: the embedder is closed, or the engine failed.
        """
        return self._embed(texts, self._passage_prefix, counts=True)

    def embed_question(self, question: str) -> Matrix:
        """One row of length 1.

        Raises:
            ModelError: the embedder is closed, or the engine failed.
        """
        return self._embed([question], self._question_prefix, counts=False)

    def close(self) -> None:
        """Free everything, in the order that llama.cpp wants. Safe to call twice."""
        with self._lock:
            free_native(self._batch, self._context, self._model)
            self._batch = self._context = self._model = None

    def _open_context(self, weights: Path) -> int:
        """Open the context and return how it pools. The metadata decide; where they say nothing it is the mean."""
        parameters = native.llama_context_default_params()
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = self._cells
        parameters.n_seq_max = SEQUENCES
        parameters.n_threads = parameters.n_threads_batch = self._threads
        parameters.embeddings = True
        parameters.kv_unified = True
        parameters.swa_full = True
        parameters.no_perf = True
        parameters.pooling_type = native.LLAMA_POOLING_TYPE_UNSPECIFIED
        pooling = native.LLAMA_POOLING_TYPE_NONE
        while pooling == native.LLAMA_POOLING_TYPE_NONE:
            clear_errors()
            self._context = native.llama_init_from_model(self._model, parameters)
            if not self._context:
                self.close()
                raise ModelError(f"no context of {self._cells} tokens: {last_error()}", subject=str(weights))
            pooling = native.llama_pooling_type(self._context)
            if pooling == native.LLAMA_POOLING_TYPE_NONE:
                native.llama_free(self._context)
                self._context = None
                parameters.pooling_type = native.LLAMA_POOLING_TYPE_MEAN
        if pooling not in _POOLINGS:
            self.close()
            raise ModelFileError(
                "ranks pairs of texts and makes no vectors",
                subject=str(weights),
                next_step="Give an embedding model for `query.vectors`.",
            )
        return int(pooling)

    def _read_ends(self) -> tuple[list[int], list[int]]:
        """The tokens that the metadata want before and behind a text."""
        plain, whole = self._vocabulary.tokenise("a"), self._vocabulary.tokenise("a", ends=True)
        for start in range(len(whole) - len(plain) + 1):
            if whole[start : start + len(plain)] == plain:
                return whole[:start], whole[start + len(plain) :]
        return [], []

    def _check_prefixes(self) -> None:
        room = self._window - len(self._front) - len(self._back)
        for name, prefix in (("question", self._question_prefix), ("passage", self._passage_prefix)):
            if len(self._vocabulary.tokenise(prefix)) >= room:
                self.close()
                raise SettingsError(
                    f"{name}_prefix leaves no room in a window of {self._window} tokens",
                    subject=self._name,
                    next_step="Shorten it, or raise context_tokens.",
                )

    def _embed(self, texts: Sequence[str], prefix: str, *, counts: bool) -> Matrix:
        with self._lock:
            if self._context is None:
                raise ModelError("is closed", subject=self._name)
            if os.getpid() != self._process:
                raise ModelError(
                    "was opened before this process was forked",
                    subject=self._name,
                    next_step="Open it in the new process.",
                )
            parts: list[tuple[int, list[int]]] = []
            for number, text in enumerate(texts):
                pieces = self._pieces(prefix, text)
                self.split_texts += counts and len(pieces) > 1
                parts += [(number, piece) for piece in pieces]
            sums = np.zeros((len(texts), self._width), dtype=np.float32)
            # Texts of one length together fill a batch best.
            for batch in self._batches(sorted(parts, key=lambda part: len(part[1]))):
                for (number, tokens), vector in zip(batch, self._read([tokens for _, tokens in batch]), strict=True):
                    sums[number] += len(tokens) * _unit(vector[np.newaxis])[0]
            return _unit(sums)

    def _pieces(self, prefix: str, text: str) -> list[list[int]]:
        """The tokens of a text with all that belongs around them, in as few parts of equal length as fit the window."""
        tokens = self._vocabulary.tokenise(prefix + text)
        room = self._window - len(self._front) - len(self._back)
        if len(tokens) <= room:
            whole = [*self._front, *tokens, *self._back]
            return [whole] if whole else []
        before = self._vocabulary.tokenise(prefix)
        rest = self._vocabulary.tokenise(text)
        count = -(-len(rest) // max(room - len(before), 1))
        size = -(-len(rest) // count)
        pieces = [rest[start : start + size] for start in range(0, len(rest), size)]
        return [[*self._front, *before, *piece, *self._back] for piece in pieces]

    def _batches(self, parts: Sequence[tuple[int, list[int]]]) -> Iterator[list[tuple[int, list[int]]]]:
        batch: list[tuple[int, list[int]]] = []
        size = 0
        for part in parts:
            if batch and (len(batch) == SEQUENCES or size + len(part[1]) > BATCH_TOKENS):
                yield batch
                batch, size = [], 0
            batch.append(part)
            size += len(part[1])
        if batch:
            yield batch

    def _read(self, sequences: Sequence[Sequence[int]]) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
        memory = native.llama_get_memory(self._context)
        if memory:  # models that only encode have none
            native.llama_memory_clear(memory, False)
        row = 0
        for number, tokens in enumerate(sequences):
            for position, token in enumerate(tokens):
                self._batch.token[row] = token
                self._batch.pos[row] = position
                self._batch.n_seq_id[row] = 1
                self._batch.seq_id[row][0] = number
                self._batch.logits[row] = True
                row += 1
        self._batch.n_tokens = row
        clear_errors()
        run = native.llama_encode if self._encodes else native.llama_decode
        status = run(self._context, self._batch)
        if status:
            raise ModelError(f"reading {row} tokens failed with status {status}: {last_error()}", subject=self._name)
        vectors = []
        for number in range(len(sequences)):
            pointer = native.llama_get_embeddings_seq(self._context, number)
            if not pointer:
                raise ModelError("llama.cpp gave no vector", subject=self._name)
            vectors.append(np.ctypeslib.as_array(pointer, (self._width,)).astype(np.float32, copy=True))
        return vectors


def _unit(rows: Matrix) -> Matrix:
    """Rows of length 1; rows of zeros, or of what is no number, as zeros."""
    finite = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(finite, axis=1, keepdims=True)
    unit: Matrix = np.divide(finite, np.maximum(lengths, 1e-12), dtype=np.float32)
    return unit
