"""Where sentences end: running text in, spans out. One rule for summaries, quotes and questions. Knows no section."""

import re

# Closing marks belong to their sentence. Scripts without spaces need none after it.
_END = re.compile(r"""(?:[.!?…]["'”’»)\]]*(?=\s)|[。！？][」』”’）]*)\s*""")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:[^\W\d_]|e\.g|i\.e|cf|vs|etc|al|approx|resp|incl|fig|figs|tab|eq|eqs|sec|secs|ch|chap|vol|no|nos|"
    r"pp?|ed|eds|dr|mr|mrs|ms|prof|st|jr|sr|inc|corp|ltd|co|dept|est|u\.s|u\.k|z\.b|bzw|ca|vgl|nr|abs|art|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = 12  # characters, what stands before it included


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a running text start and end, half open, white space behind them included.

    A sentence ends at a mark that a lower-case letter does not follow; abbreviations and initials end none.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(text):
        mark = end.start()
        if text[end.end() : end.end() + 1].islower() or (text[mark] == "." and _is_abbreviation(text, mark)):
            continue
        spans.append((start, end.end()))
        start = end.end()
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def split_sentences(text: str) -> list[str]:
    """The sentences of running text, one paragraph a line: a line break ends a sentence too."""
    found = (line[start:end].strip() for line in text.split("\n") for start, end in sentence_spans(line))
    return [sentence for sentence in found if sentence]


def _is_abbreviation(text: str, dot: int) -> bool:
    return _ABBREVIATION.search(text[max(dot - _LONGEST_ABBREVIATION, 0) : dot + 1]) is not None
