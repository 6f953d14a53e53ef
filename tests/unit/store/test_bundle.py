"""An index in one file: carried over equal, refused when anything is wrong, and nothing left behind then."""

import hashlib
import io
import random
import tarfile
from pathlib import Path

import pytest

from pageindex_local.errors import ConflictError, CorruptIndexError, StoreError
from pageindex_local.ids import make_doc_key
from pageindex_local.store.bundle import export_bundle, import_bundle
from pageindex_local.store.verify import verify_index
from tests.store_samples import make_store, publish_sections, sample_sections

PUMP = make_doc_key("pump.md")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    store = make_store(tmp_path / "source")
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))
    publish_sections(store, sample_sections(), "valve.md")
    target = tmp_path / "index.tar"
    export_bundle(store, target)
    return target


def is_empty(folder: Path) -> bool:
    return not [path for path in folder.rglob("*") if path.is_file() and path.name != ".publish.lock"]


def test_import_into_empty_index_gives_equal_release(tmp_path: Path, bundle: Path) -> None:
    source, target = make_store(tmp_path / "source"), make_store(tmp_path / "target")

    info = import_bundle(target, bundle)

    assert target.layout.current.read_bytes() == source.layout.current.read_bytes()
    assert target.layout.release("000003").read_bytes() == source.layout.release("000003").read_bytes()
    assert info.release_sha256 == hashlib.sha256(source.layout.release("000003").read_bytes()).hexdigest()
    release = target.require_current()
    for doc_key in release.documents:
        assert target.open_document(release, doc_key).tree() == source.open_document(release, doc_key).tree()
    assert verify_index(target, deep=True).problems == ()


def test_import_again_changes_nothing(tmp_path: Path, bundle: Path) -> None:
    target = make_store(tmp_path / "target")
    import_bundle(target, bundle)

    import_bundle(target, bundle)

    assert target.releases() == ("000003",)


def test_import_newer_bundle_follows_the_older_one(tmp_path: Path, bundle: Path) -> None:
    source, target = make_store(tmp_path / "source"), make_store(tmp_path / "target")
    import_bundle(target, bundle)
    publish_sections(source, sample_sections("three"))
    publish_sections(source, sample_sections("four"))
    newer = tmp_path / "newer.tar"
    export_bundle(source, newer)

    import_bundle(target, newer)

    assert target.releases() == ("000003", "000005")
    assert target.require_current().documents == source.require_current().documents
    assert verify_index(target, deep=True).problems == ()


def test_import_other_version_of_same_name_is_a_conflict(tmp_path: Path, bundle: Path) -> None:
    target = make_store(tmp_path / "target")
    publish_sections(target, sample_sections("mine"))
    publish_sections(target, sample_sections("mine too"))
    before = target.require_current()

    with pytest.raises(ConflictError, match="empty collection"):
        import_bundle(target, bundle)

    assert target.require_current() == before
    assert verify_index(target, deep=True).problems == ()


def test_export_same_release_twice_gives_equal_bytes(tmp_path: Path, bundle: Path) -> None:
    again = tmp_path / "again.tar"

    export_bundle(make_store(tmp_path / "source"), again)

    assert again.read_bytes() == bundle.read_bytes()


def test_export_is_a_tar_that_other_tools_read(tmp_path: Path, bundle: Path) -> None:
    with tarfile.open(bundle) as archive:
        names = archive.getnames()

    assert names[:2] == ["bundle.json", "release.json"]
    assert f"documents/{PUMP}/v000002/manifest.json" in names
    assert not any("v000001" in name and PUMP in name for name in names)


def test_export_existing_file_is_not_overwritten(tmp_path: Path, bundle: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        export_bundle(make_store(tmp_path / "source"), bundle)


def test_export_damaged_index_writes_nothing(tmp_path: Path, bundle: Path) -> None:
    store = make_store(tmp_path / "source")
    path = store.layout.version(PUMP, "v000002") / "pages.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    target = tmp_path / "damaged.tar"

    with pytest.raises(CorruptIndexError):
        export_bundle(store, target)

    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [bundle.name]


def test_import_every_kind_of_flipped_bit_is_refused_and_leaves_nothing(tmp_path: Path, bundle: Path) -> None:
    data = bundle.read_bytes()
    lot = random.Random(4)
    places = sorted(lot.sample(range(len(data) * 8), 80))
    store = make_store(tmp_path / "target")
    for bit in places:
        broken = bytearray(data)
        broken[bit // 8] ^= 1 << (bit % 8)
        (tmp_path / "broken.tar").write_bytes(broken)
        with pytest.raises(StoreError):
            import_bundle(store, tmp_path / "broken.tar")
        assert is_empty(tmp_path / "target"), f"bit {bit}"


def test_import_cut_anywhere_is_refused_and_leaves_nothing(tmp_path: Path, bundle: Path) -> None:
    data = bundle.read_bytes()
    store = make_store(tmp_path / "target")
    for length in [0, 1, 511, 512, 513, *range(1024, len(data), len(data) // 40), len(data) - 1]:
        (tmp_path / "cut.tar").write_bytes(data[:length])
        with pytest.raises(CorruptIndexError):
            import_bundle(store, tmp_path / "cut.tar")
        assert is_empty(tmp_path / "target"), f"cut after {length} bytes"


def test_import_bytes_after_the_end_are_refused(tmp_path: Path, bundle: Path) -> None:
    longer = tmp_path / "longer.tar"
    longer.write_bytes(bundle.read_bytes() + b"\0")

    with pytest.raises(CorruptIndexError, match="goes on"):
        import_bundle(make_store(tmp_path / "target"), longer)


@pytest.mark.parametrize("name", ["../outside.json", "/etc/passwd", "documents/../../x.json", "CURRENT"])
def test_import_name_that_escapes_is_refused(tmp_path: Path, bundle: Path, name: str) -> None:
    import json

    from pageindex_local.ids import hash_parts

    listing: dict[str, object]
    with tarfile.open(bundle) as archive:
        stream = archive.extractfile("bundle.json")
        assert stream is not None
        listing = json.load(stream)
        members = {
            member.name: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive.getmembers()
            if member.name != "bundle.json"
        }
    members[name] = b"{}"
    rows = [
        {"path": path, "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in members.items()
    ]
    listing["members"] = rows
    listing["root_hash"] = hash_parts(str(row[key]) for row in rows for key in ("path", "size_bytes", "sha256"))
    evil = tmp_path / "evil.tar"
    with tarfile.open(evil, "w", format=tarfile.USTAR_FORMAT) as archive:
        head = (json.dumps(listing, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        for path, data in [("bundle.json", head), *members.items()]:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            info.mode = 0o644
            archive.addfile(info, io.BytesIO(data))

    with pytest.raises(CorruptIndexError, match="no part of an index"):
        import_bundle(make_store(tmp_path / "target"), evil)

    assert is_empty(tmp_path / "target")


def test_import_larger_than_allowed_is_refused(tmp_path: Path, bundle: Path) -> None:
    store = make_store(tmp_path / "target", max_bundle_bytes=bundle.stat().st_size // 2)

    with pytest.raises(StoreError, match="max_bundle_bytes"):
        import_bundle(store, bundle)

    assert is_empty(tmp_path / "target")


def test_import_other_root_hash_than_expected_is_refused(tmp_path: Path, bundle: Path) -> None:
    with pytest.raises(CorruptIndexError, match="root hash"):
        import_bundle(make_store(tmp_path / "target"), bundle, expected_root_hash="0" * 64)


def test_import_file_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello " * 400)

    with pytest.raises(CorruptIndexError, match="no bundle"):
        import_bundle(make_store(tmp_path / "target"), other)
