"""Every error that a user can meet.

    PageindexError                     exit code
    |- SettingsError                   2   unusable option, configuration file or model entry
    |- SourceError                     3   a document that cannot be read
    |  |- UnsupportedSourceError           not a PDF, Markdown or text file
    |  |- DamagedSourceError               cannot be opened or parsed
    |  |  `- ParserCrashError                 the parser died of it, or of a broken installation
    |  |- EncryptedSourceError             needs a password
    |  |- EmptySourceError                 nothing in it: zero bytes, zero pages
    |  |- NoTextError                      pages, but no text layer: a scan without OCR
    |  `- SourceLimitError                 too large, too slow or too much memory
    |- ModelError                      4   the model or its engine
    |  |- EngineUnavailableError           llama-cpp-python is missing or dies on this processor
    |  |- ModelFileError                   GGUF missing, unreadable or not the one its entry names
    |  |- PromptTooLongError               does not fit the context window
    |  `- ModelOutputError                 no usable output after the last try
    |- TreeError                       5   a tree that breaks an invariant, a chunk that never arrived
    |- StoreError                      6   the index
    |  |- IndexNotFoundError               no index, collection, document, version or release there
    |  |- CorruptIndexError                hash or structure does not match
    |  |- ConflictError                    somebody else published first, or holds the lock
    |  `- FormatVersionError               written by a newer format
    `- QueryError                      7   a question that cannot be run

Each says what happened, to which document or file, with which numbers, and what to do. All of them survive pickling,
because some cross a process boundary.
"""


class PageindexError(Exception):
    """Base of all errors. `problem` is one sentence; `subject` the document or file; `next_step` what to do."""

    exit_code = 1

    def __init__(self, problem: str, *, subject: str = "", next_step: str = "") -> None:
        super().__init__(problem, subject, next_step)
        self.problem = problem
        self.subject = subject
        self.next_step = next_step

    def __str__(self) -> str:
        text = f"{self.subject}: {self.problem}" if self.subject else self.problem
        return f"{text} {self.next_step}" if self.next_step else text

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.subject, self.next_step)


def reading_problem(error: OSError | UnicodeDecodeError) -> str:
    """Why a file could not be read, as a `problem` that neither repeats its name nor shows Python's own words."""
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 text (byte {error.start:,})"
    return f"cannot be read ({error.strerror or type(error).__name__})"


def _rebuild(kind: type[PageindexError], problem: str, subject: str, next_step: str) -> PageindexError:
    return kind(problem, subject=subject, next_step=next_step)


class SettingsError(PageindexError):
    """An option, a configuration file or a model entry that cannot be used."""

    exit_code = 2


class SourceError(PageindexError):
    """A document that cannot be read. Other documents are still built."""

    exit_code = 3


class UnsupportedSourceError(SourceError):
    """The content is neither PDF nor Markdown nor text."""


class DamagedSourceError(SourceError):
    """The file cannot be opened or parsed."""


class ParserCrashError(DamagedSourceError):
    """The parser died: of the file, or of the installation."""


class EncryptedSourceError(SourceError):
    """The file needs a password, or the one given is wrong."""


class EmptySourceError(SourceError):
    """The file has no bytes or no pages."""


class NoTextError(SourceError):
    """The file has pages but no text: a scan without OCR."""


class SourceLimitError(SourceError):
    """The file is larger, slower or hungrier than the settings allow."""


class ModelError(PageindexError):
    """The model or its engine."""

    exit_code = 4


class EngineUnavailableError(ModelError):
    """The engine is not installed, or its native code does not run on this processor."""


class ModelFileError(ModelError):
    """The GGUF file is missing, unreadable or not the one that its entry names."""


class PromptTooLongError(ModelError):
    """A prompt and its answer do not fit the context window."""


class ModelOutputError(ModelError):
    """No usable output after the last try."""


class TreeError(PageindexError):
    """A tree that breaks an invariant, or a part of it that never arrived."""

    exit_code = 5


class StoreError(PageindexError):
    """The index cannot be read or written."""

    exit_code = 6


class IndexNotFoundError(StoreError):
    """No index, collection, document, version or release of that name."""


class CorruptIndexError(StoreError):
    """A file of the index is missing, or is not what its manifest says."""


class ConflictError(StoreError):
    """Somebody else published first, or holds the lock."""


class FormatVersionError(StoreError):
    """The index was written by a newer format than this program knows."""


class QueryError(PageindexError):
    """A question that cannot be run."""

    exit_code = 7
