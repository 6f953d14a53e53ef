"""The part of a page that speaks of a question: lines and word weights in, a window of lines out. No model."""

from collections.abc import Mapping, Sequence

from pageindex_local.query.analyse import Question
from pageindex_local.query.citations import make_inert, quote_words
from pageindex_local.query.evidence import Evidence


def word_weights(question: Question, evidence: Evidence | None) -> dict[str, float]:
    """What each word of the question is worth, by stem: its weight times its rarity in the document."""
    weights: dict[str, float] = {}
    for word in question.words:
        worth = word.weight * (1.0 if evidence is None else evidence.matched.get(word.word, 0.0) + 0.1)
        for stem in quote_words(word.word):
            weights[stem] = max(worth, weights.get(stem, 0.0))
    return weights


def weigh_text(text: str, weights: Mapping[str, float]) -> float:
    """The worth of the different question words in a text."""
    here = set(quote_words(text))
    return sum(worth for word, worth in weights.items() if word in here)  # in one order: sums of floats depend on it


def choose_window(lines: Sequence[tuple[int, str]], weights: Mapping[str, float], size_words: int) -> tuple[int, int]:
    """The run of lines of about `size_words` words with the most question words: places in `lines`, half open.

    Among equal runs the first. Words are counted once each, repeats a little.
    """
    sizes = [len(text.split()) for _, text in lines]
    worths = [{word: weights[word] for word in quote_words(text) if word in weights} for _, text in lines]
    best, best_worth = (0, 0), -1.0
    end = total = 0
    counts: dict[str, int] = {}
    for start in range(len(lines)):
        while end < len(lines) and (total < size_words or end <= start):
            total += sizes[end]
            for word in worths[end]:
                counts[word] = counts.get(word, 0) + 1
            end += 1
        worth = sum(weights[word] * (1 + 0.2 * min(count - 1, 3)) for word, count in counts.items() if count)
        if worth > best_worth + 1e-9:
            best, best_worth = (start, end), worth
        if end == len(lines):
            break
        total -= sizes[start]
        for word in worths[start]:
            counts[word] -= 1
    return best


def excerpt(lines: Sequence[tuple[int, str]], weights: Mapping[str, float], size_words: int) -> str:
    """The text of the best window, inert, on one line."""
    start, end = choose_window(lines, weights, size_words)
    return " ".join(filter(None, (make_inert(text) for _, text in lines[start:end])))
