"""The draft of a capable model on a terminal: shown while it grows, gone afterwards, never on standard output."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Runner

ROOT = Path(__file__).resolve().parents[2]
WITH_WRITER = """\
import sys
from pageindex_local.llm import models
from pageindex_local.llm.fakes import FunctionModel
reply = "The fee for one night is nine crowns for each metre of length \\x1b]0;owned\\x07[1]. Napoleon pays 99 florins."
models.open_model = lambda settings: FunctionModel(lambda _: reply, strength="capable", context_tokens=4096)
import pageindex_local.llm.lazy as lazy
lazy.open_model = models.open_model
from pageindex_local.cli import main
main()
"""


def ask_on_terminal(index: Path, *options: str) -> tuple[str, str]:
    """What reaches a terminal on standard error, and standard output."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-c", WITH_WRITER, "ask", "How much is the fee for one night?", "--index", str(index)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=follower, env=environment, text=True
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            data = os.read(leader, 65_536)
        except OSError:  # the other end was closed
            break
        if not data:
            break
        seen += data
    out, _ = process.communicate(timeout=60)
    os.close(leader)
    assert process.returncode == 0, seen.decode()
    return seen.decode(), out


def test_ask_on_a_terminal_shows_the_draft_and_then_the_checked_answer(build: Runner, index: Path) -> None:
    build()
    seen, out = ask_on_terminal(index)
    assert "The fee for one night" in seen
    assert "\x1b]0;owned" not in seen
    assert "\x1b[2K" in seen  # the draft's lines are erased
    assert out.startswith("The fee for one night is nine crowns")
    assert "No passage supports: Napoleon pays 99 florins." in out
    assert "\x1b" not in out


def test_ask_with_json_shows_no_draft(build: Runner, index: Path) -> None:
    build()
    seen, out = ask_on_terminal(index, "--json")
    assert "The fee for one night" not in seen
    assert '"answered_by": "model"' in out
