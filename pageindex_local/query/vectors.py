"""Dense vectors of a release's passages, optional: an embedder and a search index in, pages ranked by meaning out.

Vectors lie in a derived file beside the search file, with the fingerprint of what made them; those of another embedder
are refused. Off by default: docs/benchmarks.md says what they add with the one small model that comes as a package.
"""

import contextlib
import io
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from pageindex_local.errors import EngineUnavailableError, QueryError, SettingsError
from pageindex_local.ids import sha256_hex
from pageindex_local.query.fulltext import IndexedDocument, SearchIndex, search_path
from pageindex_local.query.search_rows import search_state
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import SEAL_SUFFIX, seal_bytes
from pageindex_local.store.records import Release

FORMAT = 1
EMBEDDERS = ("wordllama",)
_BATCH = 512
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]


class Embedder(Protocol):
    """Makes vectors of texts. `fingerprint` changes when the same text would get another vector."""

    fingerprint: str

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text."""
        ...


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
        self.fingerprint = f"wordllama {metadata.version('wordllama')}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text; an empty text gets zeros."""
        vectors = np.asarray(self._model.embed([text or " " for text in texts], norm=True), dtype=np.float32)
        return np.nan_to_num(vectors)


def open_embedder(name: str) -> Embedder:
    """The embedder of a name in the settings.

    Raises:
        SettingsError: no such embedder.
        EngineUnavailableError: it is not installed.
    """
    if name not in EMBEDDERS:
        raise SettingsError(f"`{name}` is not one of {', '.join(EMBEDDERS)}", subject="query.vectors")
    return WordLlamaEmbedder()


class PassageVectors:
    """The vectors of one release: row numbers of the search index, ascending, and a matrix of as many rows."""

    def __init__(self, rows: Sequence[int], matrix: Matrix) -> None:
        self._rows = np.asarray(rows, dtype=np.int64)
        self._matrix = matrix

    def rank_pages(self, index: SearchIndex, document: IndexedDocument, question: Matrix) -> list[tuple[int, str]]:
        """Pages of a document by their nearest passage, nearest first, each with the leaf of that passage."""
        start, end = np.searchsorted(self._rows, [document.passage_rows[0], document.passage_rows[1] + 1])
        nearness = self._matrix[start:end] @ question[0]
        places: Mapping[int, tuple[str, int, int]] = index.passages(document)
        ranked: dict[int, str] = {}
        for place in np.argsort(-nearness, kind="stable"):
            node_id, first_page, _ = places[int(self._rows[start + place])]
            ranked.setdefault(first_page, node_id)
        return list(ranked.items())


def vectors_path(store: IndexStore, release: Release) -> Path:
    """Where the vectors of a release lie on this machine."""
    return search_path(store, release).with_suffix(".vectors.npz")


def open_vectors(store: IndexStore, release: Release, index: SearchIndex, embedder: Embedder) -> PassageVectors:
    """The vectors of a release; made first where there are none, or where they are of another state of the release.

    Raises:
        QueryError: another embedder made them.
    """
    path = vectors_path(store, release)
    stored = _read(path)
    if stored is not None:
        made_by = str(stored["fingerprint"])
        if made_by != f"{FORMAT} {embedder.fingerprint}":
            raise QueryError(
                f"holds vectors of `{made_by}`, not of `{FORMAT} {embedder.fingerprint}`",
                subject=str(path),
                next_step="Delete the file to make them anew, or ask with the model that made them.",
            )
        if str(stored["state"]) == search_state(release):
            return PassageVectors(stored["rows"].tolist(), stored["matrix"].astype(np.float32))
    rows, texts = [], []
    for document in index.documents.values():
        for row, text in index.passage_texts(document):
            rows.append(row)
            texts.append(text)
    order = np.argsort(np.asarray(rows, dtype=np.int64), kind="stable")
    parts = [embedder.embed(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
    matrix = np.concatenate(parts)[order] if parts else np.zeros((0, 1), dtype=np.float32)
    vectors = PassageVectors([rows[place] for place in order], matrix)
    with contextlib.suppress(OSError):  # on a read-only medium they serve this question alone
        _write(path, release, embedder, [rows[place] for place in order], matrix)
    return vectors


def _read(path: Path) -> dict[str, np.ndarray] | None:
    """What a file of vectors holds; None where there is none or it is damaged, for it can be made again."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            return {name: stored[name] for name in ("fingerprint", "state", "rows", "matrix")}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def _write(path: Path, release: Release, embedder: Embedder, rows: Sequence[int], matrix: Matrix) -> None:
    """Write beside its place, then move there; the seal lets `verify` find damage."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        fingerprint=np.asarray(f"{FORMAT} {embedder.fingerprint}"),
        state=np.asarray(search_state(release)),
        rows=np.asarray(rows, dtype=np.int64),
        matrix=matrix.astype(np.float16),
    )
    data = buffer.getvalue()
    handle, name = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        seal = path.with_name(path.name + SEAL_SUFFIX)
        seal.unlink(missing_ok=True)
        Path(name).replace(path)
        seal.write_bytes(seal_bytes(sha256_hex(data)))
    finally:
        Path(name).unlink(missing_ok=True)
