"""What `--index` may say, and that a place in a bucket is never taken for a file of this machine."""

from pathlib import Path

import pytest

from pageindex_local.errors import SettingsError
from pageindex_local.store.places import AzurePath, BucketPath, GooglePath, read_place


@pytest.mark.parametrize(
    ("text", "bucket", "key"),
    [
        ("s3://manuals", "manuals", ""),
        ("s3://manuals/", "manuals", ""),
        ("s3://manuals/team/indexes", "manuals", "team/indexes"),
        ("s3://manuals//team/", "manuals", "team"),
    ],
)
def test_read_place_of_a_bucket_has_bucket_and_key(text: str, bucket: str, key: str) -> None:
    place = read_place(text)

    assert isinstance(place, BucketPath)
    assert (place.bucket, place.key) == (bucket, key)
    assert str(place) == f"s3://{bucket}" + (f"/{key}" if key else "")


@pytest.mark.parametrize(("scheme", "kind"), [("s3", BucketPath), ("gs", GooglePath), ("az", AzurePath)])
def test_bucket_path_made_from_another_keeps_its_scheme(scheme: str, kind: type[BucketPath]) -> None:
    path = read_place(f"{scheme}://manuals/team") / "main" / "CURRENT"

    assert type(path) is type(path.parent) is kind
    assert str(path) == f"{scheme}://manuals/team/main/CURRENT"
    assert str(path.parent) == f"{scheme}://manuals/team/main"
    assert str(path.with_name("LAST")) == f"{scheme}://manuals/team/main/LAST"
    assert f"{path}" == str(path)


@pytest.mark.parametrize("text", ["indexes", "./indexes", "/srv/indexes", "s3:/indexes"])
def test_read_place_of_a_folder_is_that_folder(text: str) -> None:
    assert read_place(text) == Path(text)
    assert not isinstance(read_place(text), BucketPath)


@pytest.mark.parametrize("text", ["https://host/x", "s3://", "gs:///x", "az://bucket/../x"])
def test_read_place_that_cannot_be_is_refused_with_a_next_step(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_place(text)

    assert caught.value.next_step


@pytest.mark.parametrize("text", ["https://host/x", "gcs://bucket/x", "abfss://container/x", "S3://bucket/x"])
def test_read_place_of_an_unknown_scheme_names_those_that_are_known(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_place(text)

    assert all(known in caught.value.next_step for known in ("a folder", "s3://", "gs://", "az://"))


def test_bucket_path_used_as_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = read_place("s3://manuals/team")

    for use in (path.mkdir, path.exists, path.read_bytes, path.touch, lambda: list(path.iterdir())):
        with pytest.raises(TypeError, match="lies in a bucket"):
            use()

    assert list(tmp_path.iterdir()) == []
