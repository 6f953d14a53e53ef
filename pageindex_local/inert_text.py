"""Text from documents, file names and models, made safe to show: on a terminal it can only be read."""

import re

# Terminal controls (C0 without tab and newline, DEL, C1), bidirectional marks, embeddings, overrides and isolates, line
# and paragraph separators, byte order mark, lone surrogates, interlinear marks, and the invisible tag characters.
# Source: Unicode 16, chapter 23 ("Special Areas and Format Characters"), and Unicode Technical Report 36, section 3.
_HAZARDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_SPACES = re.compile(r"[ \t\n\r\f\v\u00a0\u2000-\u200a\u202f\u205f\u3000]+")


def inert(text: str, *, keep_lines: bool = False) -> str:
    """Text whose control, escape and bidirectional characters are replaced by U+FFFD.

    White space is folded to single spaces, unless `keep_lines` keeps newlines (and tabs as spaces).
    """
    if keep_lines:
        return _HAZARDS.sub("\ufffd", text.replace("\r\n", "\n").expandtabs(4))
    return _HAZARDS.sub("\ufffd", _SPACES.sub(" ", text)).strip()
