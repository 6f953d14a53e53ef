import pytest

from pageindex_local.tree.titles import MAX_TITLE_CHARS, clean_title, grounded_title, is_clean_title, split_title


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("Plain", "Plain"),
        ("two\nlines\r\nhere", "two lines here"),
        ("\x1b[1;31mRed\x1b[0m", "Red"),
        ("\x1b]8;;https://example.org\x07link\x1b]8;;\x07", "link"),
        ("\x9b31mC1", "C1"),
        ("a\u202eb\u2066c\u2069d", "abcd"),
        ("tab\tand\u00a0space\u2028line", "tab and space line"),
        ("soft\u00adhyphen\u200b", "softhyphen"),
        ("\x11Control", "Control"),
        ("日本語の見出し", "日本語の見出し"),
        ("עברית", "עברית"),
        ("می‌خواهم", "می‌خواهم"),  # the joiner is part of the word
        ("Größe & Maß", "Größe & Maß"),
        ("\ud800lone surrogate", "lone surrogate"),
        ("", ""),
    ],
)
def test_clean_title_gives_one_plain_line(raw: str, clean: str) -> None:
    assert clean_title(raw) == clean


def test_clean_title_bounds_length_at_a_word() -> None:
    title = clean_title("word " * 200)
    assert len(title) <= MAX_TITLE_CHARS
    assert title.endswith("word…")


def test_clean_title_is_stable() -> None:
    title = clean_title("x" * 500 + " \x1b[2J y")
    assert clean_title(title) == title
    assert is_clean_title(title)


def test_is_clean_title_rejects_empty_and_dirty() -> None:
    assert not is_clean_title("")
    assert not is_clean_title(" padded")
    assert not is_clean_title("a\nb")


def test_grounded_title_takes_the_first_clause() -> None:
    assert grounded_title("The harbour was closed. Nobody knew why it happened.") == "The harbour was closed"


def test_grounded_title_of_text_without_words_is_empty() -> None:
    assert grounded_title("--- *** 。") == ""


@pytest.mark.parametrize(
    ("title", "number", "rest"),
    [
        ("3 Cats", "3", "Cats"),
        ("3.1.4. Length", "3.1.4.", "Length"),
        ("Appendix A.2 Tools", "Appendix A.2", "Tools"),
        ("Appendix B: Tools", "Appendix B:", "Tools"),
        ("IV. Dogs", "IV.", "Dogs"),
        ("A.1 Fur", "A.1", "Fur"),
        ("A storm", "", "A storm"),
        ("I am born", "", "I am born"),
        ("Mix and match", "", "Mix and match"),
        ("3D printing", "", "3D printing"),
        ("42", "", "42"),
    ],
)
def test_split_title_takes_only_certain_numbers(title: str, number: str, rest: str) -> None:
    assert split_title(title) == (number, rest)
