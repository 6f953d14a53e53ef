import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.sentences import sentence_spans, split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("See Fig. 3 for it. Then go on.", ["See Fig. 3 for it.", "Then go on."]),
        ("Use e.g. Debian here. Done.", ["Use e.g. Debian here.", "Done."]),
        ("It costs 3.50 euros. Cheap.", ["It costs 3.50 euros.", "Cheap."]),
        ("He said “stop.” She did.", ["He said “stop.”", "She did."]),
        ("It was paid on Sept. 30, 2022. Then it ended.", ["It was paid on Sept. 30, 2022.", "Then it ended."]),
        ("The file a.out is run. by hand", ["The file a.out is run. by hand"]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
        ("no end", ["no end"]),
        ("", []),
        ("A line\nanother", ["A line", "another"]),
    ],
)
def test_split_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It costs 4.5 crowns. Pay at once.", 2),
        ("See Fig. 3 and No. 7 for details. Then go on.", 2),
        ("Acme Inc. Holdings pays J. Smith. He lives in the U.S. Army base.", 2),
        ("Is it so? Yes! (It is.) Done.", 4),
        ("It stands in. /etc/opt is its name.", 2),
    ],
)
def test_split_sentences_knows_abbreviations(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@given(st.text(alphabet='abC .?!"”)。', max_size=60))
def test_sentence_spans_tile_the_text(text: str) -> None:
    spans = sentence_spans(text)
    ends = [0, *(end for _, end in spans)]
    assert [start for start, _ in spans] == ends[:-1]
    assert not text[ends[-1] :].strip()
