"""Which file systems are refused: told from mount tables as Linux writes them, and by trying them."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from pageindex_local.errors import StoreError
from pageindex_local.store import media
from pageindex_local.store.index import IndexStore
from pageindex_local.store.media import find_distrust
from tests.store_samples import publish_sections, sample_sections, store_settings

TABLE = """\
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 21 0:44 / /srv/share rw,relatime shared:9 - nfs4 server:/export rw,vers=4.2
41 40 254:1 / /srv/share/local rw - xfs /dev/vdb rw
42 21 0:50 / /mnt/team\\040drive rw - cifs //host/team rw
43 21 0:51 / /over rw - ext4 /dev/vdc rw
44 43 0:52 / /over rw - fuse.sshfs host: rw
"""


@pytest.mark.parametrize(
    ("folder", "word"),
    [
        ("/home/me/indexes", None),
        ("/srv/share/indexes", "NFS"),
        ("/srv/share", "NFS"),
        ("/srv/share/local/indexes", None),
        ("/srv/shared", None),
        ("/mnt/team drive/x", "SMB"),
        ("/over/indexes", "SSHFS"),
    ],
)
def test_find_distrust_goes_by_the_innermost_mount(folder: str, word: str | None) -> None:
    reason = find_distrust(Path(folder), TABLE)

    assert (reason is None) == (word is None)
    assert word is None or (reason is not None and word in reason)


def test_find_distrust_without_a_table_has_nothing_to_say() -> None:
    assert find_distrust(Path("/anywhere"), "") is None


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that the mount table says lies on NFS."""
    line = f"40 21 0:44 / {tmp_path} rw,relatime shared:9 - nfs4 server:/export rw,vers=4.2\n"
    monkeypatch.setattr(media, "read_mount_table", lambda: line)
    return tmp_path


def test_publish_on_a_network_disk_is_refused_before_anything_is_written(shared: Path) -> None:
    store = IndexStore(shared / "index", "main", store_settings())

    with pytest.raises(StoreError, match="NFS"):
        publish_sections(store, sample_sections())

    assert list(shared.iterdir()) == []


def test_publish_on_a_network_disk_works_where_settings_allow_it(shared: Path) -> None:
    store = IndexStore(shared, "main", store_settings(allow_network_disk=True))

    publish_sections(store, sample_sections())

    assert store.require_current().name == "000001"


@pytest.mark.parametrize(
    ("kind", "word"),
    [("9p", "9p"), ("drvfs", "Windows"), ("fuse.rclone", "cloud"), ("exfat", "no journal"), ("vfat", "no journal")],
)
def test_find_distrust_says_what_is_wrong_with_a_kind(kind: str, word: str) -> None:
    reason = find_distrust(Path("/mnt/x"), f"40 21 0:44 / /mnt rw - {kind} source rw\n")

    assert reason is not None
    assert word in reason


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "overlay", "zfs", "tmpfs", "apfs"])
def test_find_distrust_knows_no_reason_against_disks(kind: str) -> None:
    assert find_distrust(Path("/mnt/x"), f"40 21 0:44 / /mnt rw - {kind} source rw\n") is None


def test_try_folder_on_this_disk_finds_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    assert media.try_folder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def keep_both(source: Path, target: Path) -> Path:
    """A rename that copies: what some drives make of it."""
    target.write_bytes(source.read_bytes())
    return target


def refuse(number: int) -> Callable[..., None]:
    def act(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    return act


@pytest.mark.parametrize(
    ("owner", "name", "broken", "words"),
    [
        (Path, "replace", keep_both, "does not replace"),
        (Path, "replace", refuse(errno.EEXIST), "cannot replace a file"),
        (Path, "rename", refuse(errno.EXDEV), "cannot rename a folder"),
        (os, "fsync", refuse(errno.EINVAL), "cannot make a file durable"),
        (media, "_another_process", lambda path: 0, "one lock to two processes"),
        (FileLock, "acquire", refuse(errno.ENOLCK), "cannot lock"),
    ],
)
def test_try_folder_where_something_does_not_hold_says_what(
    owner: object, name: str, broken: object, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, broken)

    reason = media.try_folder(tmp_path)

    assert reason is not None
    assert words in reason
    assert list(tmp_path.iterdir()) == []


def test_lock_of_this_disk_is_seen_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock(path):
        assert media._another_process(path) == 3
    assert media._another_process(path) == 0


def test_publish_where_a_trial_fails_is_refused_whatever_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "_TRIED", {})
    monkeypatch.setattr(media, "_another_process", lambda path: 0)
    store = IndexStore(tmp_path / "index", "main", store_settings(allow_network_disk=True))

    with pytest.raises(StoreError, match="one lock to two processes") as caught:
        publish_sections(store, sample_sections())

    assert "local disk" in caught.value.next_step
    assert list(tmp_path.iterdir()) == []
