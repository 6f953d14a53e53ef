"""Dense vectors of a release's passages, optional: an embedder and a search index in, pages ranked by meaning out.

Vectors lie in a derived file beside the search file, with the fingerprint of what made them; those of another embedder
are refused. Off by default: docs/benchmarks.md says what they add.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np

from pageindex_local.errors import CorruptIndexError, QueryError
from pageindex_local.llm.embedding import Embedder, Matrix
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query.embedders import open_embedder
from pageindex_local.query.fulltext import open_search_index, search_path
from pageindex_local.query.passages import PASSAGE_WORDS, cut_passages
from pageindex_local.query.search_index import IndexedDocument, SearchIndex
from pageindex_local.query.search_rows import SEARCH_FORMAT
from pageindex_local.query.vector_files import (
    Halves,
    VectorFile,
    list_vector_files,
    read_vector_file,
    vectors_path,
    write_vector_file,
)
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release

_FORM = f"passages {SEARCH_FORMAT}, {PASSAGE_WORDS} words"  # how texts are cut; other cuts have other vectors
_BATCH = 64  # texts between two steps of the progress
_MOST_READ = 5  # files of other releases that vectors are taken over from
Ranker: TypeAlias = Callable[[IndexedDocument], list[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """The vectors of one release. `made` of them are new, `taken` from another release, the others were there."""

    stored: VectorFile
    made: int = 0
    taken: int = 0

    def rank_pages(self, index: SearchIndex, document: IndexedDocument, question: Matrix) -> list[tuple[int, str]]:
        """Pages of a document by their nearest passage, nearest first, each with the leaf of that passage."""
        start, end = self.stored.spans[document.doc_key]
        nearness = self.stored.matrix[start:end].astype(np.float32) @ question[0]
        places: Mapping[int, tuple[str, int, int]] = index.passages(document)
        ranked: dict[int, str] = {}
        for place in np.argsort(-nearness, kind="stable"):
            node_id, first_page, _ = places[document.passage_rows[0] + int(place)]
            ranked.setdefault(first_page, node_id)
        return list(ranked.items())


class VectorSearch:
    """An embedder for many questions: opened when first needed, vectors of the last release kept. Close it.

    `name` is `query.vectors`; threads as in the settings of the model.
    """

    def __init__(self, name: str, *, threads: int = 0) -> None:
        self._name = name
        self._threads = threads
        self._embedder: Embedder | None = None
        self._kept: tuple[object, PassageVectors] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Free the embedder. Safe to call twice."""
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = self._kept = None

    def prepare(
        self, store: IndexStore, release: Release, progress: Progress = NO_PROGRESS, *, anew: bool = False
    ) -> PassageVectors:
        """The vectors of a release, made where they are missing, so that no question has to wait for them.

        Raises:
            QueryError: another embedder made them (unless they are made `anew`).
            ModelError: the embedder cannot be opened or fails.
            CorruptIndexError: a stored version cannot be read.
        """
        with open_search_index(store, release) as index:
            return self._vectors(store, release, index, progress, anew=anew)

    def ranker(
        self, store: IndexStore, release: Release, index: SearchIndex, question: str, details: dict[str, object]
    ) -> Ranker:
        """Ranks the pages of a document for one question; what was done for it goes into the `details` of a trace.

        Raises:
            QueryError: another embedder made the vectors.
            ModelError: the embedder cannot be opened or fails.
            CorruptIndexError: a stored version cannot be read.
        """
        vectors = self._vectors(store, release, index, NO_PROGRESS)
        embedder = self._open()
        asked = embedder.embed_question(question)
        details["model"] = embedder.fingerprint
        details["passages"] = len(vectors.stored.matrix)
        details["made now"], details["taken over"] = vectors.made, vectors.taken
        details["passages read in parts"] = embedder.split_texts
        self._kept = (store.layout.folder, release), PassageVectors(vectors.stored)  # made once, said once
        return lambda document: vectors.rank_pages(index, document, asked)

    def _vectors(
        self, store: IndexStore, release: Release, index: SearchIndex, progress: Progress, *, anew: bool = False
    ) -> PassageVectors:
        key = store.layout.folder, release
        if self._kept is None or self._kept[0] != key or anew:
            self._kept = key, open_vectors(store, release, index, self._open(), progress, anew=anew)
        return self._kept[1]

    def _open(self) -> Embedder:
        if self._embedder is None:
            self._embedder = open_embedder(self._name, threads=self._threads)
        return self._embedder


def open_vectors(
    store: IndexStore,
    release: Release,
    index: SearchIndex,
    embedder: Embedder,
    progress: Progress = NO_PROGRESS,
    *,
    anew: bool = False,
) -> PassageVectors:
    """The vectors of a release; made first where there are none, or where they are of another state of the release.

    Documents that are the same version in the release's own file or in that of a near release keep their vectors, so
    the work grows with what changed. `anew` replaces vectors of another embedder instead of refusing them.

    Raises:
        QueryError: another embedder made them.
        ModelError: the embedder fails.
        CorruptIndexError: a stored version cannot be read.
    """
    path = vectors_path(store, release)
    stored = read_vector_file(path)
    if stored is not None and stored.fingerprint != embedder.fingerprint and not anew:
        raise QueryError(
            f"holds vectors of `{stored.fingerprint}`, not of `{embedder.fingerprint}`",
            subject=str(path),
            next_step="`pageindex-local calibrate --vectors` makes them anew by the model that query.vectors names.",
        )
    pins = {key: entry.manifest_sha256 for key, entry in sorted(release.documents.items())}
    if stored is not None and _is_of(stored, embedder) and stored.pins == pins:
        return PassageVectors(stored)
    known = _known_rows(store, release, stored, embedder, pins)
    fresh = [key for key in pins if key not in known]
    known |= _embed_documents(store, release, index, embedder, fresh, progress)
    parts = [known[key] for key in pins]
    ends = np.cumsum([0, *map(len, parts)]).tolist()
    vectors = VectorFile(
        form=_FORM,
        fingerprint=embedder.fingerprint,
        pins=pins,
        spans={key: (ends[place], ends[place + 1]) for place, key in enumerate(pins)},
        matrix=np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float16),
    )
    for key, (start, end) in vectors.spans.items():
        first, last = index.documents[key].passage_rows
        if end - start != last + 1 - first:
            raise CorruptIndexError(
                f"holds {last + 1 - first} passages of {index.documents[key].doc_id}, the document has {end - start}",
                subject=str(search_path(store, release)),
                next_step="Delete the file; it is made again.",
            )
    with suppress(OSError):  # on a read-only medium they serve this question alone
        write_vector_file(store, path, vectors)
    made = sum(len(known[key]) for key in fresh)
    return PassageVectors(vectors, made, len(vectors.matrix) - made)


def _is_of(stored: VectorFile, embedder: Embedder) -> bool:
    return stored.fingerprint == embedder.fingerprint and stored.form == _FORM


def _known_rows(
    store: IndexStore, release: Release, own: VectorFile | None, embedder: Embedder, pins: Mapping[str, str]
) -> dict[str, Halves]:
    """The rows of documents that are the same version in vectors made before, by `doc_key`."""
    known: dict[str, Halves] = {}
    others = (read_vector_file(path) for path in list_vector_files(store, release)[:_MOST_READ])
    for stored in (own, *others) if own is not None else others:
        if len(known) == len(pins):
            break
        if stored is None or not _is_of(stored, embedder):
            continue
        for key, pin in pins.items():
            if key not in known and stored.pins.get(key) == pin:
                start, end = stored.spans[key]
                known[key] = stored.matrix[start:end]
    return known


def _embed_documents(
    store: IndexStore,
    release: Release,
    index: SearchIndex,
    embedder: Embedder,
    doc_keys: Sequence[str],
    progress: Progress,
) -> dict[str, Halves]:
    """New rows for documents. Texts of several documents share a batch."""
    if not doc_keys:
        return {}
    rows = [index.documents[key].passage_rows for key in doc_keys]
    progress.start("make vectors of passages", sum(last + 1 - first for first, last in rows))
    sizes: dict[str, int] = dict.fromkeys(doc_keys, 0)
    parts: list[Halves] = []
    batch: list[str] = []
    for key, text in _texts(store, release, doc_keys):
        sizes[key] += 1
        batch.append(text)
        if len(batch) == _BATCH:
            parts.append(embedder.embed_passages(batch).astype(np.float16))
            progress.advance(len(batch))
            batch = []
    parts.append(embedder.embed_passages(batch).astype(np.float16))
    progress.finish()
    matrix = np.concatenate([part for part in parts if len(part)] or parts)
    ends = np.cumsum([0, *sizes.values()]).tolist()
    return {key: matrix[ends[place] : ends[place + 1]] for place, key in enumerate(doc_keys)}


def _texts(store: IndexStore, release: Release, doc_keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Every passage with its titles, as it is written in the document."""
    for key in doc_keys:
        for passage in cut_passages(store.open_document(release, key)):
            yield key, f"{passage.titles}\n{passage.text}"
