"""Another engine: an OpenAI-compatible server on this machine. Requests in, generations out.

Only loopback addresses are spoken to: document text does not leave the machine. The server counts the tokens and
applies the chat template, so the window is what it says of itself or what the settings say.
"""

import http.client
import ipaddress
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from pageindex_local.errors import EngineUnavailableError, ModelError, PromptTooLongError, SettingsError
from pageindex_local.ids import hash_parts
from pageindex_local.llm.base import (
    Capability,
    Generation,
    GenerationRequest,
    ModelDescription,
    OnGeneration,
    OnScore,
    OnText,
    Score,
    ScoreRequest,
)
from pageindex_local.llm.budget import check_prompt_fits
from pageindex_local.llm.models import ModelEntry, describe_entry
from pageindex_local.llm.template import certain_text, strip_thinking
from pageindex_local.settings import ModelSettings

TIMEOUT_S = 600.0
TEMPLATE_TOKENS = 64  # allowance for the server's chat template, which cannot be seen from here
_CHARACTERS_A_TOKEN = 2  # where a server cannot tokenise: a safe guess for European languages
_MESSAGE_LIMIT = 300


_Form = TypeVar("_Form", bound=BaseModel)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Message(_Reply):
    content: str | None = None


class _Choice(_Reply):
    message: _Message
    finish_reason: str | None = None


class _TokenUsage(_Reply):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(_Reply):
    choices: list[_Choice]
    usage: _TokenUsage = _TokenUsage()


class _Delta(_Reply):
    content: str | None = None


class _DeltaChoice(_Reply):
    delta: _Delta = _Delta()
    finish_reason: str | None = None


class _Event(_Reply):
    """One piece of an answer that is sent as it is written; the last one may bring the usage and no choice."""

    choices: list[_DeltaChoice] = []
    usage: _TokenUsage | None = None


class _ServedModel(_Reply):
    id: str
    meta: dict[str, Any] | None = None


class _ServedModels(_Reply):
    data: list[_ServedModel]


class _TokenList(_Reply):
    tokens: list[int]


class ServerModel:
    """A model behind `http://127.0.0.1:PORT`. One request after the other; the server may batch other clients' work.

    A grammar is sent the way llama-server wants it. Servers have been seen to accept one and ignore it, so callers
    check what comes back in any case. Scores are not offered: the protocol has no call for them.

    Raises:
        SettingsError: the address is not a loopback address.
        EngineUnavailableError: nothing answers there.
        ModelError: what answers is not such a server.
    """

    def __init__(self, entry: ModelEntry, settings: ModelSettings) -> None:
        parts = urlsplit(entry.url)
        self._host, self._port = check_local_address(entry.url)
        self._path = parts.path.rstrip("/").removesuffix("/v1")
        self._seed = settings.seed
        self._closed = False
        served = self._pick(entry.served_name)
        self._served_name = served.id
        trained = (served.meta or {}).get("n_ctx_train")
        limits = [settings.context_tokens, entry.context_tokens, trained if isinstance(trained, int) else 0]
        self._can_tokenise = self._tokenise("a") is not None
        self._template_variables = entry.template_variables
        self._description = ModelDescription(
            name=entry.name,
            fingerprint=hash_parts(["server 1", entry.url, json.dumps(served.model_dump()), describe_entry(entry)]),
            model_sha256=entry.sha256,
            engine="OpenAI-compatible server",
            context_tokens=min(limit for limit in limits if limit),
            capabilities=frozenset({Capability.GRAMMAR, Capability.STREAM}),
            strength=entry.strength or "capable",
            sampling=f"greedy, then temperature 0.5+, seed {settings.seed}",
        )

    def describe(self) -> ModelDescription:
        """Name, fingerprint (address and what the server says of its model), window and capabilities."""
        return self._description

    def count_tokens(self, text: str) -> int:
        """Length in the server's tokens; where it has no `/tokenize`, an estimate that is rather too high."""
        if self._can_tokenise:
            tokens = self._tokenise(text)
            if tokens is not None:
                return len(tokens)
        return -(-len(text) // _CHARACTERS_A_TOKEN)

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """Length of both texts and an allowance for the chat template."""
        return self.count_tokens(system) + self.count_tokens(user) + TEMPLATE_TOKENS

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """One generation a request, in order.

        Raises:
            PromptTooLongError: a prompt and its `max_tokens` exceed the window, by our count or the server's.
            ModelError: the server failed or answered in another form.
        """
        self._check_open()
        for request in requests:
            prompt_tokens = self.count_prompt_tokens(request.system, request.user)
            check_prompt_fits(
                prompt_tokens, request.max_tokens, self._description.context_tokens, purpose=request.purpose
            )
        results = []
        for index, request in enumerate(requests):
            result = self._complete(request)
            results.append(result)
            if on_result is not None:
                on_result(index, result)
        return results

    def stream(self, request: GenerationRequest, on_text: OnText) -> Generation:
        """One generation, told as the server sends it.

        Raises:
            PromptTooLongError: prompt and `max_tokens` exceed the window, by our count or the server's.
            ModelError: the server failed or answered in another form.
        """
        self._check_open()
        prompt_tokens = self.count_prompt_tokens(request.system, request.user)
        check_prompt_fits(prompt_tokens, request.max_tokens, self._description.context_tokens, purpose=request.purpose)
        body = {**self._completion_body(request), "stream": True, "stream_options": {"include_usage": True}}
        has_grammar = request.grammar is not None
        text, told, reason = "", "", "stop"
        usage: _TokenUsage | None = None
        for data in self._events("/v1/chat/completions", body):
            event = self._parse(_Event, data)
            usage = event.usage or usage
            for choice in event.choices[:1]:
                text += choice.delta.content or ""
                reason = "length" if choice.finish_reason == "length" else reason
            certain = certain_text(text, request.stop, has_grammar=has_grammar)
            if len(certain) > len(told):
                told = certain
                on_text(told)
        final = text if has_grammar else strip_thinking(text)
        if len(final) > len(told):
            on_text(final)
        if usage is None:  # not every server counts while it streams
            usage = _TokenUsage(prompt_tokens=prompt_tokens, completion_tokens=self.count_tokens(text))
        return Generation(final, reason, usage.prompt_tokens, usage.completion_tokens)

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:  # noqa: ARG002
        """Not offered by this engine.

        Raises:
            ModelError: always.
        """
        raise ModelError("cannot score", subject=self._description.name, next_step="Use a GGUF in process for scores.")

    def close(self) -> None:
        """Refuse further work; the server goes on."""
        self._closed = True

    def _completion_body(self, request: GenerationRequest) -> dict[str, Any]:
        messages = [{"role": "user", "content": request.user}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {
            "model": self._served_name,
            "messages": messages,
            "max_tokens": request.max_tokens,
            "temperature": min(1.0, 0.3 + 0.2 * request.attempt) if request.attempt else 0.0,
            "seed": (self._seed + request.attempt) & 0x7FFFFFFF,
            "stream": False,
            "chat_template_kwargs": {"enable_thinking": False, **self._template_variables},
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.grammar is not None:
            body["grammar"] = request.grammar
        return body

    def _complete(self, request: GenerationRequest) -> Generation:
        body = self._completion_body(request)
        answer = self._parse(_Completion, self._call("POST", "/v1/chat/completions", body))
        if not answer.choices:
            raise ModelError("the server's answer holds no choice", subject=self._description.name)
        choice = answer.choices[0]
        text = choice.message.content or ""
        reason = "length" if choice.finish_reason == "length" else "stop"
        return Generation(
            strip_thinking(text) if request.grammar is None else text,
            reason,
            answer.usage.prompt_tokens,
            answer.usage.completion_tokens,
        )

    def _pick(self, served_name: str) -> _ServedModel:
        models = self._parse(_ServedModels, self._call("GET", "/v1/models", None)).data
        for model in models:
            if not served_name or model.id == served_name:
                return model
        known = ", ".join(model.id for model in models) or "none"
        raise SettingsError(
            f"the server has no model {served_name!r}", subject=self._address, next_step=f"It has: {known}."
        )

    def _tokenise(self, text: str) -> list[int] | None:
        """Tokens by llama-server's `/tokenize`; None where the server has no such call."""
        status, data = self._exchange("POST", "/tokenize", {"content": text, "parse_special": False})
        if status != 200:
            return None
        try:
            return _TokenList.model_validate_json(data).tokens
        except ValidationError:
            return None

    def _call(self, method: str, path: str, body: dict[str, Any] | None) -> bytes:
        status, data = self._exchange(method, path, body)
        if status != 200:
            raise self._refusal(path, status, data)
        return data

    def _refusal(self, path: str, status: int, data: bytes) -> ModelError:
        message = data.decode("utf-8", "replace")
        if status == 400 and "exceed_context_size" in message:
            return PromptTooLongError(
                "the server's window is smaller than the settings say",
                subject=self._address,
                next_step="Lower model.context_tokens to the server's.",
            )
        return ModelError(f"{path} answered {status}: {message[:_MESSAGE_LIMIT]}", subject=self._address)

    def _exchange(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        with self._response(method, path, body) as response:
            return response.status, response.read()

    def _events(self, path: str, body: dict[str, Any]) -> Iterator[bytes]:
        """The data of server-sent events, one JSON object each, until `[DONE]` or the end."""
        with self._response("POST", path, body) as response:
            if response.status != 200:
                raise self._refusal(path, response.status, response.read())
            for line in response:
                data = line.removeprefix(b"data:").strip()
                if data == b"[DONE]":
                    return
                if data and line.startswith(b"data:"):
                    yield data

    @contextmanager
    def _response(self, method: str, path: str, body: dict[str, Any] | None) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        try:
            payload = None if body is None else json.dumps(body).encode("utf-8", "replace")
            connection.request(method, self._path + path, payload, {"Content-Type": "application/json"})
            yield connection.getresponse()
        except ConnectionRefusedError:
            raise EngineUnavailableError("no server answers", subject=self._address, next_step="Start it.") from None
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(f"the server broke off ({error or type(error).__name__})", subject=self._address) from None
        finally:
            connection.close()

    def _parse(self, form: type[_Form], data: bytes) -> _Form:
        try:
            return form.model_validate_json(data)
        except ValidationError as error:
            problem = f"the answer is not of the OpenAI form ({error.errors()[0]['msg']})"
            raise ModelError(problem, subject=self._address) from None

    def _check_open(self) -> None:
        if self._closed:
            raise ModelError("is closed", subject=self._description.name)

    @property
    def _address(self) -> str:
        return f"http://{self._host}:{self._port}{self._path}"


def check_local_address(url: str) -> tuple[str, int]:
    """Host and port of an http address on this machine. Names are not resolved: only `localhost` is taken as one.

    Raises:
        SettingsError: any other address, or none.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        host, port, parts = "", 0, urlsplit("")
    if host == "localhost":
        host = "127.0.0.1"
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if parts.scheme != "http" or not is_local:
        raise SettingsError(
            "is not an http address of this machine",
            subject=url,
            next_step="Documents are sent to loopback addresses only, such as http://127.0.0.1:8080.",
        )
    return host, port
