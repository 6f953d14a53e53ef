"""A model that is opened by the first question, behind the completion cache.

Enters: how to open it. Leaves: a `TextModel` with running costs. Recognising that nothing has to be built must not cost
the opening of a model, so `identity` answers without it.
"""

import hashlib
import importlib.metadata
from collections.abc import Callable, Sequence
from pathlib import Path

from pageindex_local.errors import ModelError, ModelFileError
from pageindex_local.ids import hash_parts
from pageindex_local.llm.base import (
    CAPABLE_PARAMETERS,
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
from pageindex_local.llm.cache import CachedModel, CompletionCache
from pageindex_local.llm.models import FAKE_MODEL, describe_entry, find_model, locate_file, open_model
from pageindex_local.records import Usage
from pageindex_local.settings import ModelSettings

_END_BYTES = 1 << 20


class LazyModel:
    """Opens `opener()` once, when first asked; a failed opening is raised again at every later question.

    `identity` names weights, settings and engine as far as they are known without opening anything.
    """

    def __init__(self, opener: Callable[[], TextModel], *, identity: str, cache_file: Path | None = None) -> None:
        self._opener = opener
        self._identity = identity
        self._cache_file = cache_file
        self._model: TextModel | None = None
        self._cached: CachedModel | None = None
        self._error: ModelError | None = None

    @property
    def is_open(self) -> bool:
        """Whether anything has been asked yet."""
        return self._model is not None

    @property
    def usage(self) -> Usage:
        """What was spent since creation. Without a cache file nothing is counted."""
        return Usage() if self._cached is None else self._cached.usage

    def identity(self) -> str:
        """What the model is, without opening it."""
        return self._identity

    def describe(self) -> ModelDescription:
        """As the model behind, which is opened."""
        return self._open().describe()

    def count_tokens(self, text: str) -> int:
        """As the model behind, which is opened."""
        return self._open().count_tokens(text)

    def count_prompt_tokens(self, system: str, user: str) -> int:
        """As the model behind, which is opened."""
        return self._open().count_prompt_tokens(system, user)

    def generate(
        self, requests: Sequence[GenerationRequest], *, on_result: OnGeneration | None = None
    ) -> list[Generation]:
        """As the model behind; no requests open nothing."""
        return self._open().generate(requests, on_result=on_result) if requests else []

    def stream(self, request: GenerationRequest, on_text: OnText) -> Generation:
        """As the model behind, which is opened."""
        return generate_watched(self._open(), request, on_text)

    def score(self, requests: Sequence[ScoreRequest], *, on_result: OnScore | None = None) -> list[Score]:
        """As the model behind; no requests open nothing."""
        return self._open().score(requests, on_result=on_result) if requests else []

    def close(self) -> None:
        """Close the model and the cache, if they were opened. Safe to call twice."""
        if self._model is not None:
            self._model.close()
        self._model = self._cached = None

    def _open(self) -> TextModel:
        if self._error is not None:
            raise self._error
        if self._model is None:
            try:
                model = self._opener()
            except ModelError as error:
                self._error = error
                raise
            if self._cache_file is None:
                self._model = model
            else:
                self._model = self._cached = CachedModel(model, CompletionCache(self._cache_file))
        return self._model


def open_lazily(settings: ModelSettings, cache_file: Path | None = None) -> LazyModel:
    """The model that the settings name, not opened yet.

    Raises:
        SettingsError: no such model.
        ModelFileError: its file is missing.
    """
    return LazyModel(lambda: open_model(settings), identity=model_identity(settings), cache_file=cache_file)


def model_identity(settings: ModelSettings) -> str:
    """Name and a hash of what decides a model's answers: weights, prompting, engine release, window and seed.

    The weights are known by the sha256 of their entry. A file given by path has none: it is known by its size and its
    first and last mebibyte, because reading gigabytes only to find that nothing changed takes longer than the rest.

    Raises:
        SettingsError: no such model.
        ModelFileError: its file is missing.
    """
    parts = [str(settings.context_tokens), str(settings.seed)]
    if settings.name == FAKE_MODEL:
        return f"{FAKE_MODEL} {hash_parts(parts)[:16]}"
    entry = find_model(settings.name)
    if entry.url:
        return f"{entry.name} {hash_parts([entry.url, entry.served_name, *parts])[:16]}"
    weights = entry.sha256 or _ends_sha256(locate_file(entry))
    parts += [weights, entry.convert_to, describe_entry(entry), _engine_release()]
    return f"{entry.name} {hash_parts(parts)[:16]}"


def guess_strength(settings: ModelSettings) -> str:
    """The strength of the model that the settings name, as far as it shows without opening it.

    A file whose entry does not say is judged by its size: half a byte a parameter is as small as weights get.

    Raises:
        SettingsError: no such model.
        ModelFileError: its file is missing.
    """
    if settings.name == FAKE_MODEL:
        return "small"
    entry = find_model(settings.name)
    if entry.strength or entry.url:
        return entry.strength or "capable"
    return "capable" if locate_file(entry).stat().st_size >= CAPABLE_PARAMETERS // 2 else "small"


def _engine_release() -> str:
    try:
        return importlib.metadata.version("llama-cpp-python")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _ends_sha256(file: Path) -> str:
    size = file.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    try:
        with file.open("rb") as stream:
            digest.update(stream.read(_END_BYTES))
            stream.seek(max(0, size - _END_BYTES))
            digest.update(stream.read(_END_BYTES))
    except OSError as error:
        raise ModelFileError(f"cannot be read ({error.strerror})", subject=str(file)) from None
    return digest.hexdigest()
