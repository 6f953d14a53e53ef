"""Copies of immutable files on this machine, named by their hash: a folder that may be deleted at any time.

Nothing in it is believed: a copy is hashed when it is read. A folder that cannot be written only costs time.
"""

import os
from contextlib import suppress
from pathlib import Path

from pageindex_local.ids import sha256_hex
from pageindex_local.store.layout import temporary_name

_KEPT_SHARE = 0.8  # of the limit that is left after the oldest copies went


def write_copy(path: Path, data: bytes) -> None:
    """Write a file that readers see whole or not at all, in a folder for this user alone. Not made durable.

    Raises:
        OSError: the disk refused.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(temporary_name())
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


class LocalCopies:
    """At most about `limit_bytes` of copies; those not read for longest go first."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._room: int | None = None

    def read(self, sha256: str) -> bytes | None:
        """The file with that hash, if there is a sound copy."""
        path = self._path(sha256)
        with suppress(OSError):
            data = path.read_bytes()
            if sha256_hex(data) == sha256:
                os.utime(path)
                return data
            path.unlink()
        return None

    def add(self, sha256: str, data: bytes) -> None:
        """Keep a copy, if there is room and the disk lets us."""
        if len(data) > self._limit_bytes:
            return
        path = self._path(sha256)
        with suppress(OSError):
            if self._room is None or self._room < len(data):
                self._make_room(len(data))
            write_copy(path, data)
            self._room = (self._room or 0) - len(data)

    def _path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256

    def _make_room(self, wanted: int) -> None:
        copies = []
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                status = path.stat()
                copies.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in copies)
        target = self._limit_bytes * _KEPT_SHARE if total + wanted > self._limit_bytes else self._limit_bytes
        for _, size, path in sorted(copies):
            if total + wanted <= target:
                break
            with suppress(OSError):
                path.unlink()
                total -= size
        self._room = int(self._limit_bytes - total)
