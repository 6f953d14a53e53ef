"""Where an index lies: what `--index` says in, a path and the medium behind it out. Loads no library of a bucket."""

from pathlib import Path, PosixPath
from typing import NoReturn

from pageindex_local.errors import SettingsError
from pageindex_local.settings import StoreSettings
from pageindex_local.store.disk import LocalFiles
from pageindex_local.store.files import FileSystem

_SCHEME = "s3://"


class BucketPath(PosixPath):
    """A place in a bucket: `/bucket/prefix/name`, which reads as `s3://bucket/prefix/name`. No file of this machine."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"s3:/{super().__str__()}"

    def __fspath__(self) -> NoReturn:
        raise TypeError(f"{self} lies in a bucket and not on this machine")

    @property
    def bucket(self) -> str:
        """The name of the bucket."""
        return self.parts[1]

    @property
    def key(self) -> str:
        """The name of the object."""
        return "/".join(self.parts[2:])


def read_place(text: str) -> Path:
    """A folder, or a `BucketPath` for `s3://bucket/prefix`.

    Raises:
        SettingsError: another scheme, or no bucket's name.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Path(text)
    if scheme != "s3":
        raise SettingsError(
            f"an index can lie in a folder or below {_SCHEME}, not below {scheme}://",
            subject=text,
            next_step="Give a folder, or s3://bucket/prefix.",
        )
    parts = [part for part in rest.split("/") if part]
    if not parts or rest.startswith("/") or {".", ".."} & set(parts):
        raise SettingsError("names no bucket", subject=text, next_step="Write s3://bucket or s3://bucket/prefix.")
    return BucketPath("/", *parts)


def open_files(place: Path, settings: StoreSettings) -> FileSystem:
    """The medium of a place.

    Raises:
        StoreError: the library for buckets is not installed, or no bucket can be reached from here at all.
    """
    if not isinstance(place, BucketPath):
        return LocalFiles()
    from pageindex_local.store.objects import open_bucket  # noqa: PLC0415 - for those who use buckets

    return open_bucket(settings)
