"""Sentences of a section, ranked: text in, its own sentences out, best or fitting a budget. Calls no model.

Used for what a prompt reads of a long section, for summaries where no model writes them, and for grounded titles.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from pageindex_local.sentences import split_sentences

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,]\d+)*")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")  # scripts written without spaces
_PARAGRAPH = re.compile(r"\n\s*\n")
_LINE_HYPHEN = re.compile(r"(?<=[^\W\d_]{2})[-\u2010\u00ad]\n\s*(?=[^\W\d_])")
_SPACES = re.compile(r"\s+")
_FUNCTION_WORDS = frozenset(
    _SPACES.split(
        "about above after again against also although among another because been before being below between both "
        "cannot could does doing down during each either else even ever every from further have having here hers "
        "however into itself just less like made make many more most much must neither never nevertheless none often "
        "once only other others otherwise over same shall should since some such than that their them then there "
        "therefore these they this those though through thus under unless until upon used uses using very well were "
        "what when where whether which while will with within without would your yours"
    )
)
# A sentence that begins so leans on the one before it, or on a figure, and says little alone.
_LEANING = re.compile(
    r"(?:\(|(?:this|these|those|it|they|however|therefore|thus|hence|also|then|otherwise|instead|moreover|furthermore|"
    r"for example|for instance|in this case|in that case|in these cases|in addition|note that|see|to do this|such)\b)",
    re.IGNORECASE,
)
_STEM_LETTERS = 6
_LIST_MARKS = "•·◦▪‣■□●○*-–—"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a section, on one line; `position` counts from 0, `score` is its worth as a summary."""

    text: str
    position: int
    score: float = 0.0


def unwrap_lines(text: str) -> str:
    """Printed lines as running text: words divided at line ends joined, one line a paragraph (blank lines divide)."""
    paragraphs = (_LINE_HYPHEN.sub("", part) for part in _PARAGRAPH.split(text))
    return "\n".join(line for line in (_SPACES.sub(" ", part).strip() for part in paragraphs) if line)


def content_words(text: str) -> list[str]:
    """What a text is about, as comparable stems: words of four letters and more without function words, and numbers.

    Stems are the first letters without a plural `s`: `package` and `packages` are one. Scripts without spaces give
    pairs of characters.
    """
    stems: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if _UNSPACED.search(word):
            stems.extend(word[index : index + 2] for index in range(max(len(word) - 1, 1)))
        elif word[0].isdigit() or (len(word) >= 4 and word not in _FUNCTION_WORDS):
            stems.append(_stem(word))
    return stems


def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    if len(word) > 4 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:_STEM_LETTERS]


def count_words(text: str) -> int:
    """Words as people count them; two characters of a script without spaces count as one word."""
    return len(_WORD.findall(_UNSPACED.sub("", text))) + len(_UNSPACED.findall(text)) // 2


def rank_sentences(text: str, title: str) -> list[Sentence]:
    """The sentences of a section in reading order with scores from 0 to about 1.

    A sentence is worth more the more of the section's frequent words it holds for its length (centrality), the more of
    the title's, and the earlier it stands. Fragments, tables and code are worth little. Linear in the text.

    Source: centroid scoring of extractive summarisation (Radev et al. 2004), with position and title as extra features;
    weights chosen by reading summaries of manuals and filings.
    """
    sentences = split_sentences(unwrap_lines(text))
    stems = [content_words(sentence) for sentence in sentences]
    counts = Counter(stem for words in stems for stem in set(words))
    heaviest = max(counts.values(), default=1)
    title_stems = set(content_words(title))
    ranked: list[Sentence] = []
    for position, (sentence, words) in enumerate(zip(sentences, stems, strict=True)):
        distinct = set(words)
        central = sum(sqrt(counts[stem] / heaviest) for stem in distinct) / (len(distinct) + 3) if distinct else 0.0
        titled = len(title_stems & distinct) / len(title_stems) if title_stems else 0.0
        early = 1.0 / (1.0 + 0.2 * position)
        score = (0.45 * central + 0.25 * titled + 0.30 * early) * _prose_share(sentence)
        ranked.append(Sentence(sentence, position, score))
    return ranked


def choose_sentences(sentences: Sequence[Sentence], budget: int, measure: Callable[[str], int]) -> list[str]:
    """The best sentences that fit the budget together, in reading order.

    `measure` gives the size of one sentence. Sentences that repeat the words of a chosen one are passed over.
    """
    chosen: list[Sentence] = []
    seen: set[str] = set()
    left = budget
    misses = 0
    for sentence in sorted(sentences, key=lambda item: (-item.score, item.position)):
        words = set(content_words(sentence.text))
        if words and len(words - seen) * 3 < len(words):
            continue
        size = measure(sentence.text)
        if size > left:
            misses += 1
            if misses >= 3:
                break
            continue
        chosen.append(sentence)
        seen |= words
        left -= size
    return [sentence.text for sentence in sorted(chosen, key=lambda item: item.position)]


def best_sentence(text: str, title: str, max_words: int = 45) -> str:
    """The one sentence that says best what a section is about, cut at `max_words`; empty for a text without words."""
    ranked = rank_sentences(text, title)
    best = max(ranked, key=lambda item: (item.score, -item.position), default=None)
    return "" if best is None or not count_words(best.text) else cut_to_words(best.text, max_words)


def cut_to_words(text: str, max_words: int) -> str:
    """At most so many words of one line of text, with an ellipsis where something was cut."""
    words = text.split(" ")
    if len(words) > max_words:
        text = " ".join(words[:max_words]).rstrip(" ,;:-–") + "…"
    limit = 8 * max_words  # also bounds scripts without spaces and overlong tokens
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _prose_share(sentence: str) -> float:
    """From 1 for a plain sentence down to 0.02 for fragments, rows of numbers, code and contents lines."""
    words = count_words(sentence)
    letters = sum(map(str.isalpha, sentence))
    visible = sum(not character.isspace() for character in sentence)
    share = letters / visible if visible else 0.0
    worth = 1.0 if share >= 0.8 else max(0.1, (share - 0.4) / 0.4)
    if words < 6:
        worth *= 0.3
    elif words > 50:
        worth *= 0.5
    if not sentence.endswith((".", "!", "?", "。", "！", "？", "”", "’", '"', ")", "»")):
        worth *= 0.5
    if _LEANING.match(sentence):
        worth *= 0.7
    if ". . ." in sentence or "....." in sentence or sentence[0] in _LIST_MARKS:
        worth *= 0.4
    return max(worth, 0.02)
