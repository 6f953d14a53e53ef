"""The full-text index of one release: an SQLite file derived from the stored versions, rebuilt whenever it is unsound.

Two FTS5 tables: `page_text` (one row a page: section titles, head of the page, body) and `passage_text` (about two
hundred words of one leaf). Rows of a document are contiguous: a document is a rowid range. Never the only copy.
"""

import contextlib
import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pageindex_local.errors import CorruptIndexError
from pageindex_local.query.search_index import SearchIndex
from pageindex_local.query.search_rows import search_state, write_search_file
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import temporary_name
from pageindex_local.store.records import Release
from pageindex_local.store.search_copies import (
    SEARCH_SUFFIX,
    drop_old_search_files,
    fetch_nearest_search_file,
    fetch_search_file,
    put_sealed,
    share_search_file,
)


def search_path(store: IndexStore, release: Release) -> Path:
    """Where the search file of a release lies on this machine."""
    return store.search_folder / f"{release.name}.sqlite"


def build_search_index(store: IndexStore, release: Release) -> Path:
    """Write the search file of a release and return its path.

    Starts from a copy of the nearest file that is there, of whatever release: rows of documents that differ are deleted
    and added, so the work grows with what differs. Written beside its place, then moved there. Once the live release
    has its file, those that nobody needs any more are dropped.

    Raises:
        CorruptIndexError: a stored version cannot be read.
        OSError: the folder cannot be written.
    """
    path = search_path(store, release)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(temporary_name())
    try:
        write_search_file(store, release, temporary, _find_bases(store, path))
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        put_sealed(temporary, path, digest)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        temporary.unlink(missing_ok=True)
    share_search_file(store, path)
    live = store.current()
    if live is not None and live.name == release.name:
        drop_old_search_files(store)
    return path


def _find_bases(store: IndexStore, path: Path) -> list[Path]:
    """Files of other releases on this machine, newest first."""
    fetch_nearest_search_file(store, path)
    return sorted((base for base in path.parent.glob(f"[0-9]*{SEARCH_SUFFIX}") if base != path), reverse=True)


@contextlib.contextmanager
def open_search_index(store: IndexStore, release: Release) -> Iterator[SearchIndex]:
    """The search index of a release, built first where it is missing, damaged or of another format.

    Where the folder cannot be written (a read-only medium), the file is built in a temporary place for this one use.

    Raises:
        CorruptIndexError: a stored version cannot be read.
    """
    path = search_path(store, release)
    fetch_search_file(store, path)
    index = _open_sound(path, release)
    scratch: tempfile.TemporaryDirectory[str] | None = None
    if index is None:
        with contextlib.suppress(OSError):
            index = _open_sound(build_search_index(store, release), release)
    if index is None:  # the folder cannot be written, or a publisher has just dropped the file
        scratch = tempfile.TemporaryDirectory(prefix="pageindex-search-")
        place = Path(scratch.name) / "search.sqlite"
        write_search_file(store, release, place, _find_bases(store, path))
        index = _open_sound(place, release)
    if index is None:
        raise CorruptIndexError("the full-text index cannot be built", subject=str(path))
    try:
        yield index
    finally:
        index.close()
        if scratch is not None:
            scratch.cleanup()


def _open_sound(path: Path, release: Release) -> SearchIndex | None:
    """An open index if the file is there, whole and that of the release; otherwise None."""
    if not path.exists():
        return None
    connection = None
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        pins = dict(connection.execute("SELECT doc_key, manifest_sha256 FROM document"))
        expected = {key: entry.manifest_sha256 for key, entry in release.documents.items()}
        state = connection.execute("SELECT value FROM meta WHERE key = 'state'").fetchone()
        if pins == expected and state == (search_state(release),):
            for table in ("page_text", "passage_text"):
                connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH '\"a\"' LIMIT 1").fetchall()  # noqa: S608
            return SearchIndex(connection)
    except (sqlite3.DatabaseError, OSError):
        pass
    if connection is not None:
        connection.close()
    return None
