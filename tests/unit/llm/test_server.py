"""The engine behind a local server: only this machine, and no answer taken on trust."""

import socket
from typing import Any

import pytest

from pageindex_local.errors import EngineUnavailableError, ModelError, PromptTooLongError, SettingsError
from pageindex_local.llm.base import GenerationRequest
from pageindex_local.llm.fakes import FunctionModel, ScriptedModel
from pageindex_local.llm.models import ModelEntry, find_model
from pageindex_local.llm.server import ServerModel, check_local_address
from pageindex_local.settings import read_settings
from tests.contract.local_server import serve

SETTINGS = read_settings().model


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com:8080",
        "http://192.168.1.10:8080",
        "http://0.0.0.0:8080",
        "http://localhost.example.com",
        "http://127.0.0.1@example.com/",
        "https://127.0.0.1:8080",
        "http://127.0.0.1:notaport",
        "http://",
    ],
)
def test_address_elsewhere_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="loopback"):
        check_local_address(url)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("http://localhost:1234/v1", ("127.0.0.1", 1234)),
        ("http://[::1]:9", ("::1", 9)),
        ("http://127.5.5.5", ("127.5.5.5", 80)),
    ],
)
def test_address_of_this_machine_is_taken(url: str, address: tuple[str, int]) -> None:
    assert check_local_address(url) == address


def test_open_where_nothing_listens_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EngineUnavailableError, match=str(port)):
        ServerModel(find_model(f"http://127.0.0.1:{port}"), SETTINGS)


def test_open_named_model_that_is_not_served_names_those_that_are() -> None:
    with serve(ScriptedModel([])) as url, pytest.raises(SettingsError, match="stand-in"):
        ServerModel(ModelEntry(name="mine", url=url, served_name="other"), SETTINGS)


def test_generate_sends_grammar_seed_and_no_thinking() -> None:
    bodies: list[dict[str, Any]] = []
    with serve(ScriptedModel(["a", "b"]), bodies=bodies) as url:
        model = ServerModel(find_model(url + "/v1"), SETTINGS)
        model.generate([GenerationRequest("user", 5, system="system", grammar='root ::= "a"', stop=("z",))])
        model.generate([GenerationRequest("user", 5, attempt=2)])
    first, second = (body for body in bodies if "messages" in body)
    assert first["grammar"] == 'root ::= "a"'
    assert first["stop"] == ["z"]
    assert first["temperature"] == 0.0
    assert first["chat_template_kwargs"] == {"enable_thinking": False}
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert "grammar" not in second
    assert second["temperature"] > 0
    assert second["seed"] != first["seed"]


def test_generate_strips_reasoning() -> None:
    with serve(ScriptedModel(["<think>hmm</think>Yes."])) as url:
        assert ServerModel(find_model(url), SETTINGS).generate([GenerationRequest("?", 40)])[0].text == "Yes."


def test_generate_server_with_a_smaller_window_is_a_clear_error() -> None:
    def refuse(request: GenerationRequest) -> str:
        raise ModelError("exceed_context_size_error")

    with serve(FunctionModel(refuse)) as url, pytest.raises(PromptTooLongError, match="window"):
        ServerModel(find_model(url), SETTINGS).generate([GenerationRequest("?", 40)])


def test_generate_server_error_is_a_model_error_with_its_message() -> None:
    with serve(ScriptedModel([])) as url, pytest.raises(ModelError, match="no scripted reply"):
        ServerModel(find_model(url), SETTINGS).generate([GenerationRequest("?", 40)])


def test_count_tokens_without_tokenize_is_never_too_low() -> None:
    text = "A long enough sentence about boilers and their yearly inspection, in plain words."
    with serve(ScriptedModel([]), can_tokenise=False) as url:
        model = ServerModel(find_model(url), SETTINGS)
        assert model.count_tokens(text) >= ScriptedModel([]).count_tokens(text)


def test_window_is_the_smallest_that_anybody_names() -> None:
    with serve(ScriptedModel([], context_tokens=700)) as url:
        assert ServerModel(find_model(url), SETTINGS).describe().context_tokens == 700


@pytest.mark.parametrize("sends_usage", [True, False])
def test_stream_tells_pieces_and_counts_tokens(sends_usage: bool) -> None:
    bodies: list[dict[str, Any]] = []
    told: list[str] = []
    inner = FunctionModel(lambda _: "The fee for one night is nine crowns.")
    with serve(inner, sends_usage=sends_usage, bodies=bodies) as url:
        model = ServerModel(find_model(url), SETTINGS)
        result = model.stream(GenerationRequest("How much?", 40), told.append)
        whole = model.generate([GenerationRequest("How much?", 40)])[0]
    assert result.text == whole.text == told[-1] == "The fee for one night is nine crowns."
    assert len(told) > 5
    assert result.output_tokens == whole.output_tokens
    assert [body["stream"] for body in bodies if "stream" in body] == [True, False]


def test_stream_shows_no_reasoning() -> None:
    told: list[str] = []
    with serve(FunctionModel(lambda _: "<think>nine or ten?</think>Nine.")) as url:
        result = ServerModel(find_model(url), SETTINGS).stream(GenerationRequest("How much?", 40), told.append)
    assert result.text == "Nine."
    assert all("think" not in text and "ten" not in text for text in told)


def test_stream_that_the_server_refuses_is_a_model_error() -> None:
    with serve(ScriptedModel([ModelError("out of order")])) as url:
        model = ServerModel(find_model(url), SETTINGS)
        with pytest.raises(ModelError, match="out of order"):
            model.stream(GenerationRequest("How much?", 40), lambda _: None)
