"""What can go wrong with a bucket, asked of a real server: a sentence and what to do, never boto3's own error."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pageindex_local.errors import PageindexError, StoreError
from pageindex_local.store.index import IndexStore
from pageindex_local.store.places import read_place
from pageindex_local.store.verify import verify_index
from tests.store_samples import publish_sections, sample_sections, store_settings

if TYPE_CHECKING:
    from tests.s3_server import S3Server


def open_store(place: str) -> IndexStore:
    return IndexStore(read_place(place), "main", store_settings(lock_timeout_s=20))


def test_read_again_fetches_only_what_may_have_changed(
    s3_server: "S3Server", s3_place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publish_sections(open_store(s3_place), sample_sections("one"))

    def read() -> list[str]:
        s3_server.requests.clear()
        store = open_store(s3_place)
        release = store.require_current()
        store.open_document(release, next(iter(release.documents))).pages()
        return [path.rsplit("/", 1)[-1] for _, path in s3_server.requests]

    assert read() == ["CURRENT", "000001.json"]  # the rest was kept when it was put
    monkeypatch.setenv("HOME", str(tmp_path / "another machine"))
    assert read() == ["CURRENT", "000001.json", "manifest.json", "pages.parquet"]
    assert read() == ["CURRENT"]


def test_verify_reads_the_bucket_and_not_the_copies(s3_server: "S3Server", s3_place: str) -> None:
    store = open_store(s3_place)
    publish_sections(store, sample_sections("one"))
    release = store.require_current()
    key = next(iter(release.documents))
    store.open_document(release, key).pages()
    path = store.layout.version(key, "v000001") / "pages.parquet"
    store.files.remove(path)
    store.files.create_file(path, b"other")

    assert [problem.where for problem in verify_index(store).problems] == [str(path)]
    with pytest.raises(StoreError, match="not the ones that were written"):
        open_store(s3_place).uncached().open_document(release, key).pages()


def test_service_that_is_not_there_is_said(s3_server: "S3Server", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")

    with pytest.raises(StoreError, match="cannot be reached") as caught:
        open_store("s3://bucket/x").current()

    assert "AWS_ENDPOINT_URL_S3" in caught.value.next_step


def test_endpoint_that_is_no_address_is_said(s3_server: "S3Server", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "nonsense")

    with pytest.raises(StoreError, match="configuration") as caught:
        open_store("s3://bucket/x")

    assert caught.value.next_step


def test_credentials_that_are_missing_are_said(
    s3_server: "S3Server", s3_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    with pytest.raises(StoreError, match="no usable credentials") as caught:
        open_store(s3_place).current()

    assert "AWS_ACCESS_KEY_ID" in caught.value.next_step


def test_bucket_name_that_cannot_be_is_said(s3_server: "S3Server") -> None:
    with pytest.raises(StoreError) as caught:
        open_store("s3://Not a bucket!/x").current()

    assert caught.value.next_step


def test_conflict_of_two_puts_at_once_is_tried_again(s3_server: "S3Server", s3_place: str) -> None:
    asked: list[str] = []

    def fault(method: str, path: str) -> tuple[int, str] | None:
        asked.append(path)
        return (409, "ConditionalRequestConflict") if method == "PUT" and asked.count(path) < 3 else None

    s3_server.fault = fault

    publish_sections(open_store(s3_place), sample_sections("one"))

    s3_server.fault = None
    assert open_store(s3_place).require_current().name == "000001"


def test_library_that_is_not_installed_is_said(s3_server: "S3Server") -> None:
    script = (
        "import sys\n"
        "sys.modules['boto3'] = None\n"
        "from pageindex_local.cli import main\n"
        "sys.argv = ['pageindex-local', 'status', '--index', 's3://bucket/x']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == StoreError.exit_code
    assert "pageindex-local[s3]" in done.stderr
    assert "Traceback" not in done.stderr


def test_folder_copied_into_a_bucket_is_the_same_index(s3_server: "S3Server", s3_place: str, tmp_path: Path) -> None:
    local = IndexStore(tmp_path / "index", "main", store_settings())
    publish_sections(local, sample_sections("one"))
    publish_sections(local, sample_sections("two"))
    store = open_store(s3_place)
    for file in (path for path in local.layout.folder.rglob("*") if path.is_file()):
        store.files.create_file(store.layout.folder / file.relative_to(local.layout.folder), file.read_bytes())

    assert store.require_current() == local.require_current()
    publish_sections(store, sample_sections("three"))
    assert store.releases() == ("000001", "000002", "000003")
    assert verify_index(store, deep=True).problems == ()
    with pytest.raises(PageindexError):
        store.release("000004")
