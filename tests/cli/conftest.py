"""What the command-line tests share: a folder of small documents, and a way to run a command."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pageindex_local.cli import app
from tests.cli.repository import Repository, rules
from tests.network_guard import GUARD

GUIDE = """\
# Harbour guide

This guide is for ships that call at the harbour. It was agreed by the council of the port in the spring of 1987.

## Pilots

Every ship longer than forty metres takes a pilot on board at the outer buoy. The pilot boat answers on channel twelve.

## Fees

The fee for one night is nine crowns for each metre of length. Fees are paid at the office of the harbour master.

### Reductions

Fishing boats of the town pay half of the fee from October to March, provided that they land their catch here.

## Waste

Oil and bilge water are handed over at the green barrel behind the crane. Nothing is poured into the basin at any time.
"""
NOTES = """\
# Crane notes

The crane lifts four tonnes at a reach of nine metres. Its cable is looked at every Monday by two people of the yard.

## Grease

Grease the upper wheel with lithium soap after forty hours of work, and wipe the old grease off before that.
"""


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Runner = Callable[..., Run]


@pytest.fixture(autouse=True)
def offline() -> Iterator[None]:
    GUARD.attempts.clear()
    GUARD.is_on = True
    yield
    GUARD.is_on = False
    assert not GUARD.attempts, f"the network was asked for: {GUARD.attempts}"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")

    def invoke(*arguments: object, stdin: bytes = b"") -> Run:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Run(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection of two documents, one in a subfolder."""
    root = tmp_path / "documents"
    (root / "yard").mkdir(parents=True)
    (root / "guide.md").write_text(GUIDE, encoding="utf-8")
    (root / "yard" / "crane.md").write_text(NOTES, encoding="utf-8")
    return root


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def build(run: Runner, folder: Path, index: Path) -> Runner:
    """Builds the folder with the stand-in model, by the library alone; more options may follow."""

    def invoke(*options: object, source: Path | None = None) -> Run:
        return run("build", source or folder, "--index", index, "--model", "fake", "--no-dagster", *options)

    return invoke


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repository")
    for subject in ("tides", "winds", "ropes"):
        repository.write(f"{subject}.md", rules(subject))
    repository.commit("Write rules")
    return repository


@pytest.fixture
def changed(repository: Repository) -> Repository:
    """A branch: one section of tides edited, winds renamed, ropes removed."""
    repository.git("switch", "--quiet", "--create", "branch")
    repository.write("tides.md", rules("tides").replace("under rule 3 pays 6 crowns", "under rule 3 pays 66 crowns"))
    repository.git("mv", "docs/winds.md", "docs/gales.md")
    repository.git("rm", "--quiet", "docs/ropes.md")
    repository.commit("Change rules")
    return repository
