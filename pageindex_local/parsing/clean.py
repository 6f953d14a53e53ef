"""Text as a file gives it in, text that is safe to store and show out.

One rule for every line, title and metadata value. Nothing here knows about pages or fonts.
"""

import re
import unicodedata

# Dropped, because they never belong to the words of a line: C0 and C1 controls (white space among them becomes a space
# first), soft hyphen, zero-width space, word joiner and its invisible relatives, byte order mark, bidi marks,
# embeddings, overrides and isolates (they reorder what a person sees), interlinear anchors, tag characters, surrogates,
# and noncharacters. Zero-width joiner and non-joiner stay: they spell words in Persian and in Indic scripts.
_DROPPED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_VERTICAL = re.compile("[\x0a-\x0d\x1c-\x1f\x85\u2028\u2029]")
# Ligatures and positional letter shapes: the same words as their plain letters, which is what people search for.
_SHAPES = re.compile("[\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufdcf\ufdf0-\ufdfb\ufe70-\ufefc]+")


def clean_text(text: str) -> str:
    """One line of text for storage: NFC, white space folded to single spaces and cut at both ends.

    Control, bidi-control, zero-width, soft-hyphen, tag, surrogate and noncharacter code points are dropped; Latin and
    Armenian ligatures and Hebrew and Arabic presentation forms become plain letters. All else stays in the order given.
    """
    if text.isascii():
        if not text.isprintable():
            text = _DROPPED.sub("", " ".join(text.split()))
        return " ".join(text.split())
    text = _DROPPED.sub("", " ".join(text.split()))
    text = _SHAPES.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)
    return unicodedata.normalize("NFC", " ".join(text.split()))


def clean_verbatim(text: str) -> str:
    """One line as it stands, indentation and inner spaces kept.

    White space at its end and the code points that `clean_text` drops are taken away; tabs stay, other white-space
    controls become spaces.
    """
    text = text.rstrip()
    if text.isascii() and text.isprintable():
        return text
    text = _DROPPED.sub("", _VERTICAL.sub(" ", text))
    return unicodedata.normalize("NFC", text)
