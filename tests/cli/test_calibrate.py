"""`calibrate`, the strategy that questions then follow, and traces where they were asked for."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Runner

FEES = "How much is the fee for one night?"


@pytest.fixture
def built(build: Runner, index: Path) -> Path:
    build()
    return index


def strategy_of(trace: Path) -> dict[str, str]:
    steps = json.loads(trace.read_text(encoding="utf-8"))["steps"]
    return next(step for step in steps if step["name"] == "choose a strategy")


def test_calibrate_without_a_model_reports_how_sections_are_found(run: Runner, built: Path) -> None:
    report = run("calibrate", "--index", built, "--no-model", "--samples", "6", "--json").json
    assert report["asked"]["sentence"] == 6
    assert report["found_in_three"]["sentence"] >= 5 / 6
    assert report["model"] is None


def test_calibrate_with_a_model_is_followed_by_questions_with_it(run: Runner, built: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    asked = ("retrieve", FEES, "--index", built, "--model", "fake", "--trace", trace)
    run(*asked)
    assert "not measured" in strategy_of(trace)["why"]
    done = run("calibrate", "--index", built, "--model", "fake", "--samples", "5")
    assert done.code == 0
    assert "chosen:" in done.out
    run(*asked)
    assert "measured on release 000001" in strategy_of(trace)["why"]


def test_calibrate_takes_over_what_was_measured_before_a_bundle_was_carried(
    run: Runner, built: Path, tmp_path: Path
) -> None:
    file, bundle, other, trace = (tmp_path / name for name in ("m.json", "docs.bundle", "other", "trace.json"))
    run("calibrate", "--index", built, "--model", "fake", "--samples", "5", "--output", file)
    run("export", bundle, "--index", built)
    run("import", bundle, "--index", other)
    assert run("calibrate", "--index", other, "--take", file).code == 0
    run("retrieve", FEES, "--index", other, "--model", "fake", "--trace", trace)
    assert "measured on release" in strategy_of(trace)["why"]


def test_calibrate_refuses_what_was_measured_on_other_documents(
    run: Runner, built: Path, folder: Path, build: Runner, tmp_path: Path
) -> None:
    file = tmp_path / "m.json"
    run("calibrate", "--index", built, "--model", "fake", "--samples", "5", "--output", file)
    (folder / "guide.md").write_text("# Another\n\nQuite another text about the wind.\n", encoding="utf-8")
    build()
    done = run("calibrate", "--index", built, "--take", file)
    assert done.code == 7
    assert "other documents" in done.err


def test_retrieve_by_a_named_strategy_follows_it(run: Runner, built: Path, tmp_path: Path) -> None:
    for strategy in ("fulltext", "likelihood", "choice", "fused"):
        trace = tmp_path / f"{strategy}.json"
        done = run(
            "retrieve", FEES, "--index", built, "--model", "fake", "--strategy", strategy, "--trace", trace, "--json"
        )
        assert strategy_of(trace)["strategy"] == strategy
        assert done.json["pages"][0]["doc_id"] == "guide.md"


def test_retrieve_by_an_unknown_strategy_names_the_known_ones(run: Runner, built: Path) -> None:
    done = run("retrieve", FEES, "--index", built, "--strategy", "magic")
    assert done.code == 2
    assert "likelihood" in done.err


def test_retrieve_with_a_trace_on_the_terminal_draws_it(run: Runner, built: Path) -> None:
    done = run("retrieve", FEES, "--index", built, "--no-model", "--trace", "-")
    assert "search guide.md" in done.err
    assert "└─ stopped by" in done.err
    assert "search guide.md" not in done.out


def test_retrieve_with_a_trace_as_a_page_shows_the_question(run: Runner, built: Path, tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    run("retrieve", FEES, "--index", built, "--no-model", "--trace", page)
    text = page.read_text(encoding="utf-8")
    assert FEES in text
    assert 'class="rank"' in text


def test_calibrate_where_nothing_can_be_asked_stores_nothing(run: Runner, tmp_path: Path) -> None:
    document, index, file = tmp_path / "one.md", tmp_path / "index", tmp_path / "m.json"
    document.write_text("# Only\n\nToo short.\n", encoding="utf-8")
    run("build", document, "--index", index, "--no-dagster", "--model", "fake")
    done = run("calibrate", "--index", index, "--model", "fake", "--output", file)
    assert done.code == 0
    assert "nothing stored" in done.err
    assert not file.exists()
    assert not list(index.rglob("*.calibration.json"))
