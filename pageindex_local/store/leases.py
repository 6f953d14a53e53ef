"""Leases: a reader says which release it holds, gc reads who holds what. Files that end by themselves; no locks."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pageindex_local.errors import CorruptIndexError, StoreError
from pageindex_local.store import condemned
from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import Layout, canonical_json
from pageindex_local.store.reader import read_record
from pageindex_local.store.records import Lease


@contextmanager
def hold_lease(files: FileSystem, layout: Layout, release: str, lease_s: float) -> Iterator[None]:
    """Keep gc away from a release while the block runs, at most `lease_s` seconds; without one on a read-only medium.

    Raises:
        IndexNotFoundError: gc has just removed the release.
    """
    path = layout.leases / f"{release}-{secrets.token_hex(8)}.json"
    lease = Lease(release=release, expires=time.time() + lease_s)
    try:
        files.make_folders(layout.leases)
        files.create_file(path, canonical_json(lease.model_dump(mode="json")), durable=False)
    except (OSError, StoreError):
        yield
        return
    try:
        condemned.check_release(files, layout, release)
        yield
    finally:
        with suppress(OSError, StoreError):
            files.remove(path)


def read_leases(files: FileSystem, layout: Layout) -> tuple[set[str], list[Path], list[Path]]:
    """Releases that are held, files of leases that have run out, and files that cannot be read.

    A lease is written without a sync, so a crash may have cut it; then it is as old as the crash.
    """
    held: set[str] = set()
    expired: list[Path] = []
    damaged: list[Path] = []
    for name in files.list_names(layout.leases):
        path = layout.leases / name
        with suppress(FileNotFoundError):
            try:
                lease = read_record(files.read_bytes(path), Lease, subject=str(path))
            except CorruptIndexError:
                damaged.append(path)
                continue
            if lease.expires > time.time():
                held.add(lease.release)
            else:
                expired.append(path)
    return held, expired, damaged
