"""`calibrate`, the strategy that questions then follow, and traces where they were asked for."""

import json
from pathlib import Path

import pytest

from pageindex_local.settings import configs_folder
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


def test_calibrate_without_a_model_refuses_a_file_to_write(run: Runner, built: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    for options in (("--no-model",), ("--vectors",), ("--take", file)):
        done = run("calibrate", "--index", built, *options, "--output", file)
        assert done.code == 2
        assert "nothing to write" in done.err
        assert not file.exists()


def test_calibrate_takes_no_file_that_is_not_there(run: Runner, built: Path, tmp_path: Path) -> None:
    done = run("calibrate", "--index", built, "--take", tmp_path / "none.json")
    assert done.code == 2
    assert "none.json" in done.err


@pytest.fixture
def six(run: Runner, tmp_path: Path) -> tuple[Path, Path]:
    """A folder of six documents and the index built of it, calibrated."""
    folder, index = tmp_path / "six", tmp_path / "six-index"
    folder.mkdir()
    for number, topic in enumerate(("anchor", "barrel", "candle", "dory", "engine", "ferry")):
        text = f"# The {topic}\n\nThe {topic} is looked at by its keeper on every {number + 1}th day of the month.\n"
        (folder / f"{topic}.md").write_text(text, encoding="utf-8")
    run("build", folder, "--index", index, "--no-dagster", "--model", "fake")
    assert run("calibrate", "--index", index, "--model", "fake", "--samples", "6").code == 0
    return folder, index


def change(run: Runner, folder: Path, index: Path, *topics: str) -> None:
    for topic in topics:
        (folder / f"{topic}.md").write_text(f"# The {topic}\n\nThe {topic} was sold to a museum.\n", encoding="utf-8")
    run("build", folder, "--index", index, "--no-dagster", "--model", "fake")


def why(run: Runner, index: Path, trace: Path) -> str:
    done = run("retrieve", "Who looks at the barrel?", "--index", index, "--model", "fake", "--trace", trace)
    assert done.code == 0
    return strategy_of(trace)["why"]


def test_calibration_survives_one_changed_document_and_gc_of_its_release(
    run: Runner, six: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, index = six
    change(run, folder, index, "anchor")
    assert "measured on release 000001" in why(run, index, tmp_path / "before.json")
    config = tmp_path / "gc.toml"
    config.write_text("[store]\ngrace_s = 0\n", encoding="utf-8")
    assert run("gc", "--index", index, "--keep", "1", "--apply", "--config", config).code == 0
    assert not list(index.rglob("releases/000001.json"))
    assert "measured on release 000001" in why(run, index, tmp_path / "after.json")
    assert run("verify", "--index", index).code == 0


def test_calibration_of_documents_that_changed_is_said_not_to_count(
    run: Runner, six: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, index = six
    assert "calibrated with fake" in run("status", "--index", index).out.replace("\n", " ")
    change(run, folder, index, "anchor", "barrel", "candle")
    reason = why(run, index, tmp_path / "trace.json")
    assert "not measured" in reason
    assert "too many documents have changed since release 000001" in reason
    (calibrated,) = run("status", "--index", index, "--json").json["collections"][0]["calibrated"]
    assert (calibrated["model"], calibrated["release"], calibrated["counts"]) == ("fake", "000001", False)
    assert "no longer counts" in run("status", "--index", index).out.replace("\n", " ")


def test_import_of_a_later_release_keeps_the_calibration_made_before(
    run: Runner, six: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, index = six
    first, second, other, file = (tmp_path / name for name in ("1.bundle", "2.bundle", "other", "m.json"))
    run("export", first, "--index", index)
    run("import", first, "--index", other)
    assert "not measured" in why(run, other, tmp_path / "bare.json")  # a bundle is the release and nothing else
    run("calibrate", "--index", index, "--model", "fake", "--samples", "6", "--output", file)
    run("calibrate", "--index", other, "--take", file)
    change(run, folder, index, "anchor")
    run("export", second, "--index", index)
    assert run("import", second, "--index", other).code == 0
    assert "measured on release 000001" in why(run, other, tmp_path / "taken.json")


def test_calibrate_vectors_without_an_embedder_says_where_to_name_one(run: Runner, built: Path) -> None:
    done = run("calibrate", "--index", built, "--vectors")
    assert done.code == 2
    assert "query.vectors" in done.err


@pytest.mark.model
def test_calibrate_vectors_makes_those_of_the_embedder_and_replaces_anothers(
    run: Runner, six: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, index = six
    config, narrow = tmp_path / "vectors.toml", tmp_path / "narrow.toml"
    entry = (configs_folder() / "models" / "smollm2-135m-instruct.toml").read_text(encoding="utf-8")
    narrow.write_text(f'{entry}\nquestion_prefix = "query: "\n', encoding="utf-8")
    vectors = ("calibrate", "--index", index, "--config", config, "--vectors")
    config.write_text('[query]\nvectors = "smollm2-135m-instruct"\n', encoding="utf-8")
    assert run(*vectors, "--json").json["made"] == 6
    assert run(*vectors, "--json").json["there"] == 6
    change(run, folder, index, "anchor")
    again = run(*vectors, "--json").json
    assert (again["made"], again["taken_over"]) == (1, 5)
    config.write_text(f'[query]\nvectors = "{narrow}"\n', encoding="utf-8")
    asked = ("retrieve", "Who looks at the barrel?", "--index", index, "--config", config, "--no-model")
    refused = run(*asked)
    assert refused.code == 7
    assert "calibrate --vectors" in refused.err.replace("\n", " ")
    assert run(*vectors, "--json").json["made"] == 6
    assert run(*asked, "--json").json["pages"][0]["doc_id"] == "barrel.md"
