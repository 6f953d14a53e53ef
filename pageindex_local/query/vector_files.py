"""The file of a release's vectors: arrays in, one sealed file out, and back. Knows nothing of texts or models."""

import io
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pageindex_local.ids import sha256_hex
from pageindex_local.query.fulltext import search_path
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import temporary_name
from pageindex_local.store.records import Release
from pageindex_local.store.search_copies import VECTORS_SUFFIX, put_sealed, trim_copies

_FORMAT = 2
Halves: TypeAlias = np.ndarray[Any, np.dtype[np.float16]]


@dataclass(frozen=True, slots=True)
class VectorFile:
    """Vectors of passages, those of a document together and in order.

    `spans` are the rows of each document (half-open) by `doc_key`, `pins` the version it had (sha256 of its manifest).
    `form` says how texts were cut, `fingerprint` by what they were read.
    """

    form: str
    fingerprint: str
    pins: Mapping[str, str]
    spans: Mapping[str, tuple[int, int]]
    matrix: Halves


def vectors_path(store: IndexStore, release: Release) -> Path:
    """Where the vectors of a release lie on this machine."""
    return search_path(store, release).with_suffix(VECTORS_SUFFIX)


def list_vector_files(store: IndexStore, release: Release) -> list[Path]:
    """The vectors of other releases, nearest first: those before it from new to old, then those after it."""
    own = vectors_path(store, release)
    names = sorted(path.name for path in store.search_folder.glob(f"*{VECTORS_SUFFIX}") if path != own)
    before = [name for name in names if name < own.name]
    return [store.search_folder / name for name in [*reversed(before), *(name for name in names if name > own.name)]]


def read_vector_file(path: Path) -> VectorFile | None:
    """What a file holds; None where there is none, it is damaged or of another format, for it can be made again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            if int(stored["format"]) != _FORMAT:
                return None
            keys, sizes = stored["keys"].tolist(), stored["sizes"].tolist()
            ends = np.cumsum([0, *sizes]).tolist()
            return VectorFile(
                form=str(stored["form"]),
                fingerprint=str(stored["fingerprint"]),
                pins=dict(zip(keys, stored["pins"].tolist(), strict=True)),
                spans={key: (ends[place], ends[place + 1]) for place, key in enumerate(keys)},
                matrix=stored["matrix"],
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


def write_vector_file(store: IndexStore, path: Path, vectors: VectorFile) -> None:
    """Write beside its place, then move there: whole or not at all. The seal lets `verify` find damage.

    Raises:
        OSError: the folder cannot be written.
    """
    buffer = io.BytesIO()
    keys = sorted(vectors.spans, key=lambda key: vectors.spans[key])
    np.savez(
        buffer,
        format=np.asarray(_FORMAT),
        form=np.asarray(vectors.form),
        fingerprint=np.asarray(vectors.fingerprint),
        keys=np.asarray(keys, dtype=np.str_),
        pins=np.asarray([vectors.pins[key] for key in keys], dtype=np.str_),
        sizes=np.asarray([vectors.spans[key][1] - vectors.spans[key][0] for key in keys], dtype=np.int64),
        matrix=vectors.matrix,
    )
    data = buffer.getvalue()
    temporary = path.with_name(temporary_name())
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        put_sealed(temporary, path, sha256_hex(data))
    finally:
        temporary.unlink(missing_ok=True)
    trim_copies(store, VECTORS_SUFFIX)
