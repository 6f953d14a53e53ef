"""A model's vocabulary: text to tokens and back, and grammars over them. Reads no logits by itself, decodes nothing."""

import ctypes
from typing import Any

import numpy as np

from pageindex_local.errors import ModelError
from pageindex_local.llm.llamacpp.native import native
from pageindex_local.llm.sampling import Floats, Tokens

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class GgufVocabulary:
    """The tokens of an open model, and what is read from them once.

    `bos` and `eos` are negative where the model has no such token; `end_tokens` end an answer.
    """

    def __init__(self, model: Any) -> None:
        self._pointer = native.llama_model_get_vocab(model)
        self.size: int = native.llama_vocab_n_tokens(self._pointer)
        self.bos: int = native.llama_vocab_bos(self._pointer)
        self.eos: int = native.llama_vocab_eos(self._pointer)
        self.add_bos: bool = native.llama_vocab_get_add_bos(self._pointer) and self.bos >= 0
        self.end_tokens = frozenset(
            token for token in range(self.size) if native.llama_vocab_is_eog(self._pointer, token)
        )
        self._pieces: dict[int, bytes] = {}

    def tokenise(self, text: str, *, control: bool = False, ends: bool = False) -> list[int]:
        """Tokens of a text without any added at its ends; with `control`, control tokens written out become such.

        With `ends`, the tokens that the model's metadata wants around a text are added.
        """
        data = text.encode("utf-8", "replace")
        size = len(data) + 8
        buffer = (native.llama_token * size)()
        count = native.llama_tokenize(self._pointer, data, len(data), buffer, size, ends, control)
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
            count = native.llama_token_to_piece(self._pointer, token, buffer, size, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def make_grammar(self, text: str) -> "GgufGrammarState":
        """A fresh grammar state.

        Raises:
            ModelError: the grammar does not parse.
        """
        pointer = native.llama_sampler_init_grammar(self._pointer, text.encode(), b"root")
        if not pointer:
            raise ModelError("llama.cpp refuses the grammar (a rule may call itself before reading a character)")
        return GgufGrammarState(pointer)


class GgufGrammarState:
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
