"""Where an index lies: what `--index` says in, a path and the medium behind it out. Loads no library of a bucket."""

from pathlib import Path, PosixPath
from typing import ClassVar, NoReturn

from pageindex_local.errors import SettingsError
from pageindex_local.settings import StoreSettings
from pageindex_local.store.disk import LocalFiles
from pageindex_local.store.files import FileSystem


class BucketPath(PosixPath):
    """A place in a bucket: `/bucket/prefix/name`, which reads as `s3://bucket/prefix/name`. No file of this machine.

    What is made from one (`/`, `parent`, ...) is of its class, and so of its scheme.
    """

    __slots__ = ()
    scheme: ClassVar[str] = "s3"

    def __str__(self) -> str:
        return f"{self.scheme}:/{super().__str__()}"

    def __fspath__(self) -> NoReturn:
        raise TypeError(f"{self} lies in a bucket and not on this machine")

    @property
    def bucket(self) -> str:
        """The name of the bucket; Azure calls it a container."""
        return self.parts[1]

    @property
    def key(self) -> str:
        """The name of the object."""
        return "/".join(self.parts[2:])


class GooglePath(BucketPath):
    """A place in Google Cloud Storage."""

    __slots__ = ()
    scheme = "gs"


class AzurePath(BucketPath):
    """A place in a container of the Azure storage account that the environment names."""

    __slots__ = ()
    scheme = "az"


_CLASSES: dict[str, type[BucketPath]] = {there.scheme: there for there in (BucketPath, GooglePath, AzurePath)}
_FORMS = ", ".join(f"{scheme}://bucket/prefix" for scheme in _CLASSES)


def read_place(text: str) -> Path:
    """A folder, or a `BucketPath` for an address with a scheme that is known.

    Raises:
        SettingsError: another scheme, or no bucket's name.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Path(text)
    there = _CLASSES.get(scheme)
    if there is None:
        raise SettingsError(
            f"an index can lie in a folder or a bucket, not below {scheme}://",
            subject=text,
            next_step=f"Give a folder, or one of {_FORMS}.",
        )
    parts = [part for part in rest.split("/") if part]
    if not parts or rest.startswith("/") or {".", ".."} & set(parts):
        raise SettingsError(
            "names no bucket", subject=text, next_step=f"Write {scheme}://bucket or {scheme}://bucket/prefix."
        )
    return there("/", *parts)


def open_files(place: Path, settings: StoreSettings) -> FileSystem:
    """The medium of a place.

    Raises:
        StoreError: the library for buckets is not installed, or no bucket can be reached from here at all.
    """
    if not isinstance(place, BucketPath):
        return LocalFiles()
    from pageindex_local.store.objects import open_bucket  # noqa: PLC0415 - for those who use buckets

    return open_bucket(place, settings)
