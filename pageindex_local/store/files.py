"""The narrow seam between the store and whatever holds it: few operations, each of them whole or not at all.

A folder on a disk (`disk.py`) and a bucket (`objects.py`) keep the same contract. Nothing here knows what an index is.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class FileReader(Protocol):
    """What a reader of files with known names asks for."""

    def read_bytes(self, path: Path) -> bytes:
        """The whole file. Raises FileNotFoundError where it is missing."""
        ...

    def read_known(self, path: Path, sha256: str) -> bytes:
        """A file that never changes and whose hash is known: perhaps from a copy near by. The caller checks the hash.

        Raises FileNotFoundError where there is neither the file nor a copy.
        """
        ...

    def exists(self, path: Path) -> bool:
        """Whether there is a file or folder."""
        ...


class FileSystem(FileReader, Protocol):
    """What the store asks of its medium. Failures are OSError or StoreError.

    What a changing operation wrote is durable when it returns. Names that begin with `.tmp-` are unfinished writes.
    """

    @property
    def has_locks(self) -> bool:
        """Whether `lock` excludes other processes. Where it does not, only `create_*` and `replace_file` decide."""
        ...

    def list_names(self, folder: Path) -> list[str]:
        """Sorted names in a folder; empty where the folder is missing."""
        ...

    def list_whole(self, folder: Path, last: str) -> list[str]:
        """Sorted names of subfolders that `create_folder` has finished, `last` being the file that it wrote last."""
        ...

    def modified_time(self, path: Path) -> float:
        """When a file or folder last changed, in seconds since 1970. Raises FileNotFoundError where it is missing."""
        ...

    def total_bytes(self, folder: Path) -> int:
        """The size of every file in a folder and below it."""
        ...

    def make_folders(self, folder: Path) -> None:
        """Create a folder and what is missing above it; nothing happens where it exists already."""
        ...

    def create_file(self, path: Path, data: bytes, *, durable: bool = True) -> None:
        """Create a file in an existing folder. Readers see all of it or nothing; not so when it need not be `durable`.

        Raises FileExistsError where the name is taken, by other bytes at least.
        """
        ...

    def replace_file(self, path: Path, data: bytes, expected: bytes | None) -> None:
        """Put new content in the place of `expected` (None: of nothing) in one step.

        Raises ConflictError where the file holds something else.
        """
        ...

    def create_folder(self, folder: Path, contents: Mapping[str, bytes]) -> None:
        """Create a folder with files, in the order given. It counts as there when the last of them is.

        Raises FileExistsError where the name is taken, by other bytes at least.
        """
        ...

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder with all that is in it; nothing happens where there is none.

        A power cut may bring it back before `settle`.
        """
        ...

    def settle(self, folder: Path) -> None:
        """Make removals from a folder durable."""
        ...

    def remove_whole(self, folder: Path, last: str) -> None:
        """Remove a folder made by `create_folder`: from the first moment on it counts as gone."""
        ...

    def clear_unfinished(self, folder: Path) -> None:
        """Remove what crashed writers left in a folder. The caller holds the lock of the folder's writers."""
        ...

    def check_medium(self, folder: Path, *, allow_network_disk: bool) -> None:
        """Make sure that an index can be written in a folder, which need not exist yet.

        Raises StoreError, with the reason, where the medium does not keep what the store relies on.
        """
        ...

    def lock(self, path: Path, timeout_s: float, *, what: str) -> AbstractContextManager[None]:
        """Hold an exclusive lock between processes. Raises ConflictError, naming `what`, when not free in time.

        Does nothing where the medium `has_locks` not.
        """
        ...

    def local_folder(self, folder: Path) -> Path:
        """The folder on this machine's disk for what is derived from `folder`: itself, if it lies on this disk."""
        ...

    def uncached(self) -> "FileSystem":
        """The same files without copies kept near by: what is read is what the medium holds."""
        ...
