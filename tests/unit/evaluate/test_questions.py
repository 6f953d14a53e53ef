import json
from pathlib import Path

import pytest

from pageindex_local.errors import SettingsError
from pageindex_local.evaluate.questions import read_questions

GOOD = {"question_id": "q1", "question": "How high?", "doc_name": "a", "evidence_pages": [3], "justification": "more"}


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_read_questions_skips_blank_lines_and_ignores_other_keys(tmp_path: Path) -> None:
    (question,) = read_questions(write(tmp_path / "q.jsonl", "", GOOD, "  "))
    assert question.evidence_pages == (3,)
    assert question.answerable


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{not json", "line 2 is no JSON object"),
        ({"question_id": "q2", "question": "?"}, "neither evidence_pages nor answer"),
        ({**GOOD, "question_id": "q2", "evidence_pages": ["x"]}, "evidence_pages.0"),
        ({**GOOD, "question_id": "q2", "evidence_pages": [0]}, "count from 1"),
        ({"question_id": "q2", "question": "?", "evidence_pages": [1]}, "without doc_name"),
        ({**GOOD, "question_id": "q2", "question": ""}, "question"),
        ({**GOOD, "question_id": "q2", "question": "?!"}, "no words"),
        ('{"question_id": ' + "1" * 5_000 + "}", "line 2 is no JSON object"),
        ("[" * 100_000, "line 2 is no JSON object"),
        (GOOD, "line 2 repeats the id q1"),
    ],
)
def test_read_questions_with_a_bad_line_names_it(tmp_path: Path, line: object, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        read_questions(write(tmp_path / "q.jsonl", GOOD, line))
    assert "line 2" in str(caught.value)


def test_read_questions_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no question"):
        read_questions(write(tmp_path / "q.jsonl", ""))


def test_read_questions_takes_what_cannot_be_answered(tmp_path: Path) -> None:
    line = {"question_id": "q1", "question": "Who?", "answerable": False}
    assert not read_questions(write(tmp_path / "q.jsonl", line))[0].answerable
