"""The command as a process of its own: what it loads, what it opens, how it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tests.network_guard
from pageindex_local import __version__

COMMAND = [sys.executable, "-c", "from pageindex_local.cli import main; main()"]


def run_process(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80", **variables}
    command = [*COMMAND, *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


def test_version_is_the_packages(tmp_path: Path) -> None:
    done = run_process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"pageindex-local {__version__}\n", "")


@pytest.mark.parametrize("command", ["build", "ask", "retrieve", "tree", "status"])
def test_help_shows_an_example_within_eighty_columns(command: str) -> None:
    done = run_process(command, "--help")
    assert done.returncode == 0
    assert f"pageindex-local {command} " in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_unknown_command_exits_2_and_suggests() -> None:
    done = run_process("statsu")
    assert done.returncode == 2
    assert "status" in done.stderr


def test_question_loads_neither_dagster_nor_parser_nor_engine(folder: Path, index: Path) -> None:
    assert run_process("build", folder, "--index", index, "--model", "fake", "--no-dagster").returncode == 0
    script = (
        "import sys\nfrom pageindex_local.cli import app\n"
        "try:\n    app(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'dagster', 'pymupdf', 'llama_cpp'} & set(sys.modules)\n"
        "sys.exit(f'loaded {sorted(heavy)}' if heavy else 0)"
    )
    command = [sys.executable, "-c", script, "ask", "What is the fee?", "--index", str(index), "--no-model"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_unexpected_error_is_a_sentence_and_no_traceback(folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    done = run_process("build", folder, "--index", blocked / "index", "--model", "fake", "--no-dagster")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert str(blocked) in done.stderr


def test_reader_that_goes_away_is_no_error(folder: Path, index: Path) -> None:
    assert run_process("build", folder, "--index", index, "--model", "fake", "--no-dagster").returncode == 0
    command = " ".join(f"'{part}'" for part in COMMAND)
    script = f"{command} tree guide.md --format html --index '{index}' | head -c 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_whole_run_under_dagster_opens_no_socket(folder: Path, index: Path, tmp_path: Path) -> None:
    guard = Path(tests.network_guard.__file__)
    (tmp_path / "sitecustomize.py").write_text(guard.read_text(encoding="utf-8"), encoding="utf-8")
    log = tmp_path / "network.log"
    variables = {"PYTHONPATH": str(tmp_path), tests.network_guard.LOG_VARIABLE: str(log)}
    built = run_process("build", folder, "--index", index, "--model", "fake", **variables)
    assert built.returncode == 0, built.stderr
    asked = run_process("ask", "What is the fee?", "--index", index, "--model", "fake", **variables)
    assert asked.returncode == 0, asked.stderr
    assert not log.exists(), log.read_text(encoding="utf-8")


def test_network_guard_notices_a_connection(tmp_path: Path) -> None:
    guard = Path(tests.network_guard.__file__)
    (tmp_path / "sitecustomize.py").write_text(guard.read_text(encoding="utf-8"), encoding="utf-8")
    log = tmp_path / "network.log"
    script = "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 9), 1)\nexcept OSError:\n    pass\n"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), tests.network_guard.LOG_VARIABLE: str(log)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=60)
    assert "192.0.2.1" in log.read_text(encoding="utf-8")


def test_interrupted_build_says_that_nothing_is_lost(tmp_path: Path, index: Path) -> None:
    root = tmp_path / "many"
    root.mkdir()
    for number in range(400):
        text = f"# Document {number}\n\nThis is the text of document {number}, which is about nothing else.\n"
        (root / f"{number:04d}.md").write_text(text, encoding="utf-8")
    command = [*COMMAND, "build", str(root), "--index", str(index), "--model", "fake", "--no-dagster"]
    # A shell that runs the tests in the background has its children ignore interrupts; this one must not inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 120
    while not list(index.glob("default/documents/*/versions/v*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "kept" in err
