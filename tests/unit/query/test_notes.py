from pathlib import Path

import pytest

from pageindex_local.errors import SettingsError
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query import Note, Trace, answer, retrieve
from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.notes import apply_notes, read_notes
from pageindex_local.settings import read_settings
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, filler, publish

SETTINGS = read_settings().query
TOML = """\
[[note]]
name = "berth"
when = ["berth", "/over(night|winter)/"]
look_at = ["Mooring", "4.2"]
add = ["mooring fee"]
text = "A berth is called a mooring here."
"""
MARKDOWN = """\
# What we know

Kept by the harbour office.

## berth
- **when**: berth, /over(night|winter)/
- look at: Mooring, 4.2
- add: mooring fee

A berth is called
a mooring here.
"""
BERTH = Note(
    name="berth", when=("berth", "/over(night|winter)/"), look_at=("Mooring", "4.2"), add=("mooring fee",),
    text="A berth is called a mooring here.",
)  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [("notes.toml", TOML), ("notes.md", MARKDOWN)])
def test_read_notes_of_either_form_gives_the_same_rules(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_notes(tmp_path / name) == (BERTH,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[note]]\nname = 'a'\n", "when"),
        ("[[note]]\nwhen = ['/(/']\n", "notes.toml: line 2, note 1 .*no regular expression"),
        ("[[note]]\nwhen = ['?']\n", "line 2.*no words"),
        ("[[note]]\nwhen = ['x']\n\n[[note]]\nwhen = ['y',\n'/(?=z)/']\n", "line 6, note 2 .*do not know.*[(][?]=z"),
        ("[[note]]\nwhen = ['x']\nlookat = ['y']\n", "line 3, note 1.*lookat"),
        ("note = [{when = ['x']}, {add = ['y']}]\n", "line 1, note 2.*when"),
        ("[other]\n", "note"),
        ("[[note]\n", "cannot be read as TOML"),
    ],
)
def test_read_notes_of_another_form_says_where(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "notes.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=words):
        read_notes(tmp_path / "notes.toml")


def test_read_notes_in_markdown_names_the_line_of_a_bad_rule(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(MARKDOWN + "\n## lease\nadd: rent\nwhen: lease, /(/\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"notes.md: line 15, note 2 \(lease\): when: /\(/ is no regular"):
        read_notes(tmp_path / "notes.md")


@pytest.mark.parametrize(
    ("question", "matches"),
    [
        ("What does a BERTH cost?", True),
        ("May one stay overnight?", True),
        ("Who is Bertha?", False),
        ("What does fuel cost?", False),
    ],
)
def test_note_matches_whole_words_and_patterns(question: str, matches: bool) -> None:
    assert BERTH.matches(question) is matches


def test_apply_notes_adds_words_beside_what_was_asked() -> None:
    question = analyse_question("What does a berth fee cost?")
    matched = apply_notes(question, [BERTH])
    assert [word.word for word in matched.question.added] == ["mooring"]
    assert matched.question.words == question.words
    assert matched.question.titles == ("Mooring", "4.2")
    assert matched.texts == ("A berth is called a mooring here.",)


def test_notes_steer_the_search_and_are_named(tmp_path: Path) -> None:
    # The word asked for stands on another page; only whoever knows the documents knows that "mooring" is meant.
    other = [Section("berth", "Building", ["The berth was built in 1901.", *filler("building")])]
    store, _ = publish(tmp_path, {"harbour.pdf": [*other, *HARBOUR]})
    question = "What does a berth cost?"
    wanted = retrieve("mooring fee of 45 crowns", store, settings=SETTINGS).pages[0].page_number
    plain = retrieve(question, store, settings=SETTINGS)
    trace = Trace()
    noted = retrieve(question, store, settings=SETTINGS, notes=[BERTH], trace=trace)
    assert plain.pages[0].page_number != wanted
    assert noted.pages[0].page_number == wanted
    assert noted.notes == ("berth",)
    assert next(step for step in trace.steps if step.name == "notes").details["matched"] == ["berth"]


def test_notes_do_not_lift_the_evidence_for_what_is_not_there(tmp_path: Path) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": HARBOUR})
    note = Note(name="n", when=("gringotts",), add=("mooring", "fee", "night", "vessel"), look_at=("Mooring",))
    result = answer("What does Gringotts lend to goblins?", store, settings=SETTINGS, notes=[note])
    assert result.abstained


def test_note_text_reaches_a_capable_model_as_a_note(tmp_path: Path) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = FunctionModel(lambda _: "Every vessel pays 45 crowns [1].", strength="capable", context_tokens=4_096)
    answer("What mooring fee does a vessel at a berth pay?", store, model=model, settings=SETTINGS, notes=[BERTH])
    assert "Note of the asker: A berth is called a mooring here." in model.history[-1].user


def test_read_notes_of_missing_file_names_it_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_notes(tmp_path / "notes.md")
    assert str(caught.value).count("notes.md") == 1
    assert "Errno" not in str(caught.value)
