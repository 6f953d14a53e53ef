import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.errors import DamagedSourceError, EncryptedSourceError
from pageindex_local.parsing.page_records import End, Head, PageRecord
from pageindex_local.parsing.wire import (
    Request,
    decode_record,
    decode_request,
    encode_error,
    encode_record,
    encode_request,
)
from pageindex_local.records import Line, MediaType, OutlineEntry, Source
from tests.unit.parsing.pdfs import parse_settings

numbers = st.floats(-1e6, 1e6)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
lines = st.builds(
    Line,
    text=words,
    box=st.tuples(numbers, numbers, numbers, numbers),
    size=numbers,
    font=words,
    bold=st.booleans(),
    italic=st.booleans(),
    block=st.integers(0, 999),
    cells=st.integers(1, 99),
    lead=st.integers(0, 99),
)
pages = st.builds(
    PageRecord,
    page_number=st.integers(1),
    label=words,
    lines=st.lists(lines, max_size=4).map(tuple),
    width=numbers,
    height=numbers,
    characters=st.integers(0),
    garbage=st.integers(0),
    error=words,
)
entries = st.builds(
    OutlineEntry, level=st.integers(1), title=words, page_number=st.integers(0), top=st.none() | numbers
)
ends = st.builds(End, outline=st.lists(entries, max_size=4).map(tuple), warnings=st.lists(words).map(tuple))
heads = st.builds(Head, page_count=st.integers(1), metadata=st.dictionaries(words, words))


@given(pages | ends | heads)
def test_decode_of_an_encoded_record_is_the_record_on_one_line(record: Any) -> None:
    encoded = encode_record(record)
    assert encoded.count(b"\n") == 1
    assert decode_record(encoded) == record


def test_decode_of_an_encoded_request_is_the_request() -> None:
    source = Source("ä/b.pdf", "b-0123456789", "/x/ä/b.pdf", "f" * 64, 3, MediaType.PDF)
    request = Request(source, parse_settings(max_pages=7), "päss\nword")
    assert decode_request(encode_request(request)) == request


def test_decode_of_an_error_raises_its_kind_with_its_sentences() -> None:
    error = EncryptedSourceError("needs a password.", subject="a.pdf", next_step="Give it.")
    with pytest.raises(EncryptedSourceError) as caught:
        decode_record(encode_error(error))
    assert str(caught.value) == str(error)


def test_decode_of_an_unknown_error_kind_is_damaged_and_nothing_else() -> None:
    line = json.dumps(["X", "SystemExit", "said the child", "a.pdf", ""]).encode()
    with pytest.raises(DamagedSourceError):
        decode_record(line)
