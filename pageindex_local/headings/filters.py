"""A group of lines in, the reason why it cannot be a heading out: caption, list item, table cell, code, formula.

Every rule looks at one group and at the document's body style only. A rule that would need the whole document (is
this style a heading style?) belongs to `clusters`.
"""

import re

from pageindex_local.headings.paragraphs import Group
from pageindex_local.headings.styles import LARGER, Typography, is_math

MAX_TITLE_LINES = 5
MAX_TITLE_CHARS = 320

# Labels of boxed remarks: set like headings, repeated all through a manual, and never sections of their own.
_ADMONITIONS = {
    *("tip", "note", "notes", "caution", "warning", "important", "danger", "hint", "attention", "remark"),
    *("hinweis", "achtung", "warnung", "wichtig", "tipp", "vorsicht", "nota", "aviso", "atención", "advertencia"),
    *("consejo", "remarque", "astuce", "avertissement", "注意", "警告", "ヒント", "注記", "注", "備考", "重要"),
}

_LEADERS = re.compile(r"(?:\.\s?){4,}|…{2,}|(?:\s[.·•]){3,}")
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)|table|tab\.|listing|example|algorithm|plate|scheme|chart|exhibit|box|map|diagram|equation|eq\.|"
    r"abbildung|abb\.|tabelle|figura|tabla|tableau|ill\.|рис\.|рисунок|таблица)\s*"
    r"(?:\d|[A-Z]?[-.]?\d|[ivxIVX]+\b|[A-Z]\b[.:])|[図表]\s*\d",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[•●○◦▪■□◆◇►▶➤✓✔–—*\u2022\u2023\u2043\u25aa\uf0b7\uf0a7·-]\s|[•●○◦▪■□◆◇►▶➤✓✔\uf0b7\uf0a7]")
_FORMULA = re.compile(r"[=≤≥≠∑∫√±×÷∈∀∃→⇒]|\\[a-z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MONEY = re.compile(r"[$€£¥%]\s*\(?\d|\d\s*%|\d{1,3}(?:,\d{3})+|\(\d[\d,.]*\)")
_DATE = re.compile(
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?(?:\d{1,2}\s+)?(?:january|february|march|april|may|june|july|august|"
    r"september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?\s+\d{1,2}?,?\s*(?:\d{4})?$",
    re.IGNORECASE,
)
_LINK = re.compile(r"https?://|www\.|\S+@\S+\.\S")
_START_REASONS = ((_CAPTION, "caption"), (_BULLET, "bullet"), (_DATE, "date"))
_ANYWHERE_REASONS = ((_LEADERS, "leaders"), (_LINK, "link"))
_END = (".", ",", ";", "?”", ".”", ".)", "。", "、", "；")
_ABBREVIATED = re.compile(
    r"(?:\b(?:inc|corp|co|ltd|etc|no|vs|jr|sr|s\.a|u\.s|l\.p|n\.a|llc|plc)\.|\.\.\.)$", re.IGNORECASE
)


def reject_group(group: Group, typography: Typography) -> str:
    """Why a group is no heading whatever its style, in a word or two; empty where nothing speaks against it."""
    if group.is_label:
        return "" if group.numbers[0].word else "bare number"
    return _reject_shape(group, typography) or _reject_text(group)


def _reject_shape(group: Group, typography: Typography) -> str:
    """Reasons that lie in how the lines stand on the page."""
    if group.line_count > MAX_TITLE_LINES or len(group.text) > MAX_TITLE_CHARS:
        return "long"
    if group.cells > 2 or (group.cells == 2 and not group.numbers) or (group.mates and group.cells > 1):
        return "cells"
    if group.lead and _is_run_in(group, typography):
        return "mixed style"
    if group.style.size <= LARGER * typography.body.size and _is_inside_paragraph(group):
        return "inside a paragraph"
    return "formula" if is_math(group.style.family) else ""


def _reject_text(group: Group) -> str:
    """Reasons that lie in the words."""
    title = group.title
    if sum(map(str.isalpha, title)) < 2 and not (len(title) == 1 and title.isalpha()):
        return "no letters"
    for pattern, reason in _START_REASONS:
        if pattern.match(group.text):
            return reason
    for pattern, reason in _ANYWHERE_REASONS:
        if pattern.search(group.text):
            return reason
    if not group.numbers and _MONEY.search(title):
        return "amount"
    if not group.numbers and title.strip(" :.!").casefold() in _ADMONITIONS:
        return "admonition"
    return "formula" if _FORMULA.search(title) and len(_WORD.findall(title)) < 2 else ""


def _is_run_in(group: Group, typography: Typography) -> bool:
    """Whether bold or slanted words open a line that goes on in text type.

    Above body size a change of font is a code word in a title, and where only the section number is bold it is a
    title set in code or emphasis.
    """
    if group.style.size > LARGER * typography.body.size:
        return False
    if not (group.numbers and group.numbers[0].depth > 1 and group.line_count <= 2):
        return True
    return group.lead > group.numbers[0].end and not (group.style.mono or group.style.italic)


def _is_inside_paragraph(group: Group) -> bool:
    """Whether the lines around flow through the group.

    A bold or slanted numbered line starts anew even after a full one.
    """
    if group.runs_on:
        return True
    style = group.style
    own_start = bool(group.numbers) and not group.numbers[0].weak and (style.bold or style.italic or style.caps)
    return group.continues and not own_start


def ends_sentence(text: str) -> bool:
    """Whether a text ends like a sentence or like a part of one, abbreviations and dots of omission aside."""
    return text.endswith(_END) and _ABBREVIATED.search(text) is None


def starts_small(text: str) -> bool:
    """Whether the first letter is a small one (scripts without case never are)."""
    first = next((char for char in text if char.isalpha()), "")
    return first.islower()
