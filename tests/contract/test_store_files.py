"""What the store expects of a file system, kept by the local disk and by the one that the fault tests break."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pageindex_local.errors import ConflictError
from pageindex_local.store.disk import DiskFiles, LocalFiles
from tests.faults.disk import MemoryFiles


def local(root: Path) -> tuple[DiskFiles, Path]:
    return LocalFiles(), root


def memory(root: Path) -> tuple[DiskFiles, Path]:
    files = MemoryFiles()
    files.make_folder(Path("/disk"))
    return files, Path("/disk")


@pytest.fixture(params=[local, memory], ids=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[DiskFiles, Path]:
    make: Callable[[Path], tuple[DiskFiles, Path]] = request.param
    return make(tmp_path)


Place = tuple[DiskFiles, Path]


def test_write_new_gives_back_its_bytes(place: Place) -> None:
    files, root = place

    files.write_new(root / "a", b"\0\xff\n")
    files.sync_file(root / "a")
    files.sync_folder(root)

    assert files.read_bytes(root / "a") == b"\0\xff\n"
    assert files.list_names(root) == ["a"]


def test_write_new_existing_file_is_refused_and_kept(place: Place) -> None:
    files, root = place
    files.write_new(root / "a", b"1")

    with pytest.raises(FileExistsError):
        files.write_new(root / "a", b"2")

    assert files.read_bytes(root / "a") == b"1"


def test_write_new_missing_folder_is_refused(place: Place) -> None:
    files, root = place

    with pytest.raises(FileNotFoundError):
        files.write_new(root / "no" / "a", b"1")


def test_read_bytes_missing_is_file_not_found(place: Place) -> None:
    files, root = place

    with pytest.raises(FileNotFoundError):
        files.read_bytes(root / "a")


def test_list_names_is_sorted_and_empty_where_missing(place: Place) -> None:
    files, root = place
    for name in ("b", "a", "c"):
        files.write_new(root / name, b"")

    assert files.list_names(root) == ["a", "b", "c"]
    assert files.list_names(root / "no") == []


def test_rename_moves_a_folder_with_its_files(place: Place) -> None:
    files, root = place
    files.make_folder(root / "one")
    files.write_new(root / "one" / "a", b"1")

    files.rename(root / "one", root / "two")

    assert files.list_names(root) == ["two"]
    assert files.read_bytes(root / "two" / "a") == b"1"


@pytest.mark.parametrize("is_folder", [True, False])
def test_rename_onto_something_is_refused(place: Place, is_folder: bool) -> None:
    files, root = place
    for name in ("one", "two"):
        if is_folder:
            files.make_folder(root / name)
        else:
            files.write_new(root / name, name.encode())

    with pytest.raises(FileExistsError):
        files.rename(root / "one", root / "two")

    assert files.list_names(root) == ["one", "two"]


def test_replace_puts_one_file_in_the_place_of_another(place: Place) -> None:
    files, root = place
    files.write_new(root / "old", b"1")
    files.write_new(root / "new", b"2")

    files.replace(root / "new", root / "old")

    assert files.list_names(root) == ["old"]
    assert files.read_bytes(root / "old") == b"2"


def test_remove_takes_files_folders_and_nothing(place: Place) -> None:
    files, root = place
    files.make_folder(root / "one")
    files.write_new(root / "one" / "a", b"1")
    files.write_new(root / "two", b"2")

    for name in ("one", "two", "three"):
        files.remove(root / name)

    assert files.list_names(root) == []


def test_make_folder_twice_changes_nothing(place: Place) -> None:
    files, root = place
    files.make_folder(root / "one")
    files.write_new(root / "one" / "a", b"1")

    files.make_folder(root / "one")

    assert files.list_names(root / "one") == ["a"]


def test_modified_time_does_not_go_back(place: Place) -> None:
    files, root = place
    files.write_new(root / "a", b"1")
    files.write_new(root / "b", b"1")

    assert files.modified_time(root / "a") <= files.modified_time(root / "b")


def test_lock_is_free_again_after_use_and_after_an_error(place: Place) -> None:
    files, root = place
    with pytest.raises(KeyError), files.lock(root / ".lock", 0.1, what="it"):
        raise KeyError

    with files.lock(root / ".lock", 0.1, what="it"):
        pass


def test_lock_held_elsewhere_is_a_conflict_that_says_what(tmp_path: Path) -> None:
    with (
        LocalFiles().lock(tmp_path / ".lock", 0.1, what="the pump"),
        pytest.raises(ConflictError, match="holding the pump"),
        LocalFiles().lock(tmp_path / ".lock", 0.1, what="the pump"),
    ):
        pytest.fail("two holders of one lock")
