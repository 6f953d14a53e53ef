import pytest

from pageindex_local.summary_checks import find_summary_problems, is_looping, tidy_summary

SOURCE = """The Policy Committee of Debian reviews about 1,200 proposals in 2024. Each control file names the package
and its Standards-Version. Maintainers upload signed archives to the queue."""


@pytest.mark.parametrize(
    ("raw", "tidy"),
    [
        ("The fields are listed.", "The fields are listed."),
        ("Here is a summary of the text:\nThe fields are listed.", "The fields are listed."),
        ("Sure! Here is a short summary: The fields are listed.", "The fields are listed."),
        ("Here's a revised version of the text:\n\nThe fields are listed.", "The fields are listed."),
        ("The main point of the input text is that fields are listed.", "Fields are listed."),
        ("Summary: The fields are listed.", "The fields are listed."),
        ("**The fields are listed.**", "The fields are listed."),
        ('"The fields are listed."', "The fields are listed."),
        ("- The fields are listed.", "The fields are listed."),
        ("This section describes the fields of control files.", "The fields of control files."),
        ("The text provides an overview of the fields of control files.", "The fields of control files."),
        ("The fields are listed. They are also", "The fields are listed."),
        ("The fields are listed.\n\nNote that this is", "The fields are listed."),
        ("The fields are", ""),
        ("", ""),
        ("\x1b[31mThe fields\u202e are listed.", "The fields are listed."),
        ("項目を説明する。次の", "項目を説明する。"),
    ],
)
def test_tidy_summary_gives_whole_sentences_on_one_line(raw: str, tidy: str) -> None:
    assert tidy_summary(raw) == tidy


@pytest.mark.parametrize(
    "summary",
    [
        "Maintainers upload signed archives to the queue.",
        "Debian reviews 1200 proposals in 2024.",
        "Control files name the package and its Standards-Version.",
        "The Policy Committee reviews proposals about packages.",
    ],
)
def test_find_problems_in_faithful_summary_finds_none(summary: str) -> None:
    assert find_summary_problems(summary, SOURCE, "Reviews") == []


@pytest.mark.parametrize(
    ("summary", "problem"),
    [
        ("", "it holds no full sentence"),
        ("Reviews proposals.", "it is too short"),
        ("Debian reviews 1,300 proposals in 2024.", "the number 1,300 is not in the text"),
        ("The committee of Ubuntu reviews proposals about packages.", "the name Ubuntu is not in the text"),
        ("The archive uses OpenSSL for signed packages.", "the name OpenSSL is not in the text"),
        ("Kittens enjoy warm sunny places near wide kitchens.", "too few of its words are in the text"),
        (
            "Maintainers upload archives and upload archives and upload archives and upload archives and so on.",
            "it repeats itself",
        ),
        ("Each control file names the package. " * 2, "it repeats itself"),
        (" ".join(["archives are signed and files are named while proposals queue"] * 7) + ".", "it is too long"),
    ],
)
def test_find_problems_names_what_is_wrong(summary: str, problem: str) -> None:
    assert problem in find_summary_problems(summary, SOURCE, "Reviews")


def test_find_problems_title_words_are_known() -> None:
    assert find_summary_problems("The Lintian tool checks signed archives.", SOURCE, "The Lintian tool checks") == []


def test_is_looping_finds_circles() -> None:
    assert is_looping("the same again the same again the same again the same again")
    assert is_looping("no no no no")
    assert not is_looping("one sentence about the archive, and another about the queue of the archive")
