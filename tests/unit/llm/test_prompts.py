import pytest

from pageindex_local.llm.grammar import parse_picks, render_picks
from pageindex_local.llm.prompts import (
    PROMPT_VERSIONS,
    as_data,
    description_request,
    leaf_summary_request,
    mini_toc_request,
    parent_summary_request,
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
        mini_toc_request(["A"], 9),
        leaf_summary_request("T", ["a."], 9),
        parent_summary_request("T", ["a."], 9),
        description_request("T", ["a."], 9),
    ]
    assert {request.purpose for request in requests} == set(PROMPT_VERSIONS)


def test_mini_toc_request_example_form_is_the_one_that_is_parsed() -> None:
    assert parse_picks(render_picks([(1, 1), (12, 3)]), 40) == [(1, 1), (12, 3)]
    assert "number:level" in mini_toc_request(["A"], 9).system


def test_retry_request_keeps_the_shared_beginning_and_says_why() -> None:
    first = leaf_summary_request("Title", ["Some text."], 9)
    again = retry_request(first, "it repeats itself")
    assert again.attempt == 1
    assert again.system.startswith(first.system)
    assert "It repeats itself." in again.system
    assert again.user == first.user == "Title\nSome text."
