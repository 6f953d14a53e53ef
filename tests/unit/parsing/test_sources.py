import hashlib
import os
import unicodedata
from pathlib import Path

import pytest

from pageindex_local.errors import EmptySourceError, SourceError, SourceLimitError, UnsupportedSourceError
from pageindex_local.parsing.sources import find_sources, read_source
from pageindex_local.records import MediaType
from tests.unit.parsing.pdfs import new_document, parse_settings, save, write


def _ids(*inputs: Path, exclude: tuple[str, ...] = ()) -> list[str]:
    return [found.doc_id for found in find_sources(inputs, exclude=exclude)]


def test_find_in_a_folder_takes_known_suffixes_at_any_depth_sorted(tmp_path: Path) -> None:
    for name in ("b.md", "a.PDF", "deep/er/c.txt", "deep/d.markdown", "picture.png", ".hidden.md", ".git/e.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert _ids(tmp_path) == ["a.PDF", "b.md", "deep/d.markdown", "deep/er/c.txt"]
    assert _ids(tmp_path, exclude=("deep/*",)) == ["a.PDF", "b.md"]


def test_find_of_a_single_file_takes_it_by_name_whatever_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "notes.log"
    path.parent.mkdir()
    path.touch()
    assert _ids(path) == ["notes.log"]


def test_find_with_decomposed_names_gives_composed_ids(tmp_path: Path) -> None:
    (tmp_path / unicodedata.normalize("NFD", "Übersicht.md")).touch()
    assert _ids(tmp_path) == [unicodedata.normalize("NFC", "Übersicht.md")]


def test_find_with_links_takes_those_that_stay_inside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    outside = tmp_path / "secret.md"
    outside.touch()
    (root / "real.md").touch()
    (root / "inside.md").symlink_to(root / "real.md")
    (root / "outside.md").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    assert _ids(root) == ["inside.md", "real.md"]


def test_find_of_two_files_with_one_id_is_an_error_naming_both(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.md").touch()
    with pytest.raises(SourceError, match=r"one.same\.md and .*two.same\.md"):
        find_sources([tmp_path / "one", tmp_path / "two"])


def test_find_of_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        find_sources([tmp_path / "nowhere"])


def test_read_gives_hash_size_and_key(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# Title\n" * 400_000)
    source = read_source("sub/ä.md", path, parse_settings())
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert source.size_bytes == 3_200_000
    assert "/" not in source.doc_key
    assert source.doc_id == "sub/ä.md"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.md", b"# x", MediaType.MARKDOWN),
        ("a.markdown", b"# x", MediaType.MARKDOWN),
        ("a.txt", b"# x", MediaType.TEXT),
        ("a.log", b"words", MediaType.TEXT),
        ("a.txt", b"junk before\n%PDF-1.7\n", MediaType.PDF),
        ("a.txt", "ü".encode("utf-16"), MediaType.TEXT),
        ("a.md", "# Words without a mark".encode("utf-16-le"), MediaType.MARKDOWN),
    ],
)
def test_read_tells_the_media_type_by_content(tmp_path: Path, name: str, data: bytes, expected: MediaType) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_source(name, path, parse_settings()).media_type is expected


def test_read_of_a_pdf_named_text_is_a_pdf(tmp_path: Path) -> None:
    document = new_document()
    write(document[0], 72, 100, "Text")
    path = save(document, tmp_path, "named.txt")
    assert read_source("named.txt", path, parse_settings()).media_type is MediaType.PDF


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", b"Just words, no PDF at all.", "holds no PDF"),
        ("a.docx", b"PK\x03\x04rest", "zip archive"),
        ("a.txt", b"\x89PNG\r\n\x1a\n", "PNG"),
        ("a.txt", b"ELF\x00\x01\x02\x00\x07" * 40 + b"\x00\x01\xfe", "binary data"),
    ],
)
def test_read_of_what_is_neither_pdf_nor_text_says_what_it_is(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UnsupportedSourceError, match=reason):
        read_source(name, path, parse_settings())


def test_read_of_an_empty_file_and_of_a_large_one_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.touch()
    with pytest.raises(EmptySourceError):
        read_source("a.md", path, parse_settings())
    path.write_bytes(b"x" * 101)
    with pytest.raises(SourceLimitError, match="max_size_bytes = 100"):
        read_source("a.md", path, parse_settings(max_size_bytes=100))


def test_read_of_a_missing_file_and_of_a_folder_are_source_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.md", tmp_path):
        with pytest.raises(SourceError):
            read_source("x", path, parse_settings())


def test_read_of_a_name_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    try:
        (tmp_path / name).write_text("# Coffee\n\nText.\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes no such name")
    (found,) = find_sources([tmp_path])
    with pytest.raises(SourceError, match="a name that is not UTF-8"):
        read_source(found.doc_id, found.path, parse_settings())
