"""Which file systems are refused, told from mount tables as Linux writes them."""

from pathlib import Path

import pytest

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
