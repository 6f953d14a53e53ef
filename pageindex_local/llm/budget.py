"""Token budgets: does a request fit the window, and how much of a text does.

Counts come from the model that will read the prompt, never from another tokenizer. Nothing is cut here without the
caller asking for it by name.
"""

from collections.abc import Callable

from pageindex_local.errors import PromptTooLongError
from pageindex_local.llm.base import GenerationRequest, TextModel


def check_prompt_fits(prompt_tokens: int, max_tokens: int, context_tokens: int, *, purpose: str = "") -> None:
    """Pass where prompt and answer fit together.

    Raises:
        PromptTooLongError: they do not, or `max_tokens` is below 1; says by how many tokens.
    """
    subject = f"prompt for {purpose}" if purpose else "prompt"
    if max_tokens < 1:
        raise PromptTooLongError(
            f"asks for {max_tokens} tokens of answer", subject=subject, next_step="Ask for 1 or more."
        )
    needed = prompt_tokens + max_tokens
    if needed > context_tokens:
        raise PromptTooLongError(
            f"{prompt_tokens} tokens and {max_tokens} tokens of answer exceed the window of {context_tokens} "
            f"by {needed - context_tokens}",
            subject=subject,
            next_step="Shorten the text, ask for a shorter answer or raise model.context_tokens.",
        )


def room_for_text(model: TextModel, system: str, user_without_text: str, max_tokens: int) -> int:
    """How many tokens of text may be added to a prompt (0 where it is full already).

    Exact for texts whose tokens do not merge with their surroundings; `fits` decides in the end.
    """
    used = model.count_prompt_tokens(system, user_without_text) + max_tokens
    return max(0, model.describe().context_tokens - used)


def fits(model: TextModel, request: GenerationRequest) -> bool:
    """Whether a request fits the model's window, prompt and answer together."""
    needed = model.count_prompt_tokens(request.system, request.user) + request.max_tokens
    return needed <= model.describe().context_tokens


def cut_to_tokens(text: str, max_tokens: int, count_tokens: Callable[[str], int]) -> str:
    """The longest run of whole words from the start of `text` that counts at most `max_tokens` tokens.

    Costs about log2(words) counts. Empty where not even the first word fits.
    """
    if max_tokens <= 0:
        return ""
    if count_tokens(text) <= max_tokens:
        return text
    ends = [position for position, character in enumerate(text) if character.isspace()]
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[: ends[middle - 1]]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return text[: ends[low - 1]] if low else ""
