"""Chat templates: a GGUF's own Jinja template in; a prompt as parts, each either template text or document text, out.

Only template text may become control tokens. So the template is rendered once with placeholders, and the messages take
their places afterwards as data. Thinking is switched off where a template has a switch, and closed where it has not.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pageindex_local.errors import ModelError

_SYSTEM = "\ue000system\ue001"
_USER = "\ue000user\ue001"
_PLACEHOLDER = re.compile(f"({_SYSTEM}|{_USER})")
_OPEN_THINKING = re.compile(r"<think>\s*$")
_CLOSED_THINKING = re.compile(r"</think>\s*$")
_THOUGHT = re.compile(r"^\s*(?:<think>)?.*?</think>\s*", re.DOTALL)
# For base models: no roles, just the two texts.
PLAIN_TEMPLATE = "{% for m in messages %}{{ m['content'] }}\n\n{% endfor %}"


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A piece of a prompt. `is_data` text must be tokenised so that control tokens inside it stay plain text."""

    text: str
    is_data: bool


class ChatTemplate:
    """How a model wants to be addressed.

    `variables` are handed to the template (`enable_thinking` is false unless they say otherwise); `answer_prefix` is
    put after it. Rendering depends on nothing but these: no clock, no environment.

    Raises:
        ModelError: the template cannot be compiled or does not place the messages.
    """

    def __init__(
        self,
        source: str,
        *,
        bos_token: str = "",
        eos_token: str = "",
        variables: Mapping[str, str | bool | int] | None = None,
        answer_prefix: str = "",
    ) -> None:
        self.source = source
        self._context: dict[str, Any] = {
            "bos_token": bos_token,
            "eos_token": eos_token,
            "add_generation_prompt": True,
            "enable_thinking": False,
            **(variables or {}),
        }
        self._answer_prefix = answer_prefix
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _raise
        try:
            self._template = environment.from_string(source or PLAIN_TEMPLATE)
        except TemplateError as error:
            raise ModelError(f"the chat template does not compile: {error}") from None
        self._skeletons = {has_system: self._render(has_system=has_system) for has_system in (False, True)}

    def parts(self, system: str, user: str) -> list[PromptPart]:
        """The prompt for one exchange, ready for the answer to follow. Empty `system`: no system message is given."""
        filled = {_SYSTEM: system, _USER: user}
        return [
            PromptPart(filled[piece], is_data=True) if piece in filled else PromptPart(piece, is_data=False)
            for piece in self._skeletons[bool(system)]
            if piece
        ]

    def _render(self, *, has_system: bool) -> list[str]:
        messages = [{"role": "user", "content": _USER}]
        if has_system:
            messages.insert(0, {"role": "system", "content": _SYSTEM})
        try:
            text = self._template.render(messages=messages, **self._context)
        except TemplateError as error:
            if not has_system:
                raise ModelError(f"the chat template cannot be rendered: {error}") from None
            # Some templates refuse a system message: both texts then go into the user's.
            merged = [{"role": "user", "content": f"{_SYSTEM}\n\n{_USER}"}]
            text = self._template.render(messages=merged, **self._context)
        if text.count(_USER) != 1 or text.count(_SYSTEM) != has_system:
            raise ModelError("the chat template does not place every message exactly once")
        return _PLACEHOLDER.split(self._close_thinking(text) + self._answer_prefix)

    def _close_thinking(self, text: str) -> str:
        if _OPEN_THINKING.search(text):
            return text.rstrip() + "\n\n</think>\n\n"
        has_switch = "enable_thinking" in self.source
        if "<think>" in self.source and not has_switch and not _CLOSED_THINKING.search(text):
            return text + "<think>\n\n</think>\n\n"
        return text


def strip_thinking(text: str) -> str:
    """An answer without its reasoning: what follows `</think>`, and nothing where the reasoning was never closed."""
    if "</think>" in text:
        return _THOUGHT.sub("", text, count=1)
    return "" if text.lstrip().startswith("<think>") else text


def certain_text(text: str, stops: Sequence[str], *, has_grammar: bool) -> str:
    """The part of a growing answer that no later token takes back: no open reasoning, no stop string that has begun."""
    kept = text if has_grammar else strip_thinking(text)
    if not has_grammar and "<think>".startswith(text.strip()):
        return ""
    begun = [
        length for stop in stops for length in range(min(len(stop), len(kept)), 0, -1) if kept.endswith(stop[:length])
    ]
    return kept[: len(kept) - max(begun, default=0)]


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)
