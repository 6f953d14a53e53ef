"""An index carried to a machine without parser, pipelines, engine and network: everything that asks and reads works."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import GUIDE, Run, Runner
from tests.network_guard import LOG_VARIABLE

ROOT = Path(__file__).resolve().parents[2]
FEES = "How much is the fee for one night?"
MISSING = ("pymupdf", "fitz", "dagster", "llama_cpp")
# What such a machine lacks cannot be imported; whatever asks for the network is refused and noted.
BARE = f"""\
import sys
for name in {MISSING!r}:
    sys.modules[name] = None
import tests.network_guard
from pageindex_local.cli import main
main()
"""


def _isolation() -> list[str]:
    """A command prefix that takes the network away, where this system allows it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return []
    prefix = [unshare, "--net", "--map-root-user"]
    works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if works else []


@pytest.fixture(scope="module")
def isolation() -> list[str]:
    return _isolation()


@pytest.fixture
def carried(run: Runner, build: Runner, folder: Path, index: Path, tmp_path: Path) -> list[Path]:
    """The bundles of two releases, oldest first, written where everything is installed."""
    bundles = [tmp_path / "first.bundle", tmp_path / "second.bundle"]
    for bundle, fee in zip(bundles, ("nine crowns", "ten crowns"), strict=True):
        (folder / "guide.md").write_text(GUIDE.replace("nine crowns", fee), encoding="utf-8")
        build()
        assert run("export", bundle, "--index", index).code == 0
    return bundles


@pytest.fixture
def bare(isolation: list[str], tmp_path: Path) -> Runner:
    log = tmp_path / "network.log"

    def invoke(*arguments: object) -> Run:
        command = [*isolation, sys.executable, "-c", BARE, *map(str, arguments)]
        environment = {**os.environ, LOG_VARIABLE: str(log), "COLUMNS": "80", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert not log.exists(), log.read_text(encoding="utf-8")
        return Run(done.returncode, done.stdout, done.stderr)

    return invoke


def test_bundle_answers_without_parser_pipelines_engine_and_network(
    bare: Runner, carried: list[Path], tmp_path: Path
) -> None:
    place = ("--index", tmp_path / "there")
    for bundle in carried:
        assert bare("import", bundle, *place).code == 0

    found = bare("retrieve", FEES, *place, "--json")
    assert found.code == 0, found.err
    assert found.json["pages"][0]["doc_id"] == "guide.md"
    assert "llama-cpp-python" in found.json["notices"][0]

    answered = bare("ask", FEES, *place)
    assert answered.code == 0, answered.err
    assert answered.out.startswith("In the documents' own words:")
    assert "ten crowns" in answered.out
    assert "llama-cpp-python" in answered.err

    questions = tmp_path / "questions.jsonl"
    line = {"question_id": "fee", "question": FEES, "doc_name": "guide", "evidence_pages": [3], "answer": "ten crowns"}
    questions.write_text(json.dumps(line), encoding="utf-8")
    measured = bare("evaluate", questions, *place, "--answers", "--min", "recall@1=1", "--min", "citations=1", "--json")
    assert measured.code == 0, measured.err
    assert measured.json["runs"][0]["figures"]["values"]["answers"] == 1.0

    assert "Reductions" in bare("tree", "guide.md", *place).out
    assert bare("verify", *place).code == 0
    assert bare("status", *place).code == 0
    difference = bare("diff", "guide.md", "v000001", "v000002", *place)
    assert difference.code == 0, difference.err
    assert "Fees" in difference.out


def test_a_model_that_was_named_is_an_error_without_its_engine(
    bare: Runner, carried: list[Path], tmp_path: Path
) -> None:
    place = ("--index", tmp_path / "there")
    bare("import", carried[0], *place)
    done = bare("ask", FEES, *place, "--model", "smollm2-135m-instruct")
    assert done.code == 4
    assert "llama-cpp-python" in done.err
