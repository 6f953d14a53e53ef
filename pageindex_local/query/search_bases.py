"""Search files of other releases as a beginning: a release and files in, the nearest sound one copied and open out.

Knows the pins of documents in them and no row.
"""

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from pageindex_local.store.layout import SEAL_SUFFIX, seal_bytes
from pageindex_local.store.records import Release

_COPY_BYTES = 1 << 20


def rank_bases(release: Release, bases: Sequence[Path], form: str) -> list[Path]:
    """The files of a format worth starting from, nearest first.

    To remove a document's rows costs about half of adding them.
    """
    wanted = {key: entry.manifest_sha256 for key, entry in release.documents.items()}.items()
    costs = []
    for place, base in enumerate(bases):
        pins = _read_pins(base, form).items()
        cost = len(wanted - pins) + len(pins - wanted) / 2
        if cost < len(wanted):
            costs.append((cost, place))
    return [bases[place] for _, place in sorted(costs)]


def _read_pins(path: Path, form: str) -> dict[str, str]:
    """The documents of a search file with their manifests' hashes; none where it is damaged or of another form."""
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        with closing(connection):
            if connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() != (form,):
                return {}
            return dict(connection.execute("SELECT doc_key, manifest_sha256 FROM document"))
    except (sqlite3.DatabaseError, OSError):
        return {}


def copy_base(path: Path, bases: Sequence[Path]) -> sqlite3.Connection | None:
    """The nearest sound one copied to a path and opened for writing; None where there is none."""
    for base in bases:
        try:
            is_as_sealed = _copy(base, path)
        except OSError:  # it was dropped meanwhile
            continue
        if is_as_sealed is False:
            continue
        connection = sqlite3.connect(path)
        with suppress(sqlite3.DatabaseError):
            if is_as_sealed or connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                _make_quick(connection)
                return connection
        connection.close()
    return None


def create_file(path: Path) -> sqlite3.Connection:
    """An empty file at a path, opened for writing."""
    path.write_bytes(b"")
    connection = sqlite3.connect(path)
    _make_quick(connection)
    return connection


def _copy(base: Path, path: Path) -> bool | None:
    """Copy a search file. Returns whether it is what was written, as the seal beside it says; None without a seal."""
    digest = hashlib.sha256()
    with base.open("rb") as source, path.open("wb") as target:
        while piece := source.read(_COPY_BYTES):
            digest.update(piece)
            target.write(piece)
    try:
        return base.with_name(base.name + SEAL_SUFFIX).read_bytes() == seal_bytes(digest.hexdigest())
    except OSError:
        return None


def _make_quick(connection: sqlite3.Connection) -> None:
    """No journal: the file is private until it is whole, and a failed one is thrown away."""
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
