"""Which embedder: a name in the settings in, an opened model that makes vectors out. Engines load only when opened."""

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from pageindex_local.errors import EngineUnavailableError, SettingsError
from pageindex_local.llm.embedding import Embedder, Matrix
from pageindex_local.llm.models import find_model, prepare_model

WORDLLAMA = "wordllama"
_BATCH = 512


class WordLlamaEmbedder:
    """Static word vectors of the package `wordllama`, whose weights lie in its wheel; nothing is downloaded.

    Raises:
        EngineUnavailableError: the package is not installed, or without its weights.
    """

    def __init__(self) -> None:
        try:
            import wordllama  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an extra

            folder = Path(wordllama.__file__).parent
            # Its own look-up of the tokenizer misses the folder it ships; named as the cache it is found.
            self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        except (ImportError, FileNotFoundError) as error:
            raise EngineUnavailableError(
                f"wordllama cannot be loaded ({error})", next_step="Install `pageindex-local[vectors]`."
            ) from None
        self.fingerprint = f"{WORDLLAMA} {metadata.version('wordllama')}"
        self.split_texts = 0  # words are averaged, however many there are

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text; an empty text gets zeros."""
        parts = [
            np.asarray(self._model.embed([text or " " for text in texts[start : start + _BATCH]], norm=True))
            for start in range(0, len(texts), _BATCH)
        ]
        joined = np.concatenate(parts) if parts else np.zeros((0, 1))
        return np.nan_to_num(joined.astype(np.float32))

    def embed_question(self, question: str) -> Matrix:
        """One row of length 1."""
        return self.embed_passages([question])

    def close(self) -> None:
        """Nothing is held open."""


def open_embedder(name: str, *, threads: int = 0) -> Embedder:
    """The embedder that `query.vectors` names: `wordllama`, or a GGUF by its path or its entry in `configs/models`.

    Raises:
        SettingsError: no such embedder, or a server.
        ModelFileError: the file is missing, not the one its entry names, or of a model that makes no vectors.
        EngineUnavailableError: wordllama or llama-cpp-python is not installed.
        ModelError: the engine cannot load it.
    """
    if name == WORDLLAMA:
        return WordLlamaEmbedder()
    try:
        entry = find_model(name)
    except SettingsError as error:
        raise SettingsError(
            f"`{name}` is neither {WORDLLAMA} nor a model: {error.problem}",
            subject="query.vectors",
            next_step="Give the path of a GGUF, or of a TOML file that describes one.",
        ) from None
    if entry.url:
        raise SettingsError(
            "is a server; vectors are made in this process", subject=f"query.vectors {name}", next_step="Give a GGUF."
        )
    from pageindex_local.llm.llamacpp import LlamaCppEmbedder  # noqa: PLC0415

    return LlamaCppEmbedder(prepare_model(entry), threads=threads)
