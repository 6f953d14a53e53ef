"""What can go wrong at Google's or Azure's: a sentence and what to do, never obstore's own error, and no secrets.

Google's side is asked of a server on this machine, Azure's of Azurite where there is one.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pageindex_local.errors import StoreError
from pageindex_local.store.index import IndexStore
from pageindex_local.store.places import AzurePath, read_place
from pageindex_local.store.services import AZURE
from tests.store_samples import publish_sections, sample_sections, store_settings

if TYPE_CHECKING:
    from tests.azure_server import AzuriteServer
    from tests.google_server import GoogleServer


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request is made once."""
    monkeypatch.setattr("pageindex_local.store.clouds._RETRIES", {"max_retries": 0})


@pytest.fixture(params=["google_place", "azure_place"])
def place(request: pytest.FixtureRequest) -> str:
    address: str = request.getfixturevalue(request.param)
    return address


def open_store(place: str) -> IndexStore:
    return IndexStore(read_place(place), "main", store_settings(lock_timeout_s=20))


def test_process_that_was_forked_is_told_instead_of_hanging(google_place: str) -> None:
    script = (
        "import os, sys\n"
        "from pageindex_local.errors import StoreError\n"
        "from pageindex_local.settings import read_settings\n"
        "from pageindex_local.store import IndexStore\n"
        "from pageindex_local.store.places import AzurePath, read_place\n"
        "store = IndexStore(read_place(sys.argv[1]), 'main', read_settings().store)\n"
        "assert store.current() is None\n"
        "if os.fork():\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "try:\n"
        "    store.current()\n"
        "except StoreError as error:\n"
        "    os._exit(0 if 'forked' in error.problem else 2)\n"
        "os._exit(3)\n"
    )

    done = subprocess.run([sys.executable, "-c", script, google_place], timeout=30, check=False)

    assert done.returncode == 0


def test_interrupt_ends_the_waiting_for_a_service_that_does_not_answer(
    google_server: "GoogleServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("GOOGLE_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        # A shell that runs the tests in the background has its children ignore interrupts; not so this one.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", "from pageindex_local.cli import main; main()", "status", "--index", "gs://b/x"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        silent.settimeout(60)
        connection, _ = silent.accept()
        with connection:
            time.sleep(0.5)  # the request is under way
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 130


# Google's


def test_service_that_asks_to_be_left_in_peace_is_asked_again(google_server: "GoogleServer", google_place: str) -> None:
    """Google takes one write a second to one name, which the trial before the first write exceeds."""
    asked: list[str] = []

    def fault(method: str, path: str) -> tuple[int, str] | None:
        asked.append(path)
        return (429, "SlowDown") if "/.tmp-" in path and asked.count(path) == 2 else None

    google_server.fault = fault

    publish_sections(open_store(google_place), sample_sections("one"))

    google_server.fault = None
    assert open_store(google_place).require_current().name == "000001"


def test_service_that_does_not_say_what_it_holds_is_refused_and_nothing_stays(
    google_server: "GoogleServer", google_place: str
) -> None:
    google_server.hides_generations = True

    with pytest.raises(StoreError, match="which version of an object") as caught:
        publish_sections(open_store(google_place), sample_sections("one"))

    assert "conditional writes" in caught.value.next_step
    assert open_store(google_place).files.list_names(read_place(google_place)) == []


def test_failure_of_the_trial_is_not_hidden_by_that_of_its_end(
    google_server: "GoogleServer", google_place: str
) -> None:
    google_server.hides_generations = True
    google_server.fault = lambda method, path: (403, "AccessDenied") if method == "DELETE" else None

    with pytest.raises(StoreError, match="which version of an object"):
        publish_sections(open_store(google_place), sample_sections("one"))


@pytest.mark.usefixtures("impatient")
def test_service_that_is_not_there_is_said(google_server: "GoogleServer", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_BASE_URL", "http://127.0.0.1:9")

    with pytest.raises(StoreError, match=r"cannot be reached \(127.0.0.1:9, Connection refused\)") as caught:
        open_store("gs://bucket/x").current()

    assert "GOOGLE_BASE_URL" in caught.value.next_step


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GOOGLE_BASE_URL", "nonsense"),
        ("GOOGLE_SERVICE_ACCOUNT", "/no/such/file.json"),
        ("GOOGLE_SERVICE_ACCOUNT_KEY", "{"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/no/such/file.json"),
    ],
)
def test_configuration_of_google_that_cannot_be_used_is_said(
    google_server: "GoogleServer", monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.delenv("GOOGLE_BEARER_TOKEN")
    monkeypatch.setenv(variable, value)

    with pytest.raises(StoreError, match="configuration for buckets cannot be used") as caught:
        open_store("gs://bucket/x")

    assert caught.value.next_step


# Azure's


@pytest.fixture
def azure_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account at a service that is not there."""
    for name in ("AZURE_STORAGE_USE_EMULATOR", "AZURE_STORAGE_KEY", "AZURITE_BLOB_STORAGE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "manuals")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9/manuals")


@pytest.mark.usefixtures("azure_account", "impatient")
def test_azure_that_is_not_there_is_said_without_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2024-01-01&sig=secret%3D")

    with pytest.raises(StoreError, match=r"cannot be reached \(Connection refused\)") as caught:
        open_store("az://container/x").current()

    assert "AZURE_STORAGE_ACCOUNT_NAME" in caught.value.next_step
    assert "secret" not in str(caught.value)


@pytest.mark.usefixtures("azure_account")
@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("AZURE_STORAGE_ACCOUNT_NAME", None, "Account must be specified"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "no key!", "Invalid Access Key"),
        ("AZURE_STORAGE_ENDPOINT", "nonsense", "AZURE_STORAGE_ENDPOINT is no address"),
    ],
)
def test_configuration_of_azure_that_cannot_be_used_is_said(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str | None, words: str
) -> None:
    monkeypatch.delenv(variable)
    if value is not None:
        monkeypatch.setenv(variable, value)

    with pytest.raises(StoreError, match=words) as caught:
        open_store("az://container/x")

    assert caught.value.next_step


@pytest.mark.usefixtures("azure_account", "impatient")
def test_account_without_credentials_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")
    monkeypatch.setenv("AZURE_MSI_ENDPOINT", "http://127.0.0.1:9/token")

    with pytest.raises(StoreError, match=r"no usable credentials .*127.0.0.1:9") as caught:
        open_store("az://container/x").current()

    assert "AZURE_STORAGE_ACCOUNT_KEY" in caught.value.next_step


@pytest.mark.usefixtures("azure_account", "impatient")
def test_account_as_the_commands_of_az_name_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACCOUNT_NAME", "ACCOUNT_KEY"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "manuals")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "a2V5")

    with pytest.raises(StoreError, match="cannot be reached"):
        open_store("az://container/x").current()


def test_wrong_key_is_denied_and_rights_are_named(
    azure_server: "AzuriteServer", azure_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_USE_EMULATOR")  # which would bring the right key
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"{azure_server.url}/devstoreaccount1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    store = open_store(azure_place)

    for act in (
        store.current,
        lambda: store.files.list_names(store.layout.folder),
        lambda: store.files.remove_whole(store.layout.folder, "last"),
        lambda: publish_sections(store, sample_sections("one")),
    ):
        with pytest.raises(StoreError, match="access denied") as caught:
            act()
        assert "Storage Blob Data Reader" in caught.value.next_step


def test_container_name_that_cannot_be_is_said(azure_server: "AzuriteServer") -> None:
    with pytest.raises(StoreError) as caught:
        open_store("az://Not a container!/x").current()

    assert caught.value.next_step


def test_report_of_a_failure_shows_no_signature() -> None:
    """The form is that of obstore's text; a signed address stands in it."""
    message = "Error performing GET https://manuals.example/c/x?sv=1&sig=secret in 1s - status code: 409 Conflict"

    error = AZURE.explain(message, AzurePath("/", "c", "x"))

    assert "409" in error.problem
    assert "secret" not in str(error)


def test_library_that_is_not_installed_is_said(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "sys.modules['obstore'] = None\n"
        "from pageindex_local.cli import main\n"
        "sys.argv = ['pageindex-local', 'status', '--index', 'az://container/x']\n"
        "main()\n"
    )
    environment = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment)

    assert done.returncode == StoreError.exit_code
    assert "pageindex-local[clouds]" in done.stderr
    assert "Traceback" not in done.stderr
