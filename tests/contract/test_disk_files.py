"""What a disk must do, for `FileSystem` to be made of it: whole files, renames that never overwrite, locks."""

from pathlib import Path

import pytest

from pageindex_local.errors import ConflictError
from pageindex_local.store.disk import LocalFiles
from tests.contract.media import Disk


def test_write_new_existing_file_is_refused_and_kept(disk: Disk) -> None:
    files, root = disk
    files.write_new(root / "a", b"1")
    files.sync_file(root / "a")
    files.sync_folder(root)

    with pytest.raises(FileExistsError):
        files.write_new(root / "a", b"2")

    assert files.read_bytes(root / "a") == b"1"


def test_write_new_missing_folder_is_refused(disk: Disk) -> None:
    files, root = disk

    with pytest.raises(FileNotFoundError):
        files.write_new(root / "no" / "a", b"1")


def test_rename_moves_a_folder_with_its_files(disk: Disk) -> None:
    files, root = disk
    files.make_folder(root / "one")
    files.write_new(root / "one" / "a", b"1")

    files.rename(root / "one", root / "two")

    assert files.list_names(root) == ["two"]
    assert files.read_bytes(root / "two" / "a") == b"1"


@pytest.mark.parametrize("is_folder", [True, False])
def test_rename_onto_something_is_refused(disk: Disk, is_folder: bool) -> None:
    files, root = disk
    for name in ("one", "two"):
        if is_folder:
            files.make_folder(root / name)
        else:
            files.write_new(root / name, name.encode())

    with pytest.raises(FileExistsError):
        files.rename(root / "one", root / "two")

    assert files.list_names(root) == ["one", "two"]


def test_replace_puts_one_file_in_the_place_of_another(disk: Disk) -> None:
    files, root = disk
    files.write_new(root / "old", b"1")
    files.write_new(root / "new", b"2")

    files.replace(root / "new", root / "old")

    assert files.list_names(root) == ["old"]
    assert files.read_bytes(root / "old") == b"2"


def test_clear_unfinished_takes_what_crashes_left(disk: Disk) -> None:
    files, root = disk
    files.make_folder(root / ".tmp-1")
    files.write_new(root / ".tmp-1" / "a", b"1")
    files.write_new(root / ".tmp-2", b"1")
    files.write_new(root / "a", b"1")

    files.clear_unfinished(root)

    assert files.list_names(root) == ["a"]


def test_lock_held_elsewhere_is_a_conflict_that_says_what(tmp_path: Path) -> None:
    with (
        LocalFiles().lock(tmp_path / ".lock", 0.1, what="the pump"),
        pytest.raises(ConflictError, match="holding the pump"),
        LocalFiles().lock(tmp_path / ".lock", 0.1, what="the pump"),
    ):
        pytest.fail("two holders of one lock")
