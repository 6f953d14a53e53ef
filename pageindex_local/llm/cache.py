"""The completion cache: requests in, stored generations and scores out; what is missing is asked of the model once.

Content-addressed and append-only, one SQLite file, safe for several processes. The model is not assumed deterministic:
the first answer stored is the answer from then on, also for another process that computed its own meanwhile.
"""

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from pageindex_local.errors import StoreError
from pageindex_local.ids import hash_parts
from pageindex_local.llm.base import (
    Generation,
    GenerationRequest,
    ModelDescription,
    OnGeneration,
    OnScore,
    OnText,
    Score,
    ScoreRequest,
    TextModel,
    generate_watched,
)
from pageindex_local.records import Usage

FORMAT = 1
_BUSY_TIMEOUT_S = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS generations (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, finish_reason TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (
    key TEXT PRIMARY KEY, mean_log_probability REAL NOT NULL, input_tokens INTEGER NOT NULL) WITHOUT ROWID;
"""
_LOG = logging.getLogger(__name__)
_Request = TypeVar("_Request")
_Result = TypeVar("_Result", Generation, Score)
_Value = TypeVar("_Value")


def generation_key(request: GenerationRequest, description: ModelDescription) -> str:
    """Key of a completion: everything that decides it. `purpose` is a label and does not.

    The chat template and the way it is filled are part of the fingerprint, so system and user text stand for the
    rendered prompt.
    """
    grammar = ["grammar", request.grammar] if request.grammar is not None else ["free"]
    sampling = [description.sampling, str(request.attempt), str(request.max_tokens)]
    prompt = [request.system, request.user]
    return hash_parts([description.fingerprint, *sampling, *prompt, *grammar, "stop", *request.stop])


def score_key(request: ScoreRequest, description: ModelDescription) -> str:
    """Key of a score."""
    return hash_parts([description.fingerprint, "score", request.prefix, request.continuation])


class CompletionCache:
    """Stored answers in one SQLite file (WAL). Every `put` is its own committed transaction.

    A file that is damaged or of another format is renamed to `<name>.set-aside-<n>` and an empty one takes its place:
    the cache only saves work.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._open_or_replace()
        except OSError as error:
            raise self._unusable(error.strerror or type(error).__name__) from None

    def get_generation(self, key: str) -> Generation | None:
        """The stored generation, marked `cached`, or None."""
        row = self._run(
            lambda: self._connection.execute(
                "SELECT text, finish_reason, input_tokens, output_tokens FROM generations WHERE key = ?", (key,)
            ).fetchone()
        )
        return Generation(row[0], row[1], row[2], row[3], cached=True) if row else None

    def put_generation(self, key: str, value: Generation) -> Generation:
        """Store a generation; what is returned is the stored one (another process may have been first)."""
        row = (key, value.text, value.finish_reason, value.input_tokens, value.output_tokens)
        return (
            value
            if self._insert("INSERT OR IGNORE INTO generations VALUES (?, ?, ?, ?, ?)", row)
            else (self.get_generation(key) or value)
        )

    def get_score(self, key: str) -> Score | None:
        """The stored score, marked `cached`, or None."""
        row = self._run(
            lambda: self._connection.execute(
                "SELECT mean_log_probability, input_tokens FROM scores WHERE key = ?", (key,)
            ).fetchone()
        )
        return Score(row[0], row[1], cached=True) if row else None

    def put_score(self, key: str, value: Score) -> Score:
        """Store a score; what is returned is the stored one."""
        row = (key, value.mean_log_probability, value.input_tokens)
        return (
            value
            if self._insert("INSERT OR IGNORE INTO scores VALUES (?, ?, ?)", row)
            else (self.get_score(key) or value)
        )

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        with self._lock:
            self._connection.close()

    def _insert(self, statement: str, row: tuple[str | int | float, ...]) -> bool:
        return self._run(lambda: self._connection.execute(statement, row).rowcount > 0)

    def _run(self, work: Callable[[], _Value]) -> _Value:
        with self._lock:
            try:
                return work()
            except sqlite3.OperationalError as error:
                raise self._unusable(error) from None
            except sqlite3.DatabaseError as error:
                _LOG.warning("%s: damaged (%s); continuing with an empty cache", self.path, error)
                self._connection.close()
                self._connection = self._open_or_replace()
                return work()

    def _open_or_replace(self) -> sqlite3.Connection:
        with FileLock(f"{self.path}.lock", timeout=_BUSY_TIMEOUT_S):
            try:
                return self._open()
            except sqlite3.OperationalError as error:
                raise self._unusable(error) from None
            except sqlite3.DatabaseError as error:
                aside = self._set_aside()
                _LOG.warning("%s: unusable (%s); set aside as %s", self.path, error, aside.name)
                return self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "PRAGMA synchronous = NORMAL"
            )  # survives a killed process; a power cut may lose the last
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, FORMAT):
                raise sqlite3.DatabaseError(f"cache format {version}, this program writes {FORMAT}")
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("failed its integrity check")
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _set_aside(self) -> Path:
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.set-aside-{number}")).exists():
            number += 1
        self.path.rename(aside)
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).unlink()
        return aside

    def _unusable(self, reason: object) -> StoreError:
        return StoreError(
            f"the completion cache cannot be used ({reason})",
            subject=str(self.path),
            next_step="Check free disk space and permissions; the file may be deleted when no build is running.",
        )


class CachedModel:
    """A model behind a completion cache.

    Each result is stored the moment the engine hands it over, so a killed process loses at most the requests under way.
    Equal requests within one call are computed once. `usage` counts since creation: answers from the cache and repeats
    count as `cached_calls` and cost nothing else; a score counts as a model call with no output.
    """

    def __init__(self, model: TextModel, cache: CompletionCache) -> None:
        self._model = model
        self._cache = cache
        self.usage = Usage()

    def describe(self) -> ModelDescription:
        """As the model behind."""
        return self._model.describe()

    def count_tokens(self, text: str) -> int:
        """As the model behind."""
        return self._model.count_tokens(text)

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """As the model behind."""
        return self._model.count_prompt_tokens(system, user)

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """One generation a request, from the cache where it is there.

        Raises:
            PromptTooLongError: as the model behind.
            ModelError: as the model behind.
            StoreError: the cache cannot be read or written.
        """
        description = self._model.describe()
        return self._through_cache(
            requests,
            [generation_key(request, description) for request in requests],
            get=self._cache.get_generation,
            put=self._cache.put_generation,
            ask=lambda missing, keep: self._model.generate(missing, on_result=keep),
            on_result=on_result,
        )

    def stream(self, request: GenerationRequest, on_text: OnText) -> Generation:
        """One generation, told as the model behind writes it; a stored one is told at once.

        Raises:
            PromptTooLongError: as the model behind.
            ModelError: as the model behind.
            StoreError: the cache cannot be read or written.
        """

        def ask(missing: Sequence[GenerationRequest], keep: OnGeneration) -> list[Generation]:
            generation = generate_watched(self._model, missing[0], on_text)
            keep(0, generation)
            return [generation]

        (result,) = self._through_cache(
            [request],
            [generation_key(request, self._model.describe())],
            get=self._cache.get_generation,
            put=self._cache.put_generation,
            ask=ask,
            on_result=None,
        )
        if result.cached:
            on_text(result.text)
        return result

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """One score a request, from the cache where it is there.

        Raises:
            PromptTooLongError: as the model behind.
            ModelError: as the model behind.
            StoreError: the cache cannot be read or written.
        """
        description = self._model.describe()
        return self._through_cache(
            requests,
            [score_key(request, description) for request in requests],
            get=self._cache.get_score,
            put=self._cache.put_score,
            ask=lambda missing, keep: self._model.score(missing, on_result=keep),
            on_result=on_result,
        )

    def close(self) -> None:
        """Close the model and the cache."""
        self._model.close()
        self._cache.close()

    def _through_cache(
        self,
        requests: Sequence[_Request],
        keys: Sequence[str],
        *,
        get: Callable[[str], _Result | None],
        put: Callable[[str, _Result], _Result],
        ask: Callable[[Sequence[_Request], Callable[[int, _Result], None]], list[_Result]],
        on_result: Callable[[int, _Result], None] | None,
    ) -> list[_Result]:
        places: dict[str, list[int]] = {}
        for index, key in enumerate(keys):
            places.setdefault(key, []).append(index)
        found: dict[int, _Result] = {}

        def settle(key: str, result: _Result, *, fresh: bool) -> None:
            for index in places[key]:
                found[index] = result if fresh else _as_cached(result)
                fresh = False
                if on_result is not None:
                    on_result(index, found[index])

        missing: list[str] = []
        for key, indices in places.items():
            stored = get(key)
            if stored is None:
                missing.append(key)
                self.usage += Usage(cached_calls=len(indices) - 1)
            else:
                self.usage += Usage(cached_calls=len(indices))
                settle(key, stored, fresh=False)

        def keep(number: int, result: _Result) -> None:
            output_tokens = result.output_tokens if isinstance(result, Generation) else 0
            self.usage += Usage(model_calls=1, input_tokens=result.input_tokens, output_tokens=output_tokens)
            settle(missing[number], put(missing[number], result), fresh=True)

        if missing:
            started = time.perf_counter()
            try:
                ask([requests[places[key][0]] for key in missing], keep)
            finally:
                self.usage += Usage(seconds=time.perf_counter() - started)
        return [found[index] for index in range(len(requests))]


def _as_cached(result: _Result) -> _Result:
    if isinstance(result, Generation):
        return Generation(result.text, result.finish_reason, result.input_tokens, result.output_tokens, cached=True)
    return Score(result.mean_log_probability, result.input_tokens, cached=True)
