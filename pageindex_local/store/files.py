"""The narrow seam between the store and a file system: few operations, so that tests can record, stop and break each.

`LocalFiles` is the real thing. Nothing here knows what an index is. Durability is the caller's: a write is safe once
the file is synced and so is every folder whose entries changed.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from pageindex_local.errors import ConflictError
from pageindex_local.store.media import find_distrust, read_mount_table


class FileSystem(Protocol):
    """What the store asks of a file system. All failures are OSError, but for the lock's ConflictError."""

    def read_bytes(self, path: Path) -> bytes:
        """The whole file. Raises FileNotFoundError where it is missing."""
        ...

    def exists(self, path: Path) -> bool:
        """Whether there is a file or folder."""
        ...

    def list_names(self, folder: Path) -> list[str]:
        """Sorted names in a folder; empty where the folder is missing."""
        ...

    def modified_time(self, path: Path) -> float:
        """When a file or folder last changed, in seconds since 1970."""
        ...

    def make_folder(self, path: Path) -> None:
        """Create one folder whose parent exists; nothing happens where it exists already."""
        ...

    def write_new(self, path: Path, data: bytes) -> None:
        """Create a file that does not exist yet. Not durable before `sync_file`."""
        ...

    def sync_file(self, path: Path) -> None:
        """Make the content of a file durable."""
        ...

    def sync_folder(self, path: Path) -> None:
        """Make the entries of a folder durable."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Give a file or folder a name that is free. Raises FileExistsError where it is not. Call under a lock."""
        ...

    def replace(self, source: Path, target: Path) -> None:
        """Put a file in the place of another in one step: readers see the one or the other."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder with all that is in it; nothing happens where there is none."""
        ...

    def find_distrust(self, folder: Path) -> str | None:
        """Why an index must not be written in a folder, or None."""
        ...

    def lock(self, path: Path, timeout_s: float, *, what: str) -> AbstractContextManager[None]:
        """Hold an exclusive lock between processes. Raises ConflictError, naming `what`, when not free in time."""
        ...


class LocalFiles:
    """A folder on a local disk."""

    def read_bytes(self, path: Path) -> bytes:
        """See FileSystem."""
        return path.read_bytes()

    def exists(self, path: Path) -> bool:
        """See FileSystem."""
        return path.exists()

    def list_names(self, folder: Path) -> list[str]:
        """See FileSystem."""
        try:
            return sorted(path.name for path in folder.iterdir())
        except FileNotFoundError:
            return []

    def modified_time(self, path: Path) -> float:
        """See FileSystem."""
        return path.stat().st_mtime

    def make_folder(self, path: Path) -> None:
        """See FileSystem."""
        path.mkdir(exist_ok=True)

    def write_new(self, path: Path, data: bytes) -> None:
        """See FileSystem."""
        with path.open("xb") as stream:
            stream.write(data)

    def sync_file(self, path: Path) -> None:
        """See FileSystem."""
        _sync(path, os.O_RDONLY)

    def sync_folder(self, path: Path) -> None:
        """See FileSystem."""
        _sync(path, os.O_RDONLY | os.O_DIRECTORY)

    def rename(self, source: Path, target: Path) -> None:
        """See FileSystem."""
        if target.exists():
            raise FileExistsError(17, "File exists", str(target))
        source.rename(target)

    def replace(self, source: Path, target: Path) -> None:
        """See FileSystem."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """See FileSystem."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def find_distrust(self, folder: Path) -> str | None:
        """See FileSystem."""
        return find_distrust(folder.resolve(), read_mount_table())

    @contextmanager
    def lock(self, path: Path, timeout_s: float, *, what: str) -> Iterator[None]:
        """See FileSystem."""
        lock = FileLock(path, timeout=timeout_s)
        try:
            lock.acquire()
        except Timeout:
            raise ConflictError(
                f"another process has been holding {what} for more than {timeout_s:g} seconds",
                subject=str(path),
                next_step="Wait for it to finish and run the command again.",
            ) from None
        try:
            yield
        finally:
            lock.release()


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
