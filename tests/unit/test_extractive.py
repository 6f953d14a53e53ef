import time

from pageindex_local.extractive import (
    best_sentence,
    choose_sentences,
    content_words,
    count_words,
    cut_to_words,
    rank_sentences,
    unwrap_lines,
)

SECTION = """Table 3: 12 45 99 1.3 77

Binary packages are described by a control file that lists the fields of
each package. The weather was fine. A control file names the pack-
age, its version and the packages on which it depends.

x = y; z += 1
"""


def test_unwrap_lines_joins_divided_words_and_keeps_paragraphs() -> None:
    assert unwrap_lines("one pack-\nage and\nmore\n\ntwo  three\n") == "one package and more\ntwo three"


def test_content_words_are_stems_without_function_words() -> None:
    assert content_words("Packages which have a package, 3.10 and the rest") == ["packag", "packag", "3.10", "rest"]


def test_content_words_of_unspaced_script_are_pairs() -> None:
    assert content_words("文書構造") == ["文書", "書構", "構造"]


def test_count_words_counts_scripts_without_spaces() -> None:
    assert count_words("one two") == 2
    assert count_words("文書構造") == 2


def test_rank_sentences_prefers_what_the_section_is_about() -> None:
    ranked = rank_sentences(SECTION, "Control files")
    scores = {sentence.text.split()[0]: sentence.score for sentence in ranked}
    assert list(scores) == ["Table", "Binary", "The", "A", "x"]
    assert min(scores["Binary"], scores["A"]) > max(scores["Table"], scores["The"], scores["x"])
    assert [sentence.position for sentence in ranked] == list(range(len(ranked)))


def test_choose_sentences_keeps_budget_and_order() -> None:
    chosen = choose_sentences(rank_sentences(SECTION, "Control files"), 40, count_words)
    assert sum(map(count_words, chosen)) <= 40
    assert any("names the package" in sentence for sentence in chosen)
    text = unwrap_lines(SECTION)
    places = [text.index(sentence) for sentence in chosen]
    assert places == sorted(places)


def test_choose_sentences_passes_over_repetition() -> None:
    ranked = rank_sentences("Control files list fields. Control files list fields! Dogs bark at cats.", "")
    assert len(choose_sentences(ranked, 100, count_words)) == 2


def test_best_sentence_stands_in_the_text() -> None:
    assert best_sentence(SECTION, "Control files") in unwrap_lines(SECTION)


def test_best_sentence_of_text_without_words_is_empty() -> None:
    assert best_sentence("--- *** ...", "") == ""
    assert best_sentence("", "Title") == ""


def test_cut_to_words_bounds_words_and_characters() -> None:
    assert cut_to_words("one two three", 2) == "one two…"
    assert cut_to_words("one two", 2) == "one two"
    assert len(cut_to_words("文" * 10_000, 10)) == 80


def test_rank_sentences_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        text = " ".join(f"Sentence {index} speaks of harbour number {index % 97}." for index in range(count))
        started = time.process_time()
        rank_sentences(text, "Harbours")
        return time.process_time() - started

    small, large = seconds(2_000), seconds(20_000)
    assert large < 40 * max(small, 0.01)  # ten times the text; quadratic would be a hundred times
