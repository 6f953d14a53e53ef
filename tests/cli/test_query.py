import contextlib
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pageindex_local.cli import app
from pageindex_local.cli.asking import cache_file
from tests.cli.conftest import GUIDE, Runner

FEES = "How much is the fee for one night?"
PAGE_KEYS = {"doc_id", "page_number", "node_id", "score"}
CITATION_KEYS = {"doc_id", "version", "node_id", "title", "first_page", "last_page", "quote", "columns"}


@pytest.fixture
def question(run: Runner, build: Runner, index: Path) -> Runner:
    build()
    return lambda verb, *options: run(verb, *options, "--index", index, "--model", "fake")


def test_ask_cites_text_that_stands_in_the_document(question: Runner) -> None:
    result = question("ask", FEES, "--json").json
    assert result["abstained"] is False
    assert result["citations"]
    folded = " ".join(GUIDE.split())
    for citation in result["citations"]:
        assert set(citation) == CITATION_KEYS
        assert citation["doc_id"] == "guide.md"
        assert " ".join(citation["quote"].split()) in folded
    assert any("nine crowns" in citation["quote"] for citation in result["citations"])


def test_ask_in_text_form_names_document_section_and_page(question: Runner) -> None:
    done = question("ask", FEES)
    assert done.code == 0
    # The section starts at its heading, line 9, and ends before the next heading, line 13.
    assert re.search(r"\[1\] guide\.md, lines 9\u201312: Fees", done.out)
    assert all(len(line) <= 100 for line in done.out.splitlines())


def test_ask_what_is_not_there_says_so_and_exits_0(question: Runner) -> None:
    done = question("ask", "Which Prussian king abolished torture?")
    assert done.code == 0
    assert done.out.startswith("Not in these documents")


def test_retrieve_json_lists_pages_best_first(question: Runner) -> None:
    result = question("retrieve", "lithium soap for the upper wheel", "--json").json
    assert result["release"] == "000001"
    assert {key for page in result["pages"] for key in page} == PAGE_KEYS
    assert result["pages"][0]["doc_id"] == "yard/crane.md"
    scores = [page["score"] for page in result["pages"]]
    assert scores == sorted(scores, reverse=True)


def test_retrieve_with_doc_searches_only_there(question: Runner) -> None:
    result = question("retrieve", "lithium soap for the upper wheel", "--json", "--doc", "guide.md").json
    assert {page["doc_id"] for page in result["pages"]} <= {"guide.md"}


def test_retrieve_without_model_opens_none(question: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pageindex_local.llm.lazy.open_model", None)
    assert question("retrieve", FEES, "--no-model", "--json").json["cost"]["model_calls"] == 0


def test_retrieve_with_trace_writes_json_steps(question: Runner, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    question("retrieve", FEES, "--trace", trace)
    assert json.loads(trace.read_text(encoding="utf-8"))["steps"]


def test_ask_in_unknown_document_exits_6_with_near_match(question: Runner) -> None:
    done = question("ask", FEES, "--doc", "giude.md")
    assert done.code == 6
    assert "Did you mean guide.md" in done.err


def test_ask_without_index_exits_6_and_says_how_to_build(run: Runner, tmp_path: Path) -> None:
    done = run("ask", FEES, "--index", tmp_path / "nowhere")
    assert done.code == 6
    assert "build" in done.err


def test_ask_empty_question_exits_7(question: Runner) -> None:
    assert question("ask", "  ").code == 7


def test_ask_reads_the_named_release(question: Runner, build: Runner, folder: Path) -> None:
    (folder / "guide.md").write_text(GUIDE.replace("nine crowns", "ten crowns"), encoding="utf-8")
    build()
    old = question("ask", FEES, "--json", "--release", "1").json
    new = question("ask", FEES, "--json").json
    assert any("nine crowns" in citation["quote"] for citation in old["citations"])
    assert any("ten crowns" in citation["quote"] for citation in new["citations"])


def test_ask_in_a_conversation_completes_the_question_and_keeps_the_turn(question: Runner, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    question("ask", FEES, "--conversation", talk)
    done = question("ask", "And for fishing boats?", "--conversation", talk, "--json").json
    assert done["asked_as"] == f"And for fishing boats? {FEES}"
    assert any("Fishing boats" in citation["quote"] for citation in done["citations"])
    turns = [json.loads(line) for line in talk.read_text(encoding="utf-8").splitlines()]
    assert [turn["question"] for turn in turns] == [FEES, "And for fishing boats?"]
    assert "nine crowns" in turns[0]["answer"]


def test_ask_with_a_broken_conversation_exits_2_and_leaves_it_alone(question: Runner, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    talk.write_text("not a turn\n", encoding="utf-8")
    done = question("ask", FEES, "--conversation", talk)
    assert done.code == 2
    assert "line 1" in done.err
    assert talk.read_text(encoding="utf-8") == "not a turn\n"


def test_retrieve_with_notes_names_those_used(question: Runner, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("## toll\nwhen: toll\nlook at: Fees\nadd: fee, metre\n", encoding="utf-8")
    result = question("retrieve", "How large is the toll of the port?", "--notes", notes, "--json").json
    assert result["notes"] == ["toll"]
    node = next(node for node in result["nodes"] if node["node_id"] == result["pages"][0]["node_id"])
    assert node["title"] == "Fees"
    assert "notes used: toll" in question("retrieve", "How large is the toll?", "--notes", notes).err


def test_retrieve_reads_the_notes_that_the_settings_name(question: Runner, tmp_path: Path) -> None:
    notes, config = tmp_path / "notes.toml", tmp_path / "config.toml"
    notes.write_text("[[note]]\nname = 'n'\nwhen = ['toll']\nadd = ['fee']\n", encoding="utf-8")
    config.write_text(f"[query]\nnotes = '{notes}'\n", encoding="utf-8")
    assert question("retrieve", "How large is the toll?", "--config", config, "--json").json["notes"] == ["n"]


def test_ask_of_quotes_says_so_and_prints_each_once(question: Runner) -> None:
    done = question("ask", FEES)
    assert done.out.startswith("In the documents' own words:")
    assert done.out.count("nine crowns") == 1


def test_chat_answers_line_after_line_until_an_empty_one(build: Runner, index: Path, tmp_path: Path) -> None:
    build()
    talk = tmp_path / "talk.jsonl"
    options = ["chat", "--index", str(index), "--model", "fake", "--conversation", str(talk)]
    done = CliRunner().invoke(app, options, input=f"{FEES}\n?!\nAnd for fishing boats?\n\nnever read\n")
    assert done.exit_code == 0
    assert "nine crowns" in done.stdout
    assert "Fishing boats" in done.stdout
    assert "no words" in done.stderr
    assert len(talk.read_text(encoding="utf-8").splitlines()) == 2


def test_ask_in_another_encoding_is_answered_and_kept(question: Runner, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    # What Python makes of an argument with the byte FF, which is not UTF-8.
    done = question("ask", f"{FEES} \udcff", "--conversation", talk, "--json")
    assert done.code == 0
    assert json.loads(talk.read_text(encoding="utf-8"))["question"] == f"{FEES} \ufffd"


@pytest.mark.parametrize("option", ["--trace", "--conversation"])
def test_ask_with_a_file_in_a_missing_folder_exits_2_before_answering(
    question: Runner, tmp_path: Path, option: str
) -> None:
    done = question("ask", FEES, option, tmp_path / "nowhere" / "file.json")
    assert done.code == 2
    assert done.out == ""
    assert "its folder does not exist" in done.err
    assert option in done.err


def test_ask_that_cannot_write_the_trace_still_gives_one_json_object(question: Runner) -> None:
    done = question("ask", FEES, "--json", "--trace", "/dev/full")  # every write to it fails for want of space
    assert done.code == 1
    assert done.json["error"]["exit_code"] == 1


def test_cache_file_where_nothing_can_be_written_is_one_for_this_process() -> None:
    with contextlib.ExitStack() as stack:
        file = cache_file(stack, Path("/proc/nowhere/default/work"))
        assert file.parent.is_dir()
        file.write_bytes(b"")
    assert not file.parent.exists()


def test_cache_file_where_the_index_can_be_written_lies_in_its_work_folder(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        assert cache_file(stack, tmp_path / "work") == tmp_path / "work" / "completions.sqlite"
    assert list(tmp_path.iterdir()) == []
