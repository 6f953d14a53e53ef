"""The recipes of docs/ci.md: their commands, as written there, on a real git repository."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.cli.repository import Repository

RECIPES = Path(__file__).parents[2] / "docs" / "ci.md"
NO_COMMIT = "0" * 40  # what both services give as the commit before the first one of a branch


def read_recipe(heading: str) -> Any:
    """The indented block below a heading, as YAML."""
    section = RECIPES.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if not line or line.startswith("    ")]
    return yaml.safe_load(textwrap.dedent("\n".join(lines)))


def github_script(base: str) -> str:
    steps = read_recipe("GitHub Actions")["jobs"]["reindex"]["steps"]
    (script,) = [step["run"] for step in steps if "pageindex-local reindex" in step.get("run", "")]
    return re.sub(r"\$\{\{ [^}]*github\.event\.before \}\}", base, script)


def gitlab_script(_: str) -> str:
    (script,) = [line for line in read_recipe("GitLab CI")["reindex"]["script"] if "pageindex-local reindex" in line]
    return str(script)


def run_there(script: str, repository: Repository, tools: Path, variables: Mapping[str, str]) -> None:
    """Run a recipe's command as a runner would. The model is left out: it is not what the recipe says."""
    tools.mkdir(exist_ok=True)
    program = tools / "pageindex-local"
    command = "from pageindex_local.cli import main; main()"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{command}" "$@" --summaries extractive\n')
    program.chmod(0o755)
    environment = os.environ | variables | {"PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=repository.root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("make_script", "variable"),
    [(github_script, ""), (gitlab_script, "CI_MERGE_REQUEST_DIFF_BASE_SHA"), (gitlab_script, "CI_COMMIT_BEFORE_SHA")],
)
def test_recipe_on_a_branch_tells_what_it_changes(
    changed: Repository, tmp_path: Path, make_script: Any, variable: str
) -> None:
    base = changed.git("rev-parse", "main")

    run_there(make_script(base), changed, tmp_path / "tools", {variable: base} if variable else {})

    report = (changed.root / "diff.md").read_text(encoding="utf-8")
    assert "Tides rule 3" in report
    assert "ropes.md" in report
    assert "Tides rule 4" not in report


@pytest.mark.parametrize("make_script", [github_script, gitlab_script])
def test_recipe_on_the_first_commit_builds_all(repository: Repository, tmp_path: Path, make_script: Any) -> None:
    run_there(make_script(NO_COMMIT), repository, tmp_path / "tools", {"CI_COMMIT_BEFORE_SHA": NO_COMMIT})

    report = (repository.root / "diff.md").read_text(encoding="utf-8")
    assert all(name in report for name in ("tides.md", "winds.md", "ropes.md"))
    assert (repository.root / ".pageindex").is_dir()
