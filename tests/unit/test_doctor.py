"""What the doctor says of broken installations. The child process is real; what it does is played."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pageindex_local.doctor import (
    Check,
    CheckState,
    check_bucket,
    check_disk,
    check_engine,
    check_model_file,
    check_network,
)
from pageindex_local.settings import read_settings
from pageindex_local.store.places import BucketPath, read_place
from tests.store_samples import store_settings

if TYPE_CHECKING:
    from tests.google_server import GoogleServer

SETTINGS = read_settings().model


def _try(script: str) -> Check:
    (check,) = check_engine(SETTINGS, [sys.executable, "-c", script])
    return check


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGILL, ["SIGILL", "another processor", "make engine"]),
        (signal.SIGSEGV, ["SIGSEGV", "make engine"]),
        (signal.SIGKILL, ["memory"]),
    ],
)
def test_engine_that_dies_becomes_one_sentence(number: signal.Signals, words: list[str]) -> None:
    check = _try(f"import os; os.kill(os.getpid(), {int(number)})")
    assert check.state is CheckState.FAILED
    assert all(word in check.message for word in words)
    assert "\n" not in check.message


def test_engine_that_is_missing_says_how_to_build_it() -> None:
    check = _try(
        "import sys; sys.modules['llama_cpp'] = None; from pageindex_local.llm.probe import main; sys.exit(main())"
    )
    assert check.state is CheckState.FAILED
    assert "llama-cpp-python" in check.message
    assert check.message.count("make engine") == 1


def test_engine_that_breaks_otherwise_shows_its_last_line() -> None:
    check = _try("raise RuntimeError('something odd')")
    assert "something odd" in check.message
    assert check.state is CheckState.FAILED


def test_engine_stand_in_is_tried_for_real() -> None:
    settings = read_settings(overrides={"model": {"name": "fake"}}).model
    (check,) = check_engine(settings)
    assert check.state is CheckState.OK
    assert check.values["name"] == "fake"


def test_model_file_that_is_not_its_entrys_fails(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    (tmp_path / "m.toml").write_text(f'name = "m"\nfile = "m.gguf"\nsha256 = "{"0" * 64}"\n')
    check = check_model_file(SETTINGS.model_copy(update={"name": str(tmp_path / "m.toml")}))
    assert check.state is CheckState.FAILED
    assert "0" * 64 in check.message


def test_model_file_bundled_is_the_one_its_entry_names() -> None:
    assert check_model_file(SETTINGS).state is CheckState.OK


def test_disk_nearly_full_is_a_warning() -> None:
    assert check_disk(Path(), lambda _: 10_000_000).state is CheckState.WARNING
    assert check_disk(Path(), lambda _: 10_000_000_000).state is CheckState.OK


@pytest.mark.parametrize(
    ("content", "environment", "state"),
    [
        ("telemetry:\n  enabled: false\n", {}, CheckState.OK),
        ("telemetry: {enabled: false}\n", {}, CheckState.OK),
        ("telemetry:\n  enabled: true\n", {}, CheckState.WARNING),
        ("# nothing\n", {}, CheckState.WARNING),
        ("# nothing\n", {"DAGSTER_DISABLE_TELEMETRY": "1"}, CheckState.OK),
        ("# nothing\n", {"DAGSTER_DISABLE_TELEMETRY": "false"}, CheckState.WARNING),
    ],
)
def test_network_telemetry_is_found_out(
    tmp_path: Path, content: str, environment: dict[str, str], state: CheckState
) -> None:
    (tmp_path / "dagster.yaml").write_text(content)
    assert check_network(SETTINGS, {"DAGSTER_HOME": str(tmp_path), **environment}).state is state


def test_network_as_shipped_needs_nothing() -> None:
    assert check_network(SETTINGS, {}).state is CheckState.OK


def test_bucket_that_can_be_written_read_or_neither_is_told_apart(
    google_server: "GoogleServer", google_place: str
) -> None:
    place, missing = read_place(google_place), read_place("gs://nobody-made-this/x")
    assert isinstance(place, BucketPath)
    assert isinstance(missing, BucketPath)

    assert check_bucket(place, store_settings()).state is CheckState.OK
    google_server.fault = lambda method, path: (403, "AccessDenied") if method in ("PUT", "DELETE") else None
    only_read = check_bucket(place, store_settings())
    google_server.fault = None
    unread = check_bucket(missing, store_settings())

    assert only_read.state is CheckState.WARNING
    assert "storage.objects.create" in only_read.message
    assert unread.state is CheckState.FAILED
    assert "no such bucket" in unread.message
