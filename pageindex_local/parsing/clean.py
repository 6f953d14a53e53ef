"""Text as a PDF gives it in, text that is safe to store and show out.

One rule for every line, title and metadata value. Nothing here knows about pages or fonts.
"""

import re
import unicodedata

# What never belongs to the words of a line: C0 and C1 controls, soft hyphen, zero-width space and joiners' relatives
# that only steer layout (word joiner, byte order mark), bidi embedding, override and isolate controls (they reorder what
# a person sees), the left-to-right, right-to-left and Arabic letter marks, interlinear anchors, Unicode tags, and
# surrogates. Zero-width joiner and non-joiner stay: they spell words in Persian and in Indic scripts.
_DROPPED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_SPACES = re.compile(r"\s+")


def clean_text(text: str) -> str:
    """One line of text: NFC, no control, bidi-control, zero-width or soft-hyphen characters, white space folded to single
    spaces and cut at both ends. Letters of every script stay in the order given.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    return unicodedata.normalize("NFC", _SPACES.sub(" ", _DROPPED.sub("", text)).strip())
