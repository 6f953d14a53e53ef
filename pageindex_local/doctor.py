"""Whether this installation works: settings in, a list of checks out, each a sentence and its figures. Prints nothing.

The engine is tried in a child process, so that a native crash becomes a sentence. Nothing is sent anywhere.
"""

import importlib.metadata
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pageindex_local.errors import PageindexError
from pageindex_local.llm.models import FAKE_MODEL, default_cache_folder, find_model, hash_file, locate_file
from pageindex_local.settings import ModelSettings, Settings, StoreSettings, configs_folder
from pageindex_local.store.places import BucketPath, open_files

PROBE_TIMEOUT_S = 600.0
REBUILD = "Rebuild it for this machine with `make engine`."
LOW_DISK_BYTES = 1_000_000_000
_TELEMETRY_OFF = re.compile(r"^telemetry:\s*(?:\{\s*)?enabled:\s*false\b", re.MULTILINE)
_FALSE_WORDS = ("", "0", "false", "no", "off")


class CheckState(StrEnum):
    """How a check went. A warning does not keep the program from working."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `message` is one sentence for a person; `values` are the figures behind it, ready for JSON."""

    name: str
    state: CheckState
    message: str
    values: Mapping[str, Any] = field(default_factory=dict)


def run_checks(settings: Settings, *, index: Path | None = None) -> list[Check]:
    """All checks in order: program, model file, engine, speed, disk, network. A few seconds with the bundled model.

    `index` is the folder whose free space counts (default: the current one), or a bucket that is tried: a small object
    is written and removed again. Never raises for what it finds.
    """
    engine = check_engine(settings.model)
    checks = [check_program(), check_model_file(settings.model), *engine]
    network = check_network(settings.model, os.environ)
    if isinstance(index, BucketPath):
        checks.append(check_bucket(index, settings.store))
        network = replace(network, message=network.message.replace("Nothing needs", "Nothing but the bucket needs"))
        index = Path(settings.store.cache_folder)
    return [*checks, check_disk(index or Path()), network]


def check_program() -> Check:
    """Versions of the program, Python and the libraries that do the work."""
    values: dict[str, str] = {"python": platform.python_version(), "machine": platform.machine()}
    missing = []
    for name in ("pageindex-local", "llama-cpp-python", "pymupdf", "pyarrow", "dagster"):
        try:
            values[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("program", CheckState.FAILED, f"Not installed: {', '.join(missing)}. Run `make setup`.", values)
    versions = ", ".join(f"{name} {version}" for name, version in values.items() if name != "machine")
    return Check("program", CheckState.OK, f"{versions}.", values)


def check_model_file(settings: ModelSettings) -> Check:
    """Whether the configured model's file is there and is the one its entry names. Reads the whole file."""
    if settings.name == FAKE_MODEL:
        return Check("model", CheckState.WARNING, "The stand-in without weights is configured: no real model runs.")
    try:
        entry = find_model(settings.name)
        if entry.url:
            return Check("model", CheckState.OK, f"A server at {entry.url} is configured.", {"url": entry.url})
        path = locate_file(entry)
        sha256 = hash_file(path)
    except PageindexError as error:
        return Check("model", CheckState.FAILED, _as_sentences(error.subject, error.problem, error.next_step))
    size_bytes = path.stat().st_size
    values = {"name": entry.name, "path": str(path), "sha256": sha256, "size_bytes": size_bytes}
    if entry.sha256 and entry.sha256 != sha256:
        message = f"{path} is not the file that its entry names (sha256 {sha256}, expected {entry.sha256})."
        return Check("model", CheckState.FAILED, message, values)
    known = "is the file its entry names" if entry.sha256 else "has no entry, so its sha256 is not checked"
    message = f"{entry.name}, {size_bytes / 1e6:.0f} MB, {known}."
    return Check("model", CheckState.OK, message, values)


def check_engine(settings: ModelSettings, command: Sequence[str] | None = None) -> list[Check]:
    """Whether the model loads and writes, and how fast, tried in a child process.

    `command` replaces the child (its arguments without the settings).
    """
    command = command or (sys.executable, "-m", "pageindex_local.llm.probe")
    try:
        done = subprocess.run(
            [*command, settings.model_dump_json()],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"The model did not write a word within {PROBE_TIMEOUT_S:.0f} seconds; is the machine busy?"
        return [Check("engine", CheckState.FAILED, message)]
    except OSError as error:
        return [Check("engine", CheckState.FAILED, f"The engine cannot be tried ({error}). {REBUILD}")]
    report = _read_report(done.stdout)
    if done.returncode == 0 and report:
        return _describe_engine(report)
    return [Check("engine", CheckState.FAILED, _explain_failure(done.returncode, report, done.stderr))]


def _read_report(output: str) -> dict[str, Any]:
    """The JSON object on the last line, or nothing."""
    try:
        report = json.loads(output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return report if isinstance(report, dict) else {}


def _explain_failure(status: int, report: Mapping[str, Any], errors: str) -> str:
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        if name == "SIGILL":
            return f"The engine died with SIGILL: llama.cpp was compiled for another processor. {REBUILD}"
        if name == "SIGKILL":
            return "The engine was killed (SIGKILL), most likely for want of memory: choose a smaller model or window."
        return f"The engine died with {name} in native code. {REBUILD}"
    named = report.get("error")
    if isinstance(named, dict):
        text = _as_sentences(*(str(named.get(key, "")) for key in ("subject", "problem", "next_step")))
        return text if named.get("kind") != "EngineUnavailableError" or REBUILD in text else f"{text} {REBUILD}"
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = lines[-1] if lines else "no message"
    return f"The engine could not be tried (status {status}: {last}). {REBUILD}"


def _as_sentences(subject: str, problem: str, next_step: str) -> str:
    problem = problem if problem.endswith(".") else f"{problem}."
    return " ".join(part for part in (subject and f"{subject}:", problem, next_step) if part)


def _describe_engine(report: Mapping[str, Any]) -> list[Check]:
    threads = f", {report['threads']} threads" if report.get("threads") else ""
    loads = (
        f"{report.get('name')} loads in {report.get('load_s')} s and writes; window {report.get('context_tokens')} "
        f"tokens{threads}; {report.get('engine')}."
    )
    if not report.get("model_sha256"):  # a stand-in, or a server that works for others too
        return [Check("engine", CheckState.OK, loads, dict(report))]
    prefill, decode = report.get("prefill_tokens_a_second"), report.get("decode_tokens_a_second")
    speed = (
        f"Reads {prefill} and writes {decode} tokens a second ({report.get('parallel_sequences')} answers at once); "
        "other work on the machine lowers this."
    )
    return [
        Check("engine", CheckState.OK, loads, dict(report)),
        Check("speed", CheckState.OK, speed, {"prefill_tokens_a_second": prefill, "decode_tokens_a_second": decode}),
    ]


def check_disk(folder: Path, free_bytes: Callable[[Path], int] | None = None) -> Check:
    """Free space for the index and for converted models."""
    measure = free_bytes or (lambda path: shutil.disk_usage(path).free)
    values = {
        "index_free_bytes": measure(_existing(folder)),
        "cache_free_bytes": measure(_existing(default_cache_folder())),
    }
    message = (
        f"{values['index_free_bytes'] / 1e9:.1f} GB free for the index, {values['cache_free_bytes'] / 1e9:.1f} GB for "
        "converted models."
    )
    low = min(values.values()) < LOW_DISK_BYTES
    return Check("disk", CheckState.WARNING if low else CheckState.OK, message, values)


def check_bucket(place: BucketPath, settings: StoreSettings) -> Check:
    """Whether an index can be read in a bucket, and written: rights, network, and the conditions on its puts."""
    values = {"bucket": str(place)}
    try:
        files = open_files(place, settings)
        files.list_names(place)
    except PageindexError as error:
        return Check("bucket", CheckState.FAILED, f"Cannot be read: {error.problem}. {error.next_step}", values)
    try:
        files.check_medium(place, allow_network_disk=False)
    except PageindexError as error:
        return Check("bucket", CheckState.WARNING, f"Can only be read: {error.problem}. {error.next_step}", values)
    return Check("bucket", CheckState.OK, "Can be read and written, and keeps the conditions on writes.", values)


def check_network(settings: ModelSettings, environment: Mapping[str, str]) -> Check:
    """Whether anything configured here would talk to another machine."""
    dagster_home = environment.get("DAGSTER_HOME", "")
    folder = Path(dagster_home) if dagster_home else configs_folder() / "dagster"
    stopped_by_environment = environment.get("DAGSTER_DISABLE_TELEMETRY", "").casefold() not in _FALSE_WORDS
    telemetry_off = stopped_by_environment or _telemetry_is_off(folder / "dagster.yaml")
    values = {"dagster_telemetry_off": telemetry_off, "dagster_home": str(folder), "model": settings.name}
    if not telemetry_off:
        message = (
            f"Dagster would send telemetry: set `telemetry: {{enabled: false}}` in {folder / 'dagster.yaml'}, or "
            "DAGSTER_DISABLE_TELEMETRY=1."
        )
        return Check("network", CheckState.WARNING, message, values)
    return Check(
        "network", CheckState.OK, "Nothing needs the network: the model is local and telemetry is off.", values
    )


def _telemetry_is_off(file: Path) -> bool:
    try:
        return bool(_TELEMETRY_OFF.search(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        return False


def _existing(path: Path) -> Path:
    path = path.expanduser().absolute()
    while not path.exists():
        path = path.parent
    return path
