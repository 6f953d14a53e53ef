"""Options that all commands share: whoever reads settings takes them from a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pageindex_local.cli import app
from tests.cli.conftest import GUIDE, Runner


def _commands(group: Any, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    commands = getattr(group, "commands", None)
    if commands is None:
        yield names, group
    for name, command in (commands or {}).items():
        yield from _commands(command, (*names, name))


COMMANDS = dict(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_takes_settings_from_a_file(names: tuple[str, ...], run: Runner) -> None:
    assert "--config" in {option for parameter in COMMANDS[names].params for option in parameter.opts}
    assert "--config" in run(*names, "--help").out


def test_gc_keeps_as_many_releases_as_the_settings_say(
    run: Runner, build: Runner, folder: Path, index: Path, tmp_path: Path
) -> None:
    for crowns in ("nine", "ten", "twelve"):
        (folder / "guide.md").write_text(GUIDE.replace("nine crowns", f"{crowns} crowns"), encoding="utf-8")
        build()
    config = tmp_path / "config.toml"
    config.write_text("[store]\nkeep_releases = 2\ngrace_s = 0\n", encoding="utf-8")
    assert run("gc", "--index", index).out == "nothing to remove\n"
    assert run("gc", "--index", index, "--config", config, "--json").json["releases"] == ["000001"]
    assert run("gc", "--index", index, "--config", config, "--keep", 1, "--json").json["releases"] == [
        "000001",
        "000002",
    ]


@pytest.mark.parametrize("command", [("verify",), ("status",), ("release", "list"), ("history", "guide.md")])
def test_unusable_settings_file_is_told_by_its_name(
    run: Runner, build: Runner, index: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    build()
    config = tmp_path / "config.toml"
    config.write_text("[store]\nkeep_releases = 0\n", encoding="utf-8")
    done = run(*command, "--index", index, "--config", config)
    assert done.code == 2
    assert "store.keep_releases" in done.err
    assert str(config) in done.err
