"""Settings: TOML in, validated values out. Defaults live in `configs/default.toml` only.

Environment variables are not read here, and no module keeps settings of its own.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pageindex_local.errors import SettingsError

_SOURCE_CONFIGS = Path(__file__).resolve().parent.parent / "configs"
_WHEEL_CONFIGS = Path(__file__).resolve().parent / "configs"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ParseSettings(_Section):
    """Limits of parsing."""

    timeout_s: float = Field(gt=0)
    memory_bytes: int = Field(gt=0)
    max_size_bytes: int = Field(gt=0)
    max_pages: int = Field(gt=0)
    max_characters: int = Field(gt=0)
    respect_permissions: bool
    block_lines: int = Field(gt=0)


class TreeSettings(_Section):
    """How headings become a tree."""

    strategy: Literal["auto", "outline", "toc", "layout", "model"]
    max_pages_per_node: int = Field(gt=0)
    max_tokens_per_node: int = Field(gt=0)
    max_depth: int = Field(ge=1, le=64)
    chunk_tokens: int = Field(gt=0)
    chunk_candidates: int = Field(gt=0, le=200)
    batch_chunks: int = Field(gt=0)
    attempts: int = Field(ge=1, le=5)
    control_questions: bool


class SummarySettings(_Section):
    """How sections are summarised."""

    mode: Literal["model", "extractive", "none"]
    max_input_tokens: int = Field(gt=0)
    max_output_tokens: int = Field(gt=0)
    short_text_words: int = Field(ge=0)
    attempts: int = Field(ge=1, le=5)


class ModelSettings(_Section):
    """Which model, and how it is run."""

    name: str
    context_tokens: int = Field(ge=512)
    threads: int = Field(ge=0)
    parallel_sequences: int = Field(ge=1, le=64)
    seed: int


class QuerySettings(_Section):
    """How questions are searched and answered."""

    max_pages: int = Field(gt=0)
    beam: int = Field(gt=0)
    strategy: Literal["auto", "fulltext", "likelihood", "choice", "fused"]
    vectors: str
    max_nodes: int = Field(gt=0)
    max_covered_pages: int = Field(gt=0)
    max_node_scores: int = Field(ge=0)
    max_score_tokens: int = Field(ge=0)
    max_described_documents: int = Field(ge=0)
    fulltext_weight: float = Field(ge=0, le=1)
    answer_tokens: int = Field(gt=0)
    abstain_below: float = Field(ge=0, le=1)
    notes: str


class StoreSettings(_Section):
    """How the index is kept."""

    lock_timeout_s: float = Field(ge=0)
    allow_network_disk: bool
    keep_releases: int = Field(ge=1)
    lease_s: float = Field(gt=0)
    grace_s: float = Field(ge=0)
    max_bundle_bytes: int = Field(gt=0)
    cache_folder: str = Field(min_length=1)
    cache_bytes: int = Field(ge=0)


class Settings(_Section):
    """All settings of a run."""

    parse: ParseSettings
    tree: TreeSettings
    summary: SummarySettings
    model: ModelSettings
    query: QuerySettings
    store: StoreSettings


def configs_folder() -> Path:
    """The folder of configuration files: beside the sources, or inside the installed package."""
    return _SOURCE_CONFIGS if (_SOURCE_CONFIGS / "default.toml").exists() else _WHEEL_CONFIGS


def read_settings(file: Path | None = None, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """The defaults, then what `file` changes, then `overrides` (section -> key -> value, None values skipped).

    Raises:
        SettingsError: unreadable file, unknown key or a value out of range; names the file and the key.
    """
    values = _read_toml(configs_folder() / "default.toml")
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if file is not None:
        layers.append((str(file), _read_toml(file)))
    if overrides:
        layers.append(("options", overrides))
    for name, layer in layers:
        for section, entries in layer.items():
            if section not in values or not isinstance(entries, Mapping):
                raise SettingsError(
                    f"unknown section [{section}]", subject=name, next_step=f"Known: {', '.join(values)}."
                )
            values[section] |= {key: value for key, value in entries.items() if value is not None}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        section, key = [*map(str, first["loc"]), "", ""][:2]
        subject = next(
            (name for name, layer in reversed(layers) if layer.get(section, {}).get(key) is not None),
            layers[-1][0] if layers else "default.toml",
        )
        raise SettingsError(
            f"{where}: {first['msg']}", subject=subject, next_step="See configs/default.toml for every setting."
        ) from None


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise SettingsError(f"cannot be read ({error.strerror})", subject=str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"is not TOML: {error}", subject=str(file)) from None
