"""`build --plan` against the build that follows: the estimate must come true."""

from pathlib import Path
from typing import Any

import pytest

from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import guess_strength
from pageindex_local.settings import read_settings
from tests.cli.conftest import GUIDE, Runner
from tests.unit.parsing.pdfs import new_document, save, write

COUNTS = ("model_calls", "input_tokens", "output_tokens")


def _long_guide(edition: str) -> str:
    sections = [
        f"## Berth {number}\n\n" + f"Berth {number} takes ships of up to {number} metres, as the {edition} says. " * 8
        for number in range(1, 13)
    ]
    return GUIDE + "\n" + "\n\n".join(sections) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    root.mkdir()
    (root / "berths.md").write_text(_long_guide("first edition"), encoding="utf-8")
    (root / "guide.md").write_text(GUIDE, encoding="utf-8")
    pdf = new_document(3)
    for number, page in enumerate(pdf, 1):
        write(page, 72, 100, f"{number} Lock {number}", 16, "hebo")
        for line in range(8):
            write(page, 72, 130 + 14 * line, f"Gate {line} of lock {number} opens at the turn of tide {line * number}.")
    save(pdf, root, "locks.pdf")
    return root


def _compare(build: Runner) -> tuple[dict[str, Any], dict[str, Any]]:
    """Planned and real costs by document, then both over all documents within a fifth of each other."""
    plan = {entry["doc_id"]: entry["estimate"] for entry in build("--plan", "--json").json["documents"]}
    built = {document["doc_id"]: document for document in build("--json").json["documents"]}
    for key in COUNTS:
        planned = sum(estimate[key] for estimate in plan.values() if estimate is not None)
        real = sum(document[key] for document in built.values())
        assert abs(planned - real) <= 0.2 * real, key
    return plan, built


def test_plan_of_a_first_build_says_what_it_costs(build: Runner) -> None:
    plan, built = _compare(build)

    assert plan.keys() == built.keys() == {"berths.md", "guide.md", "locks.pdf"}
    assert built["berths.md"]["model_calls"] >= 12
    assert {name: estimate["nodes"] for name, estimate in plan.items()} == {
        name: document["nodes"] for name, document in built.items()
    }


def test_plan_of_an_edited_document_says_what_the_edit_costs(build: Runner, folder: Path) -> None:
    build()
    text = _long_guide("first edition").replace("Berth 7 takes", "Berth 7 never takes")
    (folder / "berths.md").write_text(text, encoding="utf-8")

    plan, built = _compare(build)

    assert [name for name, estimate in plan.items() if estimate is not None] == ["berths.md"]
    assert plan["berths.md"]["model_calls"] == built["berths.md"]["model_calls"] == 1
    assert plan["berths.md"]["nodes_reused"] == built["berths.md"]["nodes_reused"]


def test_plan_for_a_capable_model_counts_parents_too(build: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {entry["doc_id"]: entry["estimate"] for entry in build("--plan", "--json").json["documents"]}
    monkeypatch.setattr("pageindex_local.planning.guess_strength", lambda _: "capable")
    monkeypatch.setattr("pageindex_local.llm.lazy.open_model", lambda _: ExtractiveModel(strength="capable"))

    plan, _ = _compare(build)

    assert plan["guide.md"]["model_calls"] > small["guide.md"]["model_calls"]


def test_guess_strength_knows_small_files_and_servers(tmp_path: Path) -> None:
    def strength(name: str) -> str:
        return guess_strength(read_settings(overrides={"model": {"name": name}}).model)

    tiny, huge = tmp_path / "tiny.gguf", tmp_path / "huge.gguf"
    tiny.write_bytes(b"GGUF")
    with huge.open("wb") as stream:
        stream.truncate(4_000_000_000)  # sparse: takes no room
    assert strength("fake") == "small"
    assert strength(str(tiny)) == "small"
    assert strength(str(huge)) == "capable"
