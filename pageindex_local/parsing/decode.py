"""Bytes of a text file in, text with plain line ends out, and a warning where bytes had to be guessed or replaced."""

import codecs
import contextlib
import unicodedata

from charset_normalizer import from_bytes

from pageindex_local.errors import UnsupportedSourceError
from pageindex_local.parsing.charsets import guess_charset
from pageindex_local.wording.plain import plural

_SAMPLE_BYTES = 200_000  # enough to tell an encoding, and quick
_FITS = 0.7  # of a language: below, the bytes are read as letters by chance
_ZERO_SHARE = 0.02  # one character of 25 is a space or a line end
_JAPANESE = ("cp932", "euc_jp")
_KANA_SHARE = 0.2
_SOUND_SHARE = 3  # sound characters for each broken one: by chance it is one of five at most
_CONTROL_SHARE = 0.25  # of the bytes of UTF-16 that happen to be ASCII
_NO_TEXT = ("Cc", "Cn", "Co", "Cs")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_text(data: bytes, doc_id: str) -> tuple[str, tuple[str, ...]]:
    """The text, and warnings.

    The byte order mark decides, else zero bytes (UTF-16), else UTF-8 where it fits, else the likeliest encoding of a
    sample.

    Raises:
        UnsupportedSourceError: no encoding fits.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _replaced(data[len(mark) :], encoding)
    wide = find_wide_encoding(data)
    if wide:
        text, warnings = _replaced(data, wide)
        return text, (f"The text is not UTF-8; it was read as {wide}.", *warnings)
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("utf-8"), ()
    if _is_damaged_utf8(data):
        return _replaced(data, "utf-8")
    encoding = _likeliest_encoding(data[:_SAMPLE_BYTES])
    if not encoding:
        raise UnsupportedSourceError(
            "is in no known text encoding.", subject=doc_id, next_step="Save it as UTF-8, or leave it out."
        )
    text, warnings = _replaced(data, encoding)
    return text, (f"The text is not UTF-8; it was read as {encoding.replace('_', '-')}.", *warnings)


def find_wide_encoding(data: bytes) -> str:
    """UTF-16 without a mark, known by the zero bytes of its spaces and line ends; other texts have none. Else empty.

    `data` is a text or its beginning.
    """
    zeros = data[::2].count(0), data[1::2].count(0)
    if not data or sum(zeros) < _ZERO_SHARE * len(data):
        return ""
    as_utf8 = _decode_beginning(data, "utf-8")
    if as_utf8 is not None and (not as_utf8.isascii() or _control_share(as_utf8) < _CONTROL_SHARE):
        return ""  # with stray zeros
    encoding = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    text = _decode_beginning(data, encoding)
    return "" if text is None or _control_share(text) else encoding


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether most of what is beyond ASCII is UTF-8: in another encoding bytes rarely follow each other so."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return sum(char > "\x7f" for char in text) - broken >= _SOUND_SHARE * broken


def _decode_beginning(data: bytes, encoding: str) -> str | None:
    """A text that may end within a character; None where the encoding does not fit."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError:
        return None


def _control_share(text: str) -> float:
    """The share of characters that no text has: control, unassigned, private and half ones."""
    strange = sum(unicodedata.category(char) in _NO_TEXT and not char.isspace() for char in text)
    return strange / max(len(text), 1)


def _likeliest_encoding(sample: bytes) -> str:
    """One byte a character where a language explains the text, Japanese by its syllables, the rest by statistics.

    Empty where nothing fits.
    """
    encoding, fit = guess_charset(sample)
    if fit >= _FITS:
        return encoding
    if japanese := next(filter(lambda name: _is_japanese(sample, name), _JAPANESE), None):
        return japanese
    best = from_bytes(sample, cp_exclusion=["utf_16", "utf_16_be", "utf_16_le", "utf_32"]).best()
    return "" if best is None else best.encoding


def _is_japanese(sample: bytes, encoding: str) -> bool:
    """Whether a sample read so has the syllables without which nobody writes Japanese."""
    wide = [char for char in _decode_beginning(sample, encoding) or "" if char > "\x7f"]
    return bool(wide) and sum("\u3041" <= char <= "\u30ff" for char in wide) >= _KANA_SHARE * len(wide)


def _replaced(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = data.decode(encoding, "replace")
    count = text.count("\ufffd")
    verb = "was" if count == 1 else "were"
    if count and data.count("\ufffd".encode(encoding, "ignore") or b"\0\0\0") < count:
        return text, (f"{plural(count, 'character')} could not be read as {encoding} and {verb} replaced.",)
    return text, ()
