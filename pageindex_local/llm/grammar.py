"""Grammars for model output, in GBNF: closed lists of choices in, grammar text out.

Each admits only what the caller can use, and is small: no repetition counts (llama.cpp limits count times complexity)
and no free text. What was generated under them is still parsed and checked.
"""

import re
from collections.abc import Iterable, Sequence

MAX_LEVELS = 6
NO_PICKS = "none"
_PICK = re.compile(r"([1-9]\d{0,2}):([1-6])")


def picks_grammar(count: int, choices: Sequence[int] = ()) -> str:
    """A grammar for a choice among the lines 1 to `count`: `number:level`, one a line, ascending, or `none`.

    With `choices` the second number goes from 1 to that of the line, at most 6, instead of over all levels.

    One rule a line, each leading to a later one only, so that numbers ascend and output is bounded without counting:
    at most `count` lines.
    """
    if count < 1:
        raise ValueError(f"a choice among {count} lines")
    if choices and (len(choices) != count or not all(1 <= choice <= MAX_LEVELS for choice in choices)):
        raise ValueError(f"{count} lines with {list(choices)} choices")
    seconds = [f"[1-{choice}]" if choice > 1 else '"1"' for choice in choices] or ["level"] * count
    rules = [f'root ::= "{NO_PICKS}" | from1', f"level ::= [1-{MAX_LEVELS}]"]
    rules += [f'from{n} ::= "{n}:" {seconds[n - 1]} ("\\n" from{n + 1})? | from{n + 1}' for n in range(1, count)]
    rules.append(f'from{count} ::= "{count}:" {seconds[count - 1]}')
    return "\n".join(rules) + "\n"


def render_picks(picks: Iterable[tuple[int, int]]) -> str:
    """Pairs of line number and level as the grammar wants them."""
    return "\n".join(f"{number}:{level}" for number, level in picks) or NO_PICKS


def parse_picks(text: str, count: int) -> list[tuple[int, int]]:
    """The pairs of line number and level that a model gave.

    Raises:
        ValueError: the text has another form, a number is out of range or out of order; a sentence a model can read.
    """
    text = text.strip()
    if text == NO_PICKS:
        return []
    picks: list[tuple[int, int]] = []
    for line in text.split("\n"):
        found = _PICK.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"{line.strip()[:40]!r} is not of the form number:level")
        number, level = int(found.group(1)), int(found.group(2))
        if number > count:
            raise ValueError(f"there is no line {number}")
        if picks and number <= picks[-1][0]:
            raise ValueError(f"line {number} comes after line {picks[-1][0]}")
        picks.append((number, level))
    return picks


def choice_grammar(choices: Sequence[str]) -> str:
    """A grammar that admits exactly one of the given strings."""
    if not choices:
        raise ValueError("a choice among nothing")
    return "root ::= " + " | ".join(_literal(choice) for choice in choices) + "\n"


def _literal(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f'"{escaped}"'
