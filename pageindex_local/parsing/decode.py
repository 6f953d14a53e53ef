"""Bytes of a text file in, text with plain line ends out, and a warning where bytes had to be guessed or replaced."""

import codecs

from charset_normalizer import from_bytes

from pageindex_local.errors import UnsupportedSourceError

_SAMPLE_BYTES = 200_000  # enough to tell an encoding, and quick
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_text(data: bytes, doc_id: str) -> tuple[str, tuple[str, ...]]:
    """The text, and warnings.

    The byte order mark decides, else UTF-8 where it fits, else the likeliest encoding of a sample.

    Raises:
        UnsupportedSourceError: no encoding fits.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _replaced(data[len(mark) :], encoding)
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError as error:
        # A stray byte in megabytes of UTF-8 is damage, not another encoding.
        if error.start > 1_000 and data.count(b"\xc3") + data.count(b"\xe2") > 20:
            return _replaced(data, "utf-8")
    best = from_bytes(data[:_SAMPLE_BYTES]).best()
    if best is None:
        raise UnsupportedSourceError(
            "is in no known text encoding.", subject=doc_id, next_step="Save it as UTF-8, or leave it out."
        )
    text, warnings = _replaced(data, best.encoding)
    return text, (f"The text is not UTF-8; it was read as {best.encoding.replace('_', '-')}.", *warnings)


def _replaced(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    text = data.decode(encoding, "replace")
    count = text.count("\ufffd")
    if count and data.count("\ufffd".encode(encoding, "ignore") or b"\0\0\0") < count:
        return text, (f"{count} characters cannot be read as {encoding} and were replaced.",)
    return text, ()
