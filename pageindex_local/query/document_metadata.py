"""What a file says of itself, as far as it helps to choose documents: metadata in; title, versions and years out.

Front matter of Markdown and the properties of PDF files. Reads nothing; knows no question.
"""

import re
from collections.abc import Mapping

from pageindex_local.query.words import split_words

_SHORTEST_TITLE = 2  # words; a question may well hold a single word without meaning a title
_VERSION = re.compile(r"(?:v|version\s*)?\.?(\d{1,9}(?:\.\d{1,9})*)", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?=\D|$)")
_PDF_DATE = re.compile(r"(?:D:)?((?:19|20)\d\d)")


def title_words(metadata: Mapping[str, str]) -> list[str]:
    """The words of the title as indexed; none where a single word or nothing stands there."""
    words = split_words(metadata.get("title", ""))
    return words if len(words) >= _SHORTEST_TITLE else []


def stated_versions(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """The version that the front matter gives, such as `2.4`; of other forms nothing."""
    found = _VERSION.fullmatch(metadata.get("version", "").strip())
    return (found[1],) if found else ()


def stated_years(metadata: Mapping[str, str]) -> tuple[int, ...]:
    """The years that the front matter says the document is of: `year`, otherwise that of `date`."""
    for name in ("year", "date"):
        years = tuple(dict.fromkeys(int(year) for year in _YEAR.findall(metadata.get(name, ""))))
        if years:
            return years
    return ()


def made_years(metadata: Mapping[str, str]) -> tuple[int, ...]:
    """The year that a PDF file was made in: a weak hint, since files are made again and reports come a year later."""
    found = _PDF_DATE.match(metadata.get("creationDate", ""))
    return (int(found[1]),) if found else ()
