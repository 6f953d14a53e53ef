from pathlib import Path

import pytest

from pageindex_local.errors import ModelFileError
from pageindex_local.llm.base import GenerationRequest, TextModel
from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import LazyModel, model_identity, open_lazily
from pageindex_local.settings import ModelSettings, read_settings

REQUEST = GenerationRequest(user="The tide is high at noon. The boats leave.", max_tokens=20)


class Opener:
    """Counts how often it is asked for a model."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> TextModel:
        self.count += 1
        return ExtractiveModel(context_tokens=2_048)


def settings_for(name: str, **changes: int) -> ModelSettings:
    return read_settings(None, {"model": {"name": name, **changes}}).model


def test_model_is_opened_by_the_first_question_and_once() -> None:
    opener = Opener()
    model = LazyModel(opener, identity="x")
    assert (model.identity(), model.generate([]), model.score([]), model.is_open) == ("x", [], [], False)
    model.generate([REQUEST])
    model.count_tokens("tide")
    assert opener.count == 1


def test_usage_counts_calls_and_cached_calls(tmp_path: Path) -> None:
    cache = tmp_path / "completions.sqlite"
    first = LazyModel(Opener(), identity="x", cache_file=cache)
    first.generate([REQUEST])
    first.close()
    second = LazyModel(Opener(), identity="x", cache_file=cache)
    second.generate([REQUEST])
    assert (first.usage.model_calls, first.usage.cached_calls) == (0, 0)  # counts go with the closed model
    assert (second.usage.model_calls, second.usage.cached_calls) == (0, 1)
    second.close()


def test_failed_opening_is_not_tried_again() -> None:
    tries = []

    def refuse() -> TextModel:
        tries.append(1)
        raise ModelFileError("is gone", subject="a.gguf")

    model = LazyModel(refuse, identity="x")
    for _ in range(2):
        with pytest.raises(ModelFileError, match="is gone"):
            model.count_tokens("tide")
    assert len(tries) == 1


def test_identity_changes_with_window_and_seed() -> None:
    names = [
        model_identity(settings_for("fake")),
        model_identity(settings_for("fake", context_tokens=1_024)),
        model_identity(settings_for("fake", seed=99)),
    ]
    assert len(set(names)) == 3


def test_identity_of_file_changes_with_its_content_and_not_with_its_place(tmp_path: Path) -> None:
    first, copy, other = tmp_path / "one.gguf", tmp_path / "sub" / "one.gguf", tmp_path / "other" / "one.gguf"
    for path, data in ((first, b"GGUF" + b"a" * 100), (copy, b"GGUF" + b"a" * 100), (other, b"GGUF" + b"b" * 100)):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    same, again, different = (model_identity(settings_for(str(path))) for path in (first, copy, other))
    assert same == again
    assert same != different


def test_open_lazily_names_a_missing_file_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        open_lazily(settings_for(str(tmp_path / "nothing.gguf")))
