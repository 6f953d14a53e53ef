"""Copies near by: found again, never believed, never more than allowed."""

import os
from pathlib import Path

from pageindex_local.ids import sha256_hex
from pageindex_local.store.copies import LocalCopies


def test_add_then_read_gives_the_bytes(tmp_path: Path) -> None:
    copies = LocalCopies(tmp_path / "files", 1_000)

    copies.add(sha256_hex(b"one"), b"one")

    assert copies.read(sha256_hex(b"one")) == b"one"
    assert copies.read(sha256_hex(b"two")) is None


def test_read_damaged_copy_is_none_and_it_goes(tmp_path: Path) -> None:
    copies = LocalCopies(tmp_path, 1_000)
    copies.add(sha256_hex(b"one"), b"one")
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    path.write_bytes(b"two")

    assert copies.read(sha256_hex(b"one")) is None
    assert not path.exists()


def test_add_beyond_the_limit_drops_what_was_not_read_for_longest(tmp_path: Path) -> None:
    data = [bytes([number]) * 100 for number in range(20)]
    copies = LocalCopies(tmp_path, 1_000)
    for age, content in enumerate(data[:9]):
        copies.add(sha256_hex(content), content)
        path = next(path for path in tmp_path.rglob(sha256_hex(content)))
        os.utime(path, (1_000 + age, 1_000 + age))
    assert copies.read(sha256_hex(data[0])) == data[0]  # read just now, so no longer the oldest

    for content in data[9:]:
        copies.add(sha256_hex(content), content)

    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in kept) <= 1_000
    assert copies.read(sha256_hex(data[1])) is None
    assert copies.read(sha256_hex(data[19])) == data[19]


def test_add_larger_than_everything_is_not_kept(tmp_path: Path) -> None:
    copies = LocalCopies(tmp_path / "files", 10)

    copies.add(sha256_hex(b"x" * 11), b"x" * 11)

    assert not (tmp_path / "files").exists()


def test_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("a file where the folder should be")
    copies = LocalCopies(tmp_path / "files", 1_000)

    copies.add(sha256_hex(b"one"), b"one")

    assert copies.read(sha256_hex(b"one")) is None
