"""Regular expressions of askers, matched in bounded time: a pattern in, a program out, and whether a text holds it.

All possibilities are followed at once, so no pattern can hang a question as backtracking can. Knows no notes.
"""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

MAX_INSTRUCTIONS = 1_000  # with MAX_TEXT about a second of work for the worst pattern, microseconds for usual ones
MAX_TEXT = 2_000  # characters looked at
_TOKEN = re.compile(
    r"(?P<open>\((?:\?:|(?!\?)))|(?P<close>\))|(?P<bar>\|)|(?P<repeat>(?:[*+?]|\{(?:[0-9]+,?|,)[0-9]*\})\??)"
    r"|(?P<place>\^|\$|\\[bBAZ])|(?P<char>\\x[^\W_]{2}|\\u[^\W_]{4}|\\U[^\W_]{8}|\\N\{[^}]*\}|\\[^0-9]|\[\^?\]?(?:[^\]\\]|\\.)*\]|[^\\(])",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Step:
    """One instruction: read a character, hold at a place, or go on at each of `to` (relative)."""

    reads: re.Pattern[str] | None = None
    place: re.Pattern[str] | None = None
    to: tuple[int, ...] = ()


_Program = tuple[_Step, ...]


@dataclass(frozen=True, slots=True)
class SafePattern:
    """A compiled pattern. Its matching is linear in the text: at most `MAX_INSTRUCTIONS` looks a character."""

    program: _Program

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the first `MAX_TEXT` characters, without regard to case."""
        text = text[:MAX_TEXT]
        entered: set[int] = set()
        for position in range(len(text) + 1):
            waiting, reached = [*entered, 0], set[int]()
            while waiting:
                at = waiting.pop()
                if at in reached:
                    continue
                reached.add(at)
                if at == len(self.program):
                    return True
                step = self.program[at]
                if step.place is None or step.place.match(text, position):
                    waiting += [at + offset for offset in step.to]
            char = text[position : position + 1]
            reading = ((at, self.program[at].reads) for at in reached)
            entered = {at + 1 for at, reads in reading if char and reads is not None and reads.match(char)}
        return False


def compile_pattern(source: str) -> SafePattern:
    r"""The program of a regular expression: characters, classes, groups, alternatives, repeats, `^ $ \b \B`.

    Raises:
        ValueError: no regular expression, one that looks around or back or sets flags, or one that is too large.

    Source: K. Thompson, Regular expression search algorithm, CACM 1968; instructions as in R. Cox's articles on it.
    """
    try:
        _compiled(source)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression ({error})") from None
    # Each open group: its finished alternatives, and the pieces of the one that is being read.
    groups: list[tuple[list[_Program], list[_Program]]] = [([], [])]
    position, before = 0, ""
    while position < len(source):
        token = _TOKEN.match(source, position)
        alternatives, pieces = groups[-1]
        if token is None or (token["repeat"] and before not in ("close", "char")):
            raise ValueError(f"holds what rules do not know, at {source[position : position + 4]!r}")
        if token["open"]:
            groups.append(([], []))
        elif token["close"]:
            groups.pop()
            groups[-1][1].append(_either([*alternatives, _joined(pieces)]))
        elif token["bar"]:
            alternatives.append(_joined(pieces))
            pieces.clear()
        elif token["repeat"]:
            pieces[-1] = _repeated(pieces[-1], token["repeat"])
        elif token["place"]:
            pieces.append((_Step(place=re.compile(token["place"]), to=(1,)),))
        else:
            pieces.append((_Step(reads=_compiled(token["char"])),))
        position, before = token.end(), token.lastgroup or ""
    alternatives, pieces = groups[-1]
    return SafePattern(_checked(_either([*alternatives, _joined(pieces)])))


def _compiled(source: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of what classes may mean one day
        return re.compile(source, re.IGNORECASE)


def _joined(pieces: Iterable[_Program]) -> _Program:
    return _checked(tuple(step for piece in pieces for step in piece))


def _either(alternatives: list[_Program]) -> _Program:
    return reduce(
        lambda rest, one: _checked((_Step(to=(1, len(one) + 2)), *one, _Step(to=(len(rest) + 1,)), *rest)),
        reversed(alternatives),
    )


def _repeated(piece: _Program, mark: str) -> _Program:
    """A piece repeated as `*`, `+`, `?` or `{m,n}` says; a lazy mark matches the same texts."""
    bounds = {"*": "0,", "+": "1,", "?": "0,1"}.get(mark[0]) or mark.rstrip("?").strip("{}")
    low, comma, high = bounds.partition(",")
    least = int(low or 0)
    most = int(high) if high else None if comma else least
    size = len(piece)
    if max(least, most or 0) * max(size, 1) > MAX_INSTRUCTIONS:
        raise ValueError("is too large: repeat less")
    if most is None:
        tail: _Program = (_Step(to=(1, size + 2)), *piece, _Step(to=(-size - 1,)))
    else:
        tail = (_Step(to=(1, size + 1)), *piece) * (most - least)
    return _checked(piece * least + tail)


def _checked(program: _Program) -> _Program:
    if len(program) > MAX_INSTRUCTIONS:
        raise ValueError("is too large: repeat less, or make several rules of it")
    return program
