"""GBNF grammars in plain Python: grammar text in; a matcher, or the grammar's shortest text, out.

The stand-in models use it to obey grammars as a real engine does, and tests use it to hold real output against a
grammar with code that is not the engine's. It is not used to sample from a real model.
"""

from dataclasses import dataclass
from typing import TypeAlias

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-", "^": "^"}
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_MAX_REPETITIONS = 2000  # llama.cpp refuses more
_MAX_STACK = 1000


class GrammarError(ValueError):
    """Grammar text that cannot be used: says where and why."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of (or, negated, none of) inclusive code point ranges."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False

    def admits(self, character: str) -> bool:
        """Whether the character is in the set."""
        code = ord(character)
        inside = any(low <= code <= high for low, high in self.ranges)
        return inside is not self.negated

    def example(self) -> str:
        """A character of the set, a readable one where there is a choice."""
        if not self.negated:
            return chr(self.ranges[0][0])
        for code in (*range(ord("a"), ord("z") + 1), *range(0x20, 0x3000)):
            if self.admits(chr(code)):
                return chr(code)
        raise GrammarError("a character class that admits nothing")


Element: TypeAlias = Chars | str  # a string is the name of a rule
Sequence_: TypeAlias = tuple[Element, ...]
Stack: TypeAlias = tuple[Element, ...]  # what is still to come, next first


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules by name: alternatives, each a sequence of elements. The start rule is `root`."""

    rules: dict[str, tuple[Sequence_, ...]]

    def matches(self, text: str) -> bool:
        """Whether the whole text is a sentence of the grammar."""
        return () in self._read(text)

    def admits_start(self, text: str) -> bool:
        """Whether the text can be continued (or is complete): true for a cut answer."""
        return bool(self._read(text))

    def shortest(self) -> str:
        """A shortest sentence; of several the one of the first alternatives. Deterministic."""
        lengths = self._lengths()
        out: list[str] = []
        todo: list[Element] = ["root"]
        while todo:
            element = todo.pop()
            if isinstance(element, Chars):
                out.append(element.example())
            else:
                best = min(self.rules[element], key=lambda sequence: _length(sequence, lengths))
                todo.extend(reversed(best))
        return "".join(out)

    def _lengths(self) -> dict[str, float]:
        lengths = dict.fromkeys(self.rules, float("inf"))
        changed = True
        while changed:
            changed = False
            for name, alternatives in self.rules.items():
                shortest = min(_length(sequence, lengths) for sequence in alternatives)
                if shortest < lengths[name]:
                    lengths[name] = shortest
                    changed = True
        if lengths["root"] == float("inf"):
            raise GrammarError("no finite text satisfies root")
        return lengths

    def _read(self, text: str) -> set[Stack]:
        stacks = self._open({("root",)})
        for character in text:
            stacks = self._open({s[1:] for s in stacks if s and isinstance(s[0], Chars) and s[0].admits(character)})
        return stacks

    def _open(self, stacks: set[Stack]) -> set[Stack]:
        ready: set[Stack] = set()
        seen: set[Stack] = set()
        todo = list(stacks)
        while todo:
            stack = todo.pop()
            if stack in seen:
                continue
            seen.add(stack)
            if len(stack) > _MAX_STACK:
                raise GrammarError("a rule calls itself before reading a character, or nests too deep")
            if not stack or isinstance(stack[0], Chars):
                ready.add(stack)
            else:
                todo.extend(sequence + stack[1:] for sequence in self.rules[stack[0]])
        return ready


def _length(sequence: Sequence_, lengths: dict[str, float]) -> float:
    return sum(1 if isinstance(element, Chars) else lengths[element] for element in sequence)


def parse_grammar(text: str) -> Grammar:
    """The rules of GBNF text.

    Raises:
        GrammarError: a syntax error, a rule that is missing, or no `root`.
    Source: grammars/README.md of llama.cpp (the notation; token elements are not supported).
    """
    return _Parser(text).parse()


class _Parser:
    """Recursive descent over the few constructs of GBNF; the only nesting is that of brackets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.rules: dict[str, tuple[Sequence_, ...]] = {}
        self.made = 0

    def parse(self) -> Grammar:
        self.skip(newlines=True)
        while self.at < len(self.text):
            name = self.name()
            self.skip()
            if not self.text.startswith("::=", self.at):
                raise self.error("expected ::=")
            self.at += 3
            self.skip(newlines=True)
            self.rules[name] = self.alternatives(nested=False)
            self.skip(newlines=True)
        missing = {
            element
            for alternatives in self.rules.values()
            for sequence in alternatives
            for element in sequence
            if isinstance(element, str) and element not in self.rules
        }
        if missing:
            raise GrammarError(f"rules that are not defined: {', '.join(sorted(missing))}")
        if "root" not in self.rules:
            raise GrammarError("no rule named root")
        return Grammar(self.rules)

    def alternatives(self, *, nested: bool) -> tuple[Sequence_, ...]:
        found = [self.sequence(nested=nested)]
        while self.peek() == "|":
            self.at += 1
            self.skip(newlines=True)
            found.append(self.sequence(nested=nested))
        return tuple(found)

    def sequence(self, *, nested: bool) -> Sequence_:
        elements: list[Element] = []
        while (character := self.peek()) and character not in "|)\n\r":
            unit = self.unit()
            self.skip(newlines=nested)
            elements.extend(self.repeated(unit))
            self.skip(newlines=nested)
        return tuple(elements)

    def unit(self) -> Sequence_:
        character = self.peek()
        if character == '"':
            self.at += 1
            literal: list[Element] = []
            while self.peek() != '"':
                code = self.character()
                literal.append(Chars(((code, code),)))
            self.at += 1
            return tuple(literal)
        if character == "[":
            return (self.char_class(),)
        if character == ".":
            self.at += 1
            return (Chars((), negated=True),)
        if character == "(":
            self.at += 1
            self.skip(newlines=True)
            group = self.make(self.alternatives(nested=True))
            if self.peek() != ")":
                raise self.error("expected )")
            self.at += 1
            return (group,)
        return (self.name(),)

    def char_class(self) -> Chars:
        self.at += 1
        negated = self.peek() == "^"
        if negated:
            self.at += 1
        ranges: list[tuple[int, int]] = []
        while self.peek() != "]":
            low = high = self.character()
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                high = self.character()
            ranges.append((low, high))
        self.at += 1
        return Chars(tuple(ranges), negated)

    def repeated(self, unit: Sequence_) -> Sequence_:
        character = self.peek()
        if character and character in "?*+":
            self.at += 1
            low, high = {"?": (0, 1), "*": (0, None), "+": (1, None)}[character]
        elif character == "{":
            end = self.text.find("}", self.at)
            body = self.text[self.at + 1 : end].replace(" ", "")
            first, comma, last = body.partition(",")
            if end < 0 or not first.isdigit() or (last and not last.isdigit()):
                raise self.error("expected {m}, {m,} or {m,n}")
            self.at = end + 1
            low = int(first)
            high = int(last) if last else (None if comma else low)
        else:
            return unit
        if max(low, high or 0) > _MAX_REPETITIONS:
            raise self.error(f"more than {_MAX_REPETITIONS} repetitions")
        if high is None:
            loop = self.make(())
            self.rules[loop] = ((*unit, loop), ())
            return (*(unit * low), loop)
        rest: Sequence_ = ()
        for _ in range(high - low):
            rest = (self.make(((*unit, *rest), ())),)
        return (*(unit * low), *rest)

    def make(self, alternatives: tuple[Sequence_, ...]) -> str:
        self.made += 1
        name = f"#{self.made}"
        self.rules[name] = alternatives
        return name

    def character(self) -> int:
        character = self.peek()
        if not character:
            raise self.error("unexpected end")
        self.at += 1
        if character != "\\":
            return ord(character)
        kind = self.peek()
        self.at += 1
        if kind in _HEX_ESCAPES:
            digits = self.text[self.at : self.at + _HEX_ESCAPES[kind]]
            self.at += len(digits)
            try:
                return int(digits, 16)
            except ValueError:
                raise self.error("expected hexadecimal digits") from None
        if kind not in _ESCAPES:
            raise self.error(f"unknown escape \\{kind}")
        return ord(_ESCAPES[kind])

    def name(self) -> str:
        start = self.at
        while (character := self.peek()) and (character == "-" or (character.isascii() and character.isalnum())):
            self.at += 1
        if start == self.at:
            raise self.error("expected a rule name")
        return self.text[start : self.at]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip(self, *, newlines: bool = False) -> None:
        while character := self.peek():
            if character == "#":
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else len(self.text)
            elif character in " \t" or (newlines and character in "\r\n"):
                self.at += 1
            else:
                return

    def error(self, problem: str) -> GrammarError:
        line = self.text.count("\n", 0, self.at) + 1
        return GrammarError(f"line {line}, near {self.text[self.at : self.at + 20]!r}: {problem}")
