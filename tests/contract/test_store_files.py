"""What the store expects of its medium, kept by a disk, by a bucket on a real server, and by those that tests break."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pageindex_local.errors import ConflictError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.places import BucketPath, read_place
from tests.contract.media import Place

if TYPE_CHECKING:
    from tests.s3_server import S3Server

# What the store uses


def test_create_file_gives_back_its_bytes(place: Place) -> None:
    files, root = place

    files.create_file(root / "a", b"\0\xff\n")
    files.create_file(root / "b", b"", durable=False)

    assert files.read_bytes(root / "a") == b"\0\xff\n"
    assert files.read_bytes(root / "b") == b""
    assert files.list_names(root) == ["a", "b"]


def test_create_file_on_other_bytes_is_refused_and_they_stay(place: Place) -> None:
    files, root = place
    files.create_file(root / "a", b"1")

    with pytest.raises(FileExistsError):
        files.create_file(root / "a", b"2")

    assert files.read_bytes(root / "a") == b"1"


def test_read_missing_is_file_not_found(place: Place) -> None:
    files, root = place

    with pytest.raises(FileNotFoundError):
        files.read_bytes(root / "a")
    with pytest.raises(FileNotFoundError):
        files.read_known(root / "a", sha256_hex(b"1"))
    with pytest.raises(FileNotFoundError):
        files.modified_time(root / "a")


def test_read_known_gives_the_file_and_uncached_the_mediums_own(place: Place) -> None:
    files, root = place
    files.create_file(root / "a", b"1")

    assert files.read_known(root / "a", sha256_hex(b"1")) == b"1"
    files.remove(root / "a")

    with pytest.raises(FileNotFoundError):
        files.uncached().read_known(root / "a", sha256_hex(b"1"))


def test_exists_knows_files_folders_and_nothing(place: Place) -> None:
    files, root = place
    files.make_folders(root / "folder")
    files.create_file(root / "folder" / "a", b"1")

    assert files.exists(root / "folder" / "a")
    assert files.exists(root / "folder")
    assert not files.exists(root / "fold")
    assert not files.exists(root / "folder" / "a" / "b")


def test_list_names_is_sorted_and_empty_where_missing(place: Place) -> None:
    files, root = place
    for name in ("b", "a-1", "a", "c.json"):
        files.create_file(root / name, b"")
    files.make_folders(root / "d")
    files.create_file(root / "d" / "inside", b"")

    assert files.list_names(root) == ["a", "a-1", "b", "c.json", "d"]
    assert files.list_names(root / "no") == []
    assert files.list_names(root / "a") == []


def test_replace_file_swaps_what_was_expected(place: Place) -> None:
    files, root = place

    files.replace_file(root / "a", b"1", None)
    files.replace_file(root / "a", b"2", b"1")

    assert files.read_bytes(root / "a") == b"2"
    assert files.list_names(root) == ["a"]


@pytest.mark.parametrize("expected", [None, b"0"])
def test_replace_file_that_is_another_is_a_conflict_and_it_stays(place: Place, expected: bytes | None) -> None:
    files, root = place
    files.create_file(root / "a", b"1")

    with pytest.raises(ConflictError, match="changed by another") as caught:
        files.replace_file(root / "a", b"2", expected)

    assert caught.value.next_step
    assert files.read_bytes(root / "a") == b"1"


def test_replace_file_that_is_gone_is_a_conflict(place: Place) -> None:
    files, root = place

    with pytest.raises(ConflictError):
        files.replace_file(root / "a", b"2", b"1")

    assert files.list_names(root) == []


def test_create_folder_is_whole_with_all_its_files(place: Place) -> None:
    files, root = place
    files.make_folders(root / "versions")

    files.create_folder(root / "versions" / "one", {"a": b"1", "last": b"2"})

    assert files.list_names(root / "versions" / "one") == ["a", "last"]
    assert files.read_bytes(root / "versions" / "one" / "a") == b"1"
    assert files.list_whole(root / "versions", "last") == ["one"]
    assert files.total_bytes(root / "versions") == 2


def test_create_folder_that_is_there_is_refused_and_stays(place: Place) -> None:
    files, root = place
    files.create_folder(root / "one", {"a": b"1", "last": b"2"})

    with pytest.raises(FileExistsError):
        files.create_folder(root / "one", {"a": b"1", "last": b"3"})

    assert files.read_bytes(root / "one" / "last") == b"2"


def test_remove_whole_leaves_nothing(place: Place) -> None:
    files, root = place
    files.create_folder(root / "one", {"a": b"1", "last": b"2"})
    files.create_folder(root / "one-more", {"a": b"1", "last": b"2"})

    files.remove_whole(root / "one", "last")
    files.settle(root)

    assert files.list_names(root) == ["one-more"]
    assert files.list_whole(root, "last") == ["one-more"]


def test_remove_takes_files_folders_and_nothing(place: Place) -> None:
    files, root = place
    files.create_folder(root / "one", {"a": b"1"})
    files.create_file(root / "two", b"2")

    for name in ("one", "two", "three"):
        files.remove(root / name)

    assert files.list_names(root) == []


def test_make_folders_twice_changes_nothing(place: Place) -> None:
    files, root = place
    files.make_folders(root / "one" / "two")
    files.create_file(root / "one" / "two" / "a", b"1")

    files.make_folders(root / "one" / "two")

    assert files.list_names(root / "one" / "two") == ["a"]


def test_modified_time_does_not_go_back(place: Place) -> None:
    files, root = place
    files.create_file(root / "a", b"1")
    files.create_folder(root / "b", {"c": b"1"})

    assert files.modified_time(root / "a") <= files.modified_time(root / "b")


def test_check_medium_of_a_sound_medium_leaves_nothing(place: Place) -> None:
    files, root = place

    files.check_medium(root / "index", allow_network_disk=False)

    assert files.list_names(root) == []


def test_lock_is_free_again_after_use_and_after_an_error(place: Place) -> None:
    files, root = place
    with pytest.raises(KeyError), files.lock(root / ".lock", 0.1, what="it"):
        raise KeyError

    with files.lock(root / ".lock", 0.1, what="it"):
        pass


# What a bucket must do without locks


def test_list_whole_leaves_out_a_folder_that_is_not_finished(bucket: Place) -> None:
    files, root = bucket
    files.create_folder(root / "one", {"a": b"1", "last": b"2"})
    files.create_folder(root / "two", {"a": b"1"})

    assert files.list_whole(root, "last") == ["one"]
    assert files.list_names(root) == ["one", "two"]


def test_create_file_with_the_bytes_that_are_there_is_our_own_lost_answer(bucket: Place) -> None:
    files, root = bucket
    files.create_file(root / "a", b"1")

    files.create_file(root / "a", b"1")
    files.replace_file(root / "a", b"1", None)
    files.replace_file(root / "a", b"1", b"0")

    assert files.read_bytes(root / "a") == b"1"


def test_read_known_damaged_copy_is_fetched_again(bucket: Place, tmp_path: Path) -> None:
    files, root = bucket
    files.create_file(root / "a", b"1")
    files.read_known(root / "a", sha256_hex(b"1"))
    copy = tmp_path / "files" / sha256_hex(b"1")[:2] / sha256_hex(b"1")
    copy.write_bytes(b"2")

    assert files.read_known(root / "a", sha256_hex(b"1")) == b"1"


def test_local_folder_of_two_buckets_differ(bucket: Place, tmp_path: Path) -> None:
    files, root = bucket
    assert isinstance(root, BucketPath)

    here = files.local_folder(root / "search")

    assert here.is_relative_to(tmp_path)
    assert here != files.local_folder(type(root)("/", "other", root.key, "search"))


def test_list_of_more_than_a_page_is_complete(s3_server: "S3Server", s3_place: str) -> None:
    from pageindex_local.store.s3 import open_s3

    root = read_place(s3_place)
    assert isinstance(root, BucketPath)
    bucket = open_s3()
    for number in range(12):
        bucket.put(root / "many" / f"{number:04d}" / "a", b"1", None)

    assert len(bucket.list_below(root / "many", page=5)) == 12
    assert len(bucket.list_names(root / "many", page=5)) == 12
    assert len(bucket.list_below(root / "many", limit=3)) == 3


def test_names_with_signs_of_addresses_are_kept(bucket: Place) -> None:
    files, root = bucket
    names = sorted(["a b", "ä", "100%", "#1", "50%25", "~x", "[1]", "a+b", "a&b=c", "a:b", "it's"])
    for name in names:
        files.create_file(root / name, name.encode())

    assert files.list_names(root) == names
    assert [files.read_bytes(root / name).decode() for name in names] == names
    for name in names:
        files.remove(root / name)
    assert files.list_names(root) == []


def test_replace_file_back_to_what_it_was_is_a_change(bucket: Place) -> None:
    """Where tags are hashes of content one that was read before fits again; where they are numbers it does not."""
    files, root = bucket
    files.create_file(root / "a", b"1")
    files.replace_file(root / "a", b"2", b"1")
    files.replace_file(root / "a", b"1", b"2")

    with pytest.raises(ConflictError):
        files.replace_file(root / "a", b"3", b"2")

    assert files.read_bytes(root / "a") == b"1"
