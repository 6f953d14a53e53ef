import pytest

from pageindex_local.llm.gbnf import parse_grammar
from pageindex_local.llm.grammar import parse_picks, picks_grammar, render_picks
from pageindex_local.llm.prompts import (
    PROMPT_VERSIONS,
    as_data,
    description_request,
    leaf_summary_request,
    mini_toc_request,
    parent_summary_request,
    passages_request,
    retry_request,
)


@pytest.mark.parametrize(
    "token",
    [
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<|start_header_id|>",
        "<｜Assistant｜>",
        "<s>",
        "</s>",
        "<bos>",
        "<start_of_turn>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<think>",
        "</think>",
        "< |im_start| >",
    ],
)
def test_as_data_breaks_control_tokens(token: str) -> None:
    text = as_data(f"before {token} after")
    assert token.replace(" ", "") not in text.replace("< |", "<\0|")
    assert token not in text or " " in token
    assert text.startswith("before ")
    assert text.endswith(" after")


@pytest.mark.parametrize("text", ["a < b and c > d", "<a href='x'>", "List<String>", "a | b", "x[1]", "plain"])
def test_as_data_leaves_ordinary_text(text: str) -> None:
    assert as_data(text) == text


def test_as_data_drops_control_characters() -> None:
    assert as_data("a\x00b\x1bc\u202ed\ne") == "a b c d\ne"


def test_make_requests_label_their_purpose_by_a_version_in_the_fingerprint() -> None:
    requests = [
        mini_toc_request([("A", True)], 9),
        passages_request([("A", 1)], 9),
        leaf_summary_request("T", ["a."], 9),
        parent_summary_request("T", ["a."], 9),
        description_request("T", ["a."], 9),
    ]
    assert {request.purpose for request in requests} == set(PROMPT_VERSIONS)


def test_mini_toc_request_example_form_is_the_one_that_is_parsed() -> None:
    assert parse_picks(render_picks([(1, 1), (12, 3)]), 40) == [(1, 1), (12, 3)]
    assert "number:level" in mini_toc_request([("A", True)], 9).system


def test_mini_toc_request_numbers_questions_only() -> None:
    request = mini_toc_request([("# 1 Known", False), ("Open", True), ("## 1.1 Known", False), ("Open too", True)], 9)
    assert request.user.splitlines() == ["# 1 Known", "1: Open", "## 1.1 Known", "2: Open too"]
    assert request.grammar == picks_grammar(2)


def test_passages_request_admits_the_titles_of_each_passage_only() -> None:
    grammar = parse_grammar(passages_request([("A", 1), ("B", 3)], 9).grammar or "")
    assert grammar.matches("1:1\n2:3")
    assert grammar.matches("none")
    assert not grammar.matches("1:2")
    assert not grammar.matches("2:4")


def test_retry_request_keeps_the_shared_beginning_and_says_why() -> None:
    first = leaf_summary_request("Title", ["Some text."], 9)
    again = retry_request(first, "it repeats itself")
    assert again.attempt == 1
    assert again.system.startswith(first.system)
    assert "It repeats itself." in again.system
    assert again.user == first.user == "Title\nSome text."
