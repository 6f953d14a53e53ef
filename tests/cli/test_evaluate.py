import json
from pathlib import Path

import pytest

from tests.cli.conftest import GUIDE, Runner

# A Markdown document has one block a heading: "Fees" is the third of the guide, "Grease" the second of the notes.
QUESTIONS: list[dict[str, object]] = [
    {
        "question_id": "fee", "question": "How much is the fee for one night?", "doc_name": "guide",
        "evidence_pages": [3], "answer": "nine crowns",
    },
    {
        "question_id": "soap", "question": "Which soap is the upper wheel lavishly greased with?", "doc_name": "crane",
        "evidence_pages": [2], "answer": "lithium soap",
    },
    {"question_id": "king", "question": "Which Prussian king abolished torture?", "answerable": False},
]  # fmt: skip


@pytest.fixture
def evaluate(run: Runner, build: Runner, index: Path, tmp_path: Path) -> Runner:
    build()
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return lambda *options: run("evaluate", file, "--index", index, "--model", "fake", *options)


def test_evaluate_json_has_figures_and_every_question(evaluate: Runner) -> None:
    result = evaluate("--answers", "--json").json
    (only,) = result["runs"]
    values = only["figures"]["values"]
    assert values["recall@1"] == values["citations"] == values["answers"] == values["caught"] == 1.0
    assert values["refused"] == 0.0
    assert [outcome["question_id"] for outcome in only["outcomes"]] == ["fee", "soap", "king"]
    assert result["comparison"] is None


def test_evaluate_table_fits_80_columns(evaluate: Runner) -> None:
    done = evaluate("--answers")
    assert done.code == 0
    assert "recall@5" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_evaluate_below_a_threshold_exits_11_and_says_which(evaluate: Runner) -> None:
    done = evaluate("--min", "recall@1=1", "--max", "calls=-1")
    assert done.code == 11
    assert "calls is" in done.err
    assert "recall@1" not in done.err
    assert evaluate("--min", "recall@1=1").code == 0


def test_evaluate_with_evidence_beyond_the_end_warns(run: Runner, build: Runner, index: Path, tmp_path: Path) -> None:
    build()
    file = tmp_path / "late.jsonl"
    late = [{**QUESTIONS[0], "evidence_pages": [3, 40, 41]}, QUESTIONS[1]]
    file.write_text("\n".join(map(json.dumps, late)), encoding="utf-8")
    done = run("evaluate", file, "--index", index, "--model", "fake", "--settings-b", "configs/default.toml")
    (document,) = [
        entry
        for entry in run("status", "--index", index, "--json").json["collections"][0]["documents"]
        if entry["doc_id"] == "guide.md"
    ]
    sentence = f"question fee: 2 evidence blocks beyond the end (40, 41); guide.md has {document['pages']} blocks"
    assert done.code == 0
    assert done.err.count(sentence) == 1
    (only,) = run("evaluate", file, "--index", index, "--model", "fake", "--json").json["runs"]
    assert [warning.startswith(sentence) for warning in only["warnings"]] == [True]


def test_evaluate_against_a_worse_release_lists_what_was_lost(evaluate: Runner, build: Runner, folder: Path) -> None:
    (folder / "guide.md").write_text(GUIDE.replace("fee", "toll").replace("Fee", "Toll") + "\n", encoding="utf-8")
    (folder / "yard" / "crane.md").write_text("# Other\n\nNothing of the kind is said here any more.\n", "utf-8")
    build()
    done = evaluate("--release", "1", "--against", "2", "--json").json
    assert [run["release"] for run in done["runs"]] == ["000001", "000002"]
    assert "soap" in [pair["question_id"] for pair in done["comparison"]["lost_by_b"]]
    assert "B behind: soap" in evaluate("--release", "1", "--against", "2").out


def test_evaluate_with_other_settings_uses_them(evaluate: Runner, tmp_path: Path) -> None:
    strict = tmp_path / "strict.toml"
    # "How much is the fee for one night?" stands there word for word, "lavishly" is nowhere.
    strict.write_text("[query]\nabstain_below = 0.8\n", encoding="utf-8")
    runs = evaluate("--settings-b", strict, "--json").json["runs"]
    assert [run["figures"]["values"]["refused"] for run in runs] == [0.0, 0.5]


@pytest.mark.parametrize("options", [("--min", "recall@7=1"), ("--settings-b", "nowhere.toml")])
def test_evaluate_with_an_unusable_option_exits_2(evaluate: Runner, options: tuple[str, ...]) -> None:
    assert evaluate(*options).code == 2


@pytest.mark.parametrize("text", ['model = "x"', 'config = "x"', "[config]\nname = 1"])
def test_evaluate_with_odd_settings_exits_2(evaluate: Runner, tmp_path: Path, text: str) -> None:
    changes = tmp_path / "odd.toml"
    changes.write_text(text + "\n", encoding="utf-8")
    assert evaluate("--settings-b", changes).code == 2


def test_evaluate_a_bad_line_exits_2_and_names_it(evaluate: Runner, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text(json.dumps(QUESTIONS[0]) + "\n{}\n", encoding="utf-8")
    done = evaluate()
    assert done.code == 2
    assert "line 2" in done.err
