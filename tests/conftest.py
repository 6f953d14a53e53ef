"""What every test may ask for: the shared benchmark data and a quiet, offline process."""

import itertools
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.azure_server import AzuriteServer
    from tests.google_server import GoogleServer
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


@pytest.fixture(scope="session")
def google_process() -> "Iterator[GoogleServer]":
    """The server with Google's condition of this test run; ask for `google_server` instead."""
    from tests.google_server import GoogleServer

    server = GoogleServer()
    yield server
    server.close()


@pytest.fixture
def google_server(
    google_process: "GoogleServer", monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> "Iterator[GoogleServer]":
    """A server on this machine that answers as Google's does, and that the environment names."""
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_BASE_URL", google_process.url)
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "token")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    google_process.requests.clear()
    yield google_process
    google_process.fault = None
    google_process.ignores_conditions = False
    google_process.hides_generations = False


@pytest.fixture
def google_place(google_server: "GoogleServer") -> str:
    """A fresh bucket with a prefix, as `--index` takes it."""
    name = f"bucket-{next(_BUCKET_NUMBERS)}"
    google_server.create_bucket(name)
    return f"gs://{name}/indexes"


@pytest.fixture(scope="session")
def azure_process() -> "Iterator[AzuriteServer]":
    """Azurite for this test run, or a skip; ask for `azure_server` instead."""
    from tests.azure_server import AzuriteServer

    server = AzuriteServer.find()
    if server is None:
        pytest.skip("no Azurite: neither azurite-blob on the PATH nor AZURITE_BLOB_STORAGE_URL")
    yield server
    server.close()


@pytest.fixture
def azure_server(azure_process: "AzuriteServer", monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "AzuriteServer":
    """Azure's emulator on this machine, and an environment that names it."""
    from tests.azure_server import ACCOUNT, KEY

    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_USE_EMULATOR", "true")
    monkeypatch.setenv("AZURITE_BLOB_STORAGE_URL", azure_process.url)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", KEY)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return azure_process


@pytest.fixture
def azure_place(azure_server: "AzuriteServer") -> str:
    """A fresh container with a prefix, as `--index` takes it. Names are not used again: an emulator may live on."""
    name = f"container-{uuid.uuid4().hex}"
    azure_server.create_container(name)
    return f"az://{name}/indexes"
