"""A folder on a disk as the store's medium: temporary names, fsync, rename and file locks.

`DiskFiles` says how a write becomes whole and durable in terms of a few primitives, so that tests can record, stop and
break each of them; `LocalFiles` is the real thing. Nothing here knows what an index is.
"""

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from pageindex_local.errors import ConflictError
from pageindex_local.store.layout import TEMPORARY, temporary_name
from pageindex_local.store.media import check_disk


class DiskFiles(ABC):
    """`FileSystem` over primitives of a disk: a write is safe once the file is synced and each folder that changed."""

    has_locks = True

    # Primitives

    @abstractmethod
    def read_bytes(self, path: Path) -> bytes:
        """See FileReader."""

    @abstractmethod
    def exists(self, path: Path) -> bool:
        """See FileReader."""

    @abstractmethod
    def list_names(self, folder: Path) -> list[str]:
        """See FileSystem."""

    @abstractmethod
    def modified_time(self, path: Path) -> float:
        """See FileSystem."""

    @abstractmethod
    def total_bytes(self, folder: Path) -> int:
        """See FileSystem."""

    @abstractmethod
    def remove(self, path: Path) -> None:
        """See FileSystem."""

    @abstractmethod
    def check_medium(self, folder: Path, *, allow_network_disk: bool) -> None:
        """See FileSystem."""

    @abstractmethod
    def lock(self, path: Path, timeout_s: float, *, what: str) -> AbstractContextManager[None]:
        """See FileSystem."""

    @abstractmethod
    def make_folder(self, path: Path) -> None:
        """Create one folder whose parent exists; nothing happens where it exists already."""

    @abstractmethod
    def write_new(self, path: Path, data: bytes) -> None:
        """Create a file that does not exist yet. Not durable before `sync_file`."""

    @abstractmethod
    def sync_file(self, path: Path) -> None:
        """Make the content of a file durable."""

    @abstractmethod
    def sync_folder(self, path: Path) -> None:
        """Make the entries of a folder durable."""

    @abstractmethod
    def rename(self, source: Path, target: Path) -> None:
        """Give a file or folder a name that is free. Raises FileExistsError where it is not. Call under a lock."""

    @abstractmethod
    def replace(self, source: Path, target: Path) -> None:
        """Put a file in the place of another in one step: readers see the one or the other."""

    # What the store uses

    def read_known(self, path: Path, sha256: str) -> bytes:  # noqa: ARG002 - there are no copies to look for
        """See FileReader."""
        return self.read_bytes(path)

    def list_whole(self, folder: Path, last: str) -> list[str]:  # noqa: ARG002 - a folder gets its name when it is whole
        """See FileSystem. A folder that lacks its last file was damaged later: it is listed, and found out."""
        return [name for name in self.list_names(folder) if not name.startswith(TEMPORARY)]

    def make_folders(self, folder: Path) -> None:
        """See FileSystem."""
        missing = []
        while not self.exists(folder):
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            self.make_folder(path)
            self.sync_folder(path.parent)

    def create_file(self, path: Path, data: bytes, *, durable: bool = True) -> None:
        """See FileSystem. Call under a lock where several may create the same file."""
        if not durable:
            self.write_new(path, data)
            return
        temporary = self._write_beside(path, data)
        self.rename(temporary, path)
        self.sync_folder(path.parent)

    def replace_file(self, path: Path, data: bytes, expected: bytes | None) -> None:
        """See FileSystem. Call under a lock."""
        try:
            found: bytes | None = self.read_bytes(path)
        except FileNotFoundError:
            found = None
        if found != expected:
            raise ConflictError(
                "was changed by another process meanwhile", subject=str(path), next_step="Run the command again."
            )
        temporary = self._write_beside(path, data)
        self.replace(temporary, path)
        self.sync_folder(path.parent)

    def create_folder(self, folder: Path, contents: Mapping[str, bytes]) -> None:
        """See FileSystem. Call under a lock."""
        temporary = folder.parent / temporary_name()
        self.make_folder(temporary)
        for name, data in contents.items():
            self.write_new(temporary / name, data)
            self.sync_file(temporary / name)
        self.sync_folder(temporary)
        self.rename(temporary, folder)
        self.sync_folder(folder.parent)

    def settle(self, folder: Path) -> None:
        """See FileSystem."""
        if self.exists(folder):
            self.sync_folder(folder)

    def remove_whole(self, folder: Path, last: str) -> None:  # noqa: ARG002 - one rename takes the whole folder away
        """See FileSystem."""
        trash = folder.parent / temporary_name()
        self.rename(folder, trash)
        self.sync_folder(folder.parent)
        self.remove(trash)

    def clear_unfinished(self, folder: Path) -> None:
        """See FileSystem."""
        for name in self.list_names(folder):
            if name.startswith(TEMPORARY):
                self.remove(folder / name)

    def local_folder(self, folder: Path) -> Path:
        """See FileSystem."""
        return folder

    def uncached(self) -> Self:
        """See FileSystem."""
        return self

    def _write_beside(self, path: Path, data: bytes) -> Path:
        temporary = path.parent / temporary_name()
        self.write_new(temporary, data)
        self.sync_file(temporary)
        return temporary


class LocalFiles(DiskFiles):
    """A folder on a local disk."""

    def read_bytes(self, path: Path) -> bytes:
        """See FileReader."""
        return path.read_bytes()

    def exists(self, path: Path) -> bool:
        """See FileReader."""
        return path.exists()

    def list_names(self, folder: Path) -> list[str]:
        """See FileSystem."""
        try:
            return sorted(path.name for path in folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def modified_time(self, path: Path) -> float:
        """See FileSystem."""
        return path.stat().st_mtime

    def total_bytes(self, folder: Path) -> int:
        """See FileSystem. Files that vanish meanwhile count nothing."""
        total = 0
        for path in folder.rglob("*"):
            try:
                total += path.stat().st_size if path.is_file() else 0
            except FileNotFoundError:
                continue
        return total

    def make_folder(self, path: Path) -> None:
        """See DiskFiles."""
        path.mkdir(exist_ok=True)

    def write_new(self, path: Path, data: bytes) -> None:
        """See DiskFiles."""
        with path.open("xb") as stream:
            stream.write(data)

    def sync_file(self, path: Path) -> None:
        """See DiskFiles."""
        _sync(path, os.O_RDONLY)

    def sync_folder(self, path: Path) -> None:
        """See DiskFiles."""
        _sync(path, os.O_RDONLY | os.O_DIRECTORY)

    def rename(self, source: Path, target: Path) -> None:
        """See DiskFiles."""
        if target.exists():
            raise FileExistsError(17, "File exists", str(target))
        source.rename(target)

    def replace(self, source: Path, target: Path) -> None:
        """See DiskFiles."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """See FileSystem."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def check_medium(self, folder: Path, *, allow_network_disk: bool) -> None:
        """See FileSystem."""
        check_disk(folder, allow_network_disk=allow_network_disk)

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
