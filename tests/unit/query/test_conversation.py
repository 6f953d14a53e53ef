import json
from pathlib import Path

import pytest

from pageindex_local.errors import ModelError, SettingsError
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query import Trace, Turn, answer, retrieve
from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.conversation import (
    append_turn,
    carry_on,
    is_follow_up,
    read_conversation,
    resolve_question,
    weigh_carried,
)
from pageindex_local.settings import read_settings
from tests.unit.query.indexes import HARBOUR, publish

SETTINGS = read_settings().query
FEE = "How high is the mooring fee for a night?"
TURNS = [Turn(question=FEE, answer="Every vessel pays 45 crowns.")]


@pytest.mark.parametrize(
    ("question", "leans"),
    [
        ("and in 2021?", True),
        ("What about fishing boats?", True),
        ("Who pays it?", True),
        ("northern quay?", True),
        ("Why?", True),  # nothing to search for
        ("How much in 2021?", True),
        ("What is /dev?", False),
        ("Which files are stored under /etc/opt?", False),
        ("Which sections of the harbour rules say how the crews of pilot boats renew their licences?", False),
    ],
)
def test_is_follow_up_by_opening_pronoun_or_fragment(question: str, leans: bool) -> None:
    assert is_follow_up(question) is leans


@pytest.mark.parametrize(
    ("earlier", "question", "full"),
    [
        ("What did 3M spend in 2022?", "and in 2021?", "What did 3M spend in 2021?"),
        ("What did Acme spend in 2022?", "What about Verizon?", "What did Verizon spend in 2022?"),
        (FEE, "And for fishing boats?", f"And for fishing boats? {FEE}"),
        ("What did Acme spend in 2022?", "And why in 2021?", "What did Acme spend in 2021?"),
    ],
)
def test_carry_on_replaces_what_is_named_anew(earlier: str, question: str, full: str) -> None:
    assert carry_on(question, earlier) == full


def rewriter(reply: str | Exception, strength: str = "capable") -> FunctionModel:
    def give(_: object) -> str:
        if isinstance(reply, Exception):
            raise reply
        return reply

    return FunctionModel(give, strength=strength, context_tokens=4_096)


def test_resolve_question_takes_a_rewrite_in_words_of_the_conversation() -> None:
    model = rewriter("How high is the mooring fee for fishing boats?")
    resolved = resolve_question("And for fishing boats?", TURNS, model, Trace())
    assert resolved == "How high is the mooring fee for fishing boats?"


@pytest.mark.parametrize(
    "reply",
    [
        "How high is the fee in Northport?",  # a name from nowhere
        "How high was the fee in 1999?",  # a number from nowhere
        "How high is the fee?",  # loses the number that was asked
        ModelError("broke off"),
    ],
)
def test_resolve_question_drops_a_rewrite_that_invents_or_loses(reply: str | Exception) -> None:
    trace = Trace()
    resolved = resolve_question("And for 12 boats?", TURNS, rewriter(reply), trace)
    assert resolved == f"And for 12 boats? {FEE}"
    assert sum(trace.counters.values()) == 1
    assert trace.steps[0].details["by"] == "rule"


def test_resolve_question_asks_no_small_model_and_none_for_whole_questions() -> None:
    small, capable = rewriter("?", "small"), rewriter("?")
    resolve_question("And for boats?", TURNS, small, Trace())
    assert resolve_question("When are the ropes on the quay renewed?", TURNS, capable, Trace()).startswith("When")
    assert small.history == capable.history == []


def test_retrieve_in_a_conversation_finds_what_was_meant(tmp_path: Path) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": HARBOUR})
    alone = retrieve("And for each vessel?", store, settings=SETTINGS)
    within = retrieve("And for each vessel?", store, settings=SETTINGS, history=TURNS)
    wanted = retrieve(FEE, store, settings=SETTINGS).pages[0].page_number
    assert within.pages[0].page_number == wanted
    assert within.question == "And for each vessel?"
    assert within.asked_as == f"And for each vessel? {FEE}"
    assert alone.asked_as == ""


@pytest.mark.parametrize(("follow_up", "said"), [("And buoys?", "buoys"), ("What about the ropes?", "Ropes on the")])
def test_answer_to_a_short_follow_up_is_not_the_earlier_one(tmp_path: Path, follow_up: str, said: str) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": HARBOUR})
    earlier = "Which mooring fee in crowns does every vessel pay for each night?"
    first = answer(earlier, store, settings=SETTINGS)
    result = answer(follow_up, store, settings=SETTINGS, history=[Turn(question=earlier, answer=first.answer)])
    assert "45 crowns" in first.citations[0].quote
    assert said in result.citations[0].quote


def test_weigh_carried_lets_the_earlier_words_count_half_of_the_new_ones() -> None:
    asked = "And for fishing boats?"
    weighed = weigh_carried(analyse_question(carry_on(asked, FEE)), asked, TURNS)
    own = {word.word: word.weight for word in weighed.words if word.word in ("fishing", "boats")}
    assert own == {"fishing": 1.0, "boats": 1.0}
    assert sum(word.weight for word in weighed.words) - 2 == pytest.approx(0.5 * 2)
    assert ("mooring", "fee") not in weighed.pairs


def test_weigh_carried_of_a_question_without_a_word_of_its_own_weighs_the_earlier_one_whole() -> None:
    weighed = weigh_carried(analyse_question(carry_on("Why?", FEE)), "Why?", TURNS)
    assert {word.word for word in weighed.words} >= {"mooring", "fee"}
    assert len({word.weight for word in weighed.words}) == 1
    assert ("mooring", "fee") in weighed.pairs


def test_weigh_carried_leaves_questions_that_stand_alone() -> None:
    for text in (FEE, "How high is the mooring fee for fishing boats?"):
        question = analyse_question(text)
        assert weigh_carried(question, text, TURNS) is weigh_carried(question, "And boats?", TURNS) is question


def test_answer_prompt_holds_the_conversation(tmp_path: Path) -> None:
    store, _ = publish(tmp_path, {"harbour.pdf": HARBOUR})
    model = rewriter("Each vessel pays 45 crowns a night [1].")
    answer(FEE, store, model=model, settings=SETTINGS, history=[Turn(question="Is there fuel?", answer="Diesel only.")])
    assert "Diesel only." in model.history[-1].user


def test_conversation_file_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    assert read_conversation(path) == []
    append_turn(path, TURNS[0])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))  # an editor may drop the last newline
    append_turn(path, Turn(question="Wer zahlt?\nAlle?", answer="„Jeder“"))
    assert read_conversation(path) == [TURNS[0], Turn(question="Wer zahlt?\nAlle?", answer="„Jeder“")]


def test_read_conversation_of_another_form_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"question": "x"}) + "\n[]\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="line 2"):
        read_conversation(path)


def test_conversation_file_keeps_line_separators_within_a_turn(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    turn = Turn(question="How high\u2028is\x85the fee?", answer="45 crowns.")
    append_turn(file, turn)
    assert read_conversation(file) == [turn]


@pytest.mark.parametrize("line", ['{"question": ' + "1" * 5_000 + "}", "[" * 100_000, '{"question": "\\ud800"}'])
def test_read_conversation_of_hostile_json_names_the_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(SettingsError, match="line 1"):
        read_conversation(file)
