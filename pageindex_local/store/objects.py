"""A bucket as the store's medium: objects that are put whole, two conditions on a put, no rename and no locks.

What a disk does with a rename, the order of puts does here: the last object of a folder makes it whole. What a lock
does there, the condition on a put does here: "only if there is none" and "only if it is still the one I read".
"""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pageindex_local.errors import ConflictError, StoreError
from pageindex_local.ids import sha256_hex
from pageindex_local.settings import StoreSettings
from pageindex_local.store.copies import LocalCopies
from pageindex_local.store.layout import temporary_name
from pageindex_local.store.places import BucketPath

CONDITIONS = (
    "Use a service with conditional writes (Amazon S3, MinIO, R2, Google Cloud Storage, Azure Blob Storage, ...), or "
    "build in a folder and copy it."
)


class ConditionError(Exception):
    """The condition on a put did not hold. The put may be one that was made before and whose answer got lost."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as a list shows it. `modified` in seconds since 1970, by the clock of the bucket."""

    place: BucketPath
    size_bytes: int
    modified: float


class Bucket(Protocol):
    """What is asked of a service with buckets. Failures are FileNotFoundError, ConditionError and StoreError."""

    @property
    def endpoint(self) -> str:
        """The address of the service: buckets of one name differ by it."""
        ...

    def get(self, place: BucketPath) -> tuple[bytes, str]:
        """An object and the tag of its content. Raises FileNotFoundError."""
        ...

    def put(self, place: BucketPath, data: bytes, tag: str | None) -> str:
        """Write an object where it still has the tag (None: where there is none). Returns its tag."""
        ...

    def find(self, place: BucketPath) -> StoredObject | None:
        """An object without its content."""
        ...

    def list_below(self, place: BucketPath, limit: int | None = None) -> list[StoredObject]:
        """All objects below a place, in order of their names; at most `limit`."""
        ...

    def list_names(self, place: BucketPath) -> list[str]:
        """Names of objects in a place and of the places below it, sorted."""
        ...

    def delete(self, places: Sequence[BucketPath]) -> None:
        """Remove objects; those that are not there are no failure."""
        ...


class BucketFiles:
    """`FileSystem` over buckets. `copies` keeps immutable files near by; without it each read asks the bucket."""

    has_locks = False

    def __init__(self, bucket: Bucket, local_root: Path, copies: LocalCopies | None) -> None:
        self._bucket = bucket
        self._local_root = local_root
        self._copies = copies

    # Reading

    def read_bytes(self, path: Path) -> bytes:
        """See FileReader."""
        return self._bucket.get(_place(path))[0]

    def read_known(self, path: Path, sha256: str) -> bytes:
        """See FileReader."""
        data = self._copies.read(sha256) if self._copies else None
        if data is None:
            data = self.read_bytes(path)
            if self._copies and sha256_hex(data) == sha256:
                self._copies.add(sha256, data)
        return data

    def exists(self, path: Path) -> bool:
        """See FileReader."""
        place = _place(path)
        return self._bucket.find(place) is not None or bool(self._bucket.list_below(place, limit=1))

    def list_names(self, folder: Path) -> list[str]:
        """See FileSystem."""
        return self._bucket.list_names(_place(folder))

    def list_whole(self, folder: Path, last: str) -> list[str]:
        """See FileSystem."""
        found = self._bucket.list_below(_place(folder))
        return [entry.place.parent.name for entry in found if entry.place == folder / entry.place.parent.name / last]

    def modified_time(self, path: Path) -> float:
        """See FileSystem. A folder changed when the newest object below it did."""
        place = _place(path)
        found = self._bucket.find(place)
        times = [found.modified] if found else [entry.modified for entry in self._bucket.list_below(place)]
        if not times:
            raise FileNotFoundError(2, "No such file", str(path))
        return max(times)

    def total_bytes(self, folder: Path) -> int:
        """See FileSystem."""
        return sum(entry.size_bytes for entry in self._bucket.list_below(_place(folder)))

    # Changing

    def make_folders(self, folder: Path) -> None:
        """See FileSystem. A bucket has no folders but those of its objects' names."""

    def create_file(self, path: Path, data: bytes, *, durable: bool = True) -> None:  # noqa: ARG002 - it always is
        """See FileSystem. Equal bytes that are there already may be ours: the answer to a put can get lost."""
        try:
            self._bucket.put(_place(path), data, None)
        except ConditionError:
            if self._read_or_none(path) != data:
                raise FileExistsError(17, "File exists", str(path)) from None

    def replace_file(self, path: Path, data: bytes, expected: bytes | None) -> None:
        """See FileSystem."""
        found: bytes | None = None
        tag: str | None = None
        if expected is not None:
            try:
                found, tag = self._bucket.get(_place(path))
            except FileNotFoundError:
                raise _changed(path) from None
        if found not in (expected, data):
            raise _changed(path)
        try:
            self._bucket.put(_place(path), data, tag)
        except ConditionError:
            if self._read_or_none(path) != data:
                raise _changed(path) from None

    def create_folder(self, folder: Path, contents: Mapping[str, bytes]) -> None:
        """See FileSystem. Of two writers one is stopped by the first file that differs."""
        for name, data in contents.items():
            self.create_file(folder / name, data)
        if self._copies:
            for data in contents.values():  # the search file is made of them next
                self._copies.add(sha256_hex(data), data)

    def remove(self, path: Path) -> None:
        """See FileSystem."""
        place = _place(path)
        self._bucket.delete([place, *(entry.place for entry in self._bucket.list_below(place))])

    def remove_whole(self, folder: Path, last: str) -> None:
        """See FileSystem."""
        self._bucket.delete([_place(folder / last)])
        self.remove(folder)

    def settle(self, folder: Path) -> None:
        """See FileSystem. A bucket's answer is its promise."""

    def clear_unfinished(self, folder: Path) -> None:
        """See FileSystem. Nothing has a temporary name here; what a writer began and left, gc removes."""

    def check_medium(self, folder: Path, *, allow_network_disk: bool) -> None:  # noqa: ARG002 - about disks
        """See FileSystem: try whether the bucket keeps the conditions on puts, which some services ignore."""
        place = _place(folder / temporary_name())
        try:
            self._try_conditions(folder, place)
        except BaseException:
            with suppress(StoreError):  # which would hide what is wrong
                self._bucket.delete([place])
            raise
        self._bucket.delete([place])

    def lock(self, path: Path, timeout_s: float, *, what: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """See FileSystem."""
        return nullcontext()

    def local_folder(self, folder: Path) -> Path:
        """See FileSystem."""
        place = _place(folder)
        service = sha256_hex(f"{self._bucket.endpoint}\n{place.bucket}".encode())[:16]
        return self._local_root / "buckets" / f"{place.bucket}-{service}" / place.key

    def uncached(self) -> "BucketFiles":
        """See FileSystem."""
        return BucketFiles(self._bucket, self._local_root, None)

    def _try_conditions(self, folder: Path, place: BucketPath) -> None:
        tries = [secrets.token_bytes(16) for _ in range(4)]
        try:
            first = self._bucket.put(place, tries[0], None)
            if self._is_put(place, tries[1], None):
                raise _no_conditions(
                    folder, "overwrites an object although it is told not to (If-None-Match or its like)"
                )
            self._bucket.put(place, tries[2], first)
            if self._is_put(place, tries[3], first):
                raise _no_conditions(folder, "overwrites an object that has changed (If-Match or its like)")
            if self._read_or_none(place) != tries[2]:
                raise _no_conditions(folder, "does not give back what was written last")
        except ConditionError:
            raise _no_conditions(folder, "refuses a put whose condition holds") from None

    def _read_or_none(self, path: Path) -> bytes | None:
        try:
            return self.read_bytes(path)
        except FileNotFoundError:
            return None

    def _is_put(self, place: BucketPath, data: bytes, tag: str | None) -> bool:
        try:
            self._bucket.put(place, data, tag)
        except ConditionError:
            return False
        return True


def open_bucket(place: BucketPath, settings: StoreSettings) -> BucketFiles:
    """The files of a bucket, with the credentials and the address of the service that the environment names.

    Raises:
        StoreError: the library is not installed, or the configuration of the environment cannot be used.
    """
    try:
        root = Path(settings.cache_folder).expanduser()
    except RuntimeError:
        raise StoreError(
            "this user has no home folder to keep copies in",
            subject=settings.cache_folder,
            next_step="Set HOME, or store.cache_folder in the configuration.",
        ) from None
    return BucketFiles(_open_service(place), root, LocalCopies(root / "files", settings.cache_bytes))


def _open_service(place: BucketPath) -> Bucket:
    if place.scheme == "s3":
        from pageindex_local.store.s3 import open_s3  # noqa: PLC0415 - boto3 is an extra

        return open_s3()
    from pageindex_local.store.clouds import open_cloud  # noqa: PLC0415 - obstore is an extra

    return open_cloud(place)


def _place(path: Path) -> BucketPath:
    if not isinstance(path, BucketPath):
        raise TypeError(f"{path} is no place in a bucket")
    return path


def _changed(path: Path) -> ConflictError:
    return ConflictError(
        "was changed by another process meanwhile", subject=str(path), next_step="Run the command again."
    )


def _no_conditions(folder: Path, problem: str) -> StoreError:
    return StoreError(
        f"the service of this bucket {problem}, so two builds could destroy each other's work",
        subject=str(folder),
        next_step=CONDITIONS,
    )
