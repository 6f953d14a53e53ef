"""The label rules of a PDF in, one printed label per page out. Broken rules give physical numbers, never an error."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pageindex_local.parsing.clean import clean_text

_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_HEX_STRING = re.compile(r"<(?:[0-9A-Fa-f]{2})+>")
_LONGEST_LABEL = 40
_MOST_LETTERS = 20  # of an alphabetic label: "aa", "bb" repeat a letter, once more every 26 pages


def page_labels(rules: Sequence[Mapping[str, Any]], page_count: int) -> list[str]:
    """The label of every page: as printed where a rule covers it, else the physical number.

    A rule has `startpage` (physical, from 0), `prefix`, `style` (D, R, r, A, a or empty) and `firstpagenum`.

    Source: ISO 32000-1, 12.4.2 (page labels).
    """
    labels = [str(number) for number in range(1, page_count + 1)]
    starts = sorted(
        (rule for rule in rules if isinstance(rule.get("startpage"), int) and 0 <= rule["startpage"] < page_count),
        key=lambda rule: rule["startpage"],
    )
    for position, rule in enumerate(starts):
        end = starts[position + 1]["startpage"] if position + 1 < len(starts) else page_count
        prefix, style, first = _prefix(rule.get("prefix")), rule.get("style", ""), rule.get("firstpagenum", 1)
        if not isinstance(first, int) or first < 1:
            first = 1
        for index in range(rule["startpage"], end):
            label = f"{prefix}{_number(style, first + index - rule['startpage'])}"[:_LONGEST_LABEL]
            labels[index] = label or labels[index]
    return labels


def _prefix(value: object) -> str:
    text = str(value or "")
    if _HEX_STRING.fullmatch(text):  # the library hands on strings that the file writes in hexadecimal as they are
        data = bytes.fromhex(text[1:-1])
        text = data[2:].decode("utf-16-be", "ignore") if data[:2] == b"\xfe\xff" else data.decode("latin-1")
    return clean_text(text)


def _number(style: str, value: int) -> str:
    if style == "D":
        return str(value)
    if style in ("R", "r"):
        text = _roman(value)
        return text.upper() if style == "R" else text
    if style in ("A", "a"):
        letter = chr(ord(style) + (value - 1) % 26)
        return letter * min((value - 1) // 26 + 1, _MOST_LETTERS)
    return ""


def _roman(value: int) -> str:
    if value >= 4000:
        return str(value)
    parts = []
    for amount, digits in _ROMAN:
        count, value = divmod(value, amount)
        parts.append(digits * count)
    return "".join(parts)
