"""The error tree: exit codes, wording, and survival across a process boundary."""

import pickle

import pytest

from pageindex_local import errors
from pageindex_local.errors import PageindexError

ALL_ERRORS = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, PageindexError)]
EXIT_CODES = {"SettingsError": 2, "SourceError": 3, "ModelError": 4, "TreeError": 5, "StoreError": 6, "QueryError": 7}


@pytest.mark.parametrize("kind", ALL_ERRORS, ids=lambda kind: kind.__name__)
def test_pickle_every_error_keeps_its_parts(kind: type[PageindexError]) -> None:
    error = pickle.loads(pickle.dumps(kind("broke", subject="a.pdf", next_step="Mend it.")))
    assert type(error) is kind
    assert (error.problem, error.subject, error.next_step) == ("broke", "a.pdf", "Mend it.")


@pytest.mark.parametrize("kind", ALL_ERRORS, ids=lambda kind: kind.__name__)
def test_exit_code_of_every_error_is_its_family_code(kind: type[PageindexError]) -> None:
    family = next((base.__name__ for base in kind.__mro__ if base.__name__ in EXIT_CODES), None)
    assert kind.exit_code == (EXIT_CODES[family] if family else 1)


def test_str_names_subject_problem_and_next_step() -> None:
    text = str(errors.NoTextError("4 pages without text.", subject="scan.pdf", next_step="Run OCR first."))
    assert text == "scan.pdf: 4 pages without text. Run OCR first."


def test_docstring_draws_every_error() -> None:
    assert errors.__doc__ is not None
    assert not [kind.__name__ for kind in ALL_ERRORS if kind.__name__ not in errors.__doc__]


def test_reading_problem_has_neither_the_name_nor_a_number_of_the_system() -> None:
    missing = errors.reading_problem(FileNotFoundError(2, "No such file or directory", "talk.jsonl"))
    assert missing == "cannot be read (No such file or directory)"
    foreign = errors.reading_problem(UnicodeDecodeError("utf-8", b"ab\xaa", 2, 3, "invalid start byte"))
    assert foreign == "is not UTF-8 text (byte 2)"
