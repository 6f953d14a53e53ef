"""What every test may ask for: the shared benchmark data and a quiet, offline process."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.s3_server import S3Server

# Set before any test module imports the libraries that read them.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")

_SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark data beside the checkout; skips where it is missing."""
    if not _SHARED_DATA.is_dir():
        pytest.skip(f"no benchmark data beside this checkout (looked for ../shared/data at {_SHARED_DATA.parent.name})")
    return _SHARED_DATA


_BUCKET_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def s3_process() -> "Iterator[S3Server]":
    """The S3 server of this test run; ask for `s3_server` instead."""
    from tests.s3_server import S3Server

    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def s3_server(s3_process: "S3Server", monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Iterator[S3Server]":
    """An S3 server on this machine that the environment names, with credentials, and with a home of its own."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_S3": s3_process.url,
        "AWS_MAX_ATTEMPTS": "1",
        "HOME": str(tmp_path / "home"),
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    s3_process.requests.clear()
    yield s3_process
    s3_process.fault = None
    s3_process.ignores_conditions = False


@pytest.fixture
def s3_place(s3_server: "S3Server") -> str:
    """A fresh bucket with a prefix, as `--index` takes it."""
    import boto3

    name = f"bucket-{next(_BUCKET_NUMBERS)}"
    boto3.client("s3").create_bucket(Bucket=name)
    return f"s3://{name}/indexes"
