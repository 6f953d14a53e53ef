"""The media an index can lie on, each as files and a place on it: what the contract of a medium is tried with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pageindex_local.store.copies import LocalCopies
from pageindex_local.store.disk import DiskFiles, LocalFiles
from pageindex_local.store.files import FileSystem
from pageindex_local.store.objects import BucketFiles
from pageindex_local.store.places import BucketPath, open_files, read_place
from tests.clouds import open_amazon, open_memory
from tests.faults.bucket import MemoryBucket
from tests.faults.disk import MemoryFiles
from tests.store_samples import store_settings

Place = tuple[FileSystem, Path]
Disk = tuple[DiskFiles, Path]
BUCKETS = ["s3", "memory bucket", "obstore", "s3 by obstore", "google", "azure"]


def local(root: Path, _: pytest.FixtureRequest) -> Disk:
    return LocalFiles(), root


def memory(root: Path, _: pytest.FixtureRequest) -> Disk:
    files = MemoryFiles()
    files.make_folder(Path("/disk"))
    return files, Path("/disk")


def s3(root: Path, request: pytest.FixtureRequest) -> Place:
    from pageindex_local.store.s3 import open_s3

    place = read_place(request.getfixturevalue("s3_place"))
    return BucketFiles(open_s3(), root, LocalCopies(root / "files", 1_000_000)), place


def memory_bucket(root: Path, _: pytest.FixtureRequest) -> Place:
    files = BucketFiles(MemoryBucket(), root, LocalCopies(root / "files", 1_000_000))
    return files, BucketPath("/", "bucket", "indexes")


def obstore_memory(root: Path, _: pytest.FixtureRequest) -> Place:
    place = BucketPath("/", "bucket", "indexes")
    return BucketFiles(open_memory(place), root, LocalCopies(root / "files", 1_000_000)), place


def obstore_s3(root: Path, request: pytest.FixtureRequest) -> Place:
    """Not how S3 is reached, but the conditions that Azure knows as well, by the same client, to a real server."""
    place = read_place(request.getfixturevalue("s3_place"))
    assert isinstance(place, BucketPath)
    return BucketFiles(open_amazon(place), root, LocalCopies(root / "files", 1_000_000)), place


def google(root: Path, request: pytest.FixtureRequest) -> Place:
    return open_there(root, request.getfixturevalue("google_place"))


def azure(root: Path, request: pytest.FixtureRequest) -> Place:
    return open_there(root, request.getfixturevalue("azure_place"))


def open_there(root: Path, address: str) -> Place:
    place = read_place(address)
    return open_files(place, store_settings().model_copy(update={"cache_folder": str(root)})), place


Maker = Callable[[Path, pytest.FixtureRequest], Place]
MAKERS: dict[str, Maker] = {
    "local": local,
    "memory": memory,
    "s3": s3,
    "memory bucket": memory_bucket,
    "obstore": obstore_memory,
    "s3 by obstore": obstore_s3,
    "google": google,
    "azure": azure,
}
