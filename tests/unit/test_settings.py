"""Settings: one file of defaults, layers on top, errors that name file and key."""

from pathlib import Path

import pytest

from pageindex_local.errors import SettingsError
from pageindex_local.settings import read_settings


def test_read_settings_without_file_gives_the_defaults() -> None:
    settings = read_settings()
    assert settings.tree.strategy == "auto"
    assert settings.summary.mode == "model"


def test_read_settings_layers_file_then_options(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[tree]\nstrategy = "layout"\nmax_depth = 5\n', encoding="utf-8")
    settings = read_settings(file, {"tree": {"strategy": "toc", "max_depth": None}})
    assert (settings.tree.strategy, settings.tree.max_depth) == ("toc", 5)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[tree]\nstrategie = 'auto'\n", "tree.strategie"),
        ("[tree]\nmax_depth = 0\n", "tree.max_depth"),
        ("[trees]\n", "[trees]"),
        ("[tree\n", "is not TOML"),
    ],
)
def test_read_settings_of_a_bad_file_names_file_and_key(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_settings(file)
    assert "bad.toml" in str(caught.value)
    assert named in str(caught.value)


def test_read_settings_of_a_missing_file_says_which(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        read_settings(tmp_path / "nowhere.toml")


def test_read_settings_out_of_range_names_the_file_that_says_so(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[query]\nbeam = 0\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_settings(file, {"query": {"strategy": "auto", "beam": None}})
    assert caught.value.subject == str(file)
    with pytest.raises(SettingsError) as caught:
        read_settings(file, {"query": {"beam": -1}})
    assert caught.value.subject == "options"
