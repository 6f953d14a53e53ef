"""Which model: a name, a path or a local address in; a checked model file, or an opened model, out.

Entries are TOML files in `configs/models`. A file that is not the one its entry names is refused. Engines are imported
only when a model is opened.
"""

import hashlib
import importlib.util
import json
import logging
import os
import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pageindex_local.errors import ModelFileError, SettingsError
from pageindex_local.ids import sha256_hex
from pageindex_local.llm.base import TextModel
from pageindex_local.settings import ModelSettings, configs_folder

FAKE_MODEL = "fake"
_LOG = logging.getLogger(__name__)


class ModelEntry(BaseModel):
    """One model that can be opened: a GGUF file, or a server on this machine.

    `file` is absolute, starts with `~`, is relative to `folder` (where the entry stands), or lies inside the installed
    Python package `package`. `sha256` is empty only for a file given by path, which is then taken as it is.
    `convert_to` is the llama.cpp file type it is converted to once, before it is run. `template_variables` go to the
    chat template; `answer_prefix` is put after it, where a model needs it to answer without thinking first.
    `question_prefix` and `passage_prefix` are what an embedding model was trained to see before each ("query: ").
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    file: str = ""
    package: str = ""
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    url: str = ""
    served_name: str = ""
    licence: str = ""
    context_tokens: int = Field(default=0, ge=0)
    strength: Literal["small", "capable", ""] = ""
    convert_to: str = ""
    template_variables: dict[str, str | bool | int] = {}
    answer_prefix: str = ""
    question_prefix: str = ""
    passage_prefix: str = ""
    folder: Path = Path()

    @model_validator(mode="after")
    def _file_or_url(self) -> Self:
        if bool(self.file) == bool(self.url):
            raise ValueError("an entry names either a file or the url of a server")
        return self


class PreparedModel(BaseModel):
    """A model file that has been checked: `weights` is what is loaded, `sha256` belongs to the file of the entry."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry: ModelEntry
    source: Path
    sha256: str
    weights: Path
    weights_sha256: str
    file_type: str  # of the weights: the entry's `convert_to`, or "as shipped"


def list_models() -> tuple[ModelEntry, ...]:
    """Every entry of `configs/models`, by name.

    Raises:
        SettingsError: an entry that cannot be read.
    """
    entries = [_read_entry(file) for file in sorted((configs_folder() / "models").glob("*.toml"))]
    return tuple(sorted(entries, key=lambda entry: entry.name))


def find_model(name_or_path: str) -> ModelEntry:
    """The entry of that name; or one made for a .gguf file, read from a .toml file, or made for an http address.

    Raises:
        SettingsError: no such entry; names those there are.
        ModelFileError: a path that is not there.
    """
    if name_or_path.startswith(("http://", "https://")):
        return ModelEntry(name=name_or_path, url=name_or_path)
    if name_or_path.endswith((".gguf", ".toml")) or os.sep in name_or_path:
        path = Path(name_or_path).expanduser()
        if not path.is_file():
            raise ModelFileError(
                "no such file",
                subject=name_or_path,
                next_step="Give the path of a GGUF or TOML file, or a name that `models` lists.",
            )
        if path.suffix == ".toml":
            return _read_entry(path)
        return ModelEntry(name=path.stem, file=str(path.resolve()), folder=path.resolve().parent)
    entries = {entry.name: entry for entry in list_models()}
    if name_or_path not in entries:
        known = ", ".join([*entries, FAKE_MODEL])
        raise SettingsError("no model of that name", subject=name_or_path, next_step=f"Known: {known}; or give a path.")
    return entries[name_or_path]


def locate_file(entry: ModelEntry) -> Path:
    """Where the file of an entry lies. The package that holds it is not imported.

    Raises:
        ModelFileError: not there; says where it was looked for and how it gets there.
    """
    if entry.package:
        spec = importlib.util.find_spec(entry.package)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        candidates = [Path(folder) / entry.file for folder in folders]
        hint = f"Install the package {entry.package.replace('_', '-')}."
    else:
        candidates = [entry.folder / Path(entry.file).expanduser()]
        hint = "Put the file there or correct the entry."
    for path in candidates:
        if path.is_file():
            return path
    where = ", ".join(str(path) for path in candidates) or f"package {entry.package}, which is not installed"
    raise ModelFileError(f"the model file is missing (looked at {where})", subject=entry.name, next_step=hint)


def prepare_model(entry: ModelEntry, *, cache_folder: Path | None = None) -> PreparedModel:
    """The entry's file, checked by sha256, and converted where the entry asks for it.

    A conversion is kept in `cache_folder` (default: the user's cache), named by the source's sha256 and the file type,
    checked by its own sha256 each time, and made again where it is damaged. Where that folder cannot be written the
    file is run as it is, with a warning in the log: slower, and with other rounding.

    Raises:
        ModelFileError: missing, not a GGUF, or not the file that the entry names.
    """
    source = locate_file(entry)
    sha256 = hash_file(source)
    if entry.sha256 and sha256 != entry.sha256:
        raise ModelFileError(
            f"{source} has sha256 {sha256}, the entry says {entry.sha256}",
            subject=entry.name,
            next_step="Get the right file, or correct the entry if the new one is meant.",
        )
    with source.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ModelFileError("is not a GGUF file", subject=str(source))
    if entry.convert_to:
        folder = cache_folder or default_cache_folder()
        try:
            weights, weights_sha256 = _convert_once(source, sha256, entry.convert_to, folder)
        except OSError as error:
            _LOG.warning("%s: not converted to %s, run as shipped (%s)", entry.name, entry.convert_to, error)
        else:
            return PreparedModel(
                entry=entry,
                source=source,
                sha256=sha256,
                weights=weights,
                weights_sha256=weights_sha256,
                file_type=entry.convert_to,
            )
    return PreparedModel(
        entry=entry, source=source, sha256=sha256, weights=source, weights_sha256=sha256, file_type="as shipped"
    )


def open_model(settings: ModelSettings) -> TextModel:
    """The model that the settings name, ready for work. `fake` is the stand-in without weights.

    Raises:
        SettingsError: no such model, or a server that is not on this machine.
        ModelFileError: the file is missing or not the one its entry names.
        EngineUnavailableError: llama-cpp-python is missing.
        ModelError: the engine cannot load it.
    """
    if settings.name == FAKE_MODEL:
        from pageindex_local.llm.fakes import ExtractiveModel  # noqa: PLC0415

        return ExtractiveModel(context_tokens=settings.context_tokens)
    entry = find_model(settings.name)
    if entry.url:
        from pageindex_local.llm.server import ServerModel  # noqa: PLC0415

        return ServerModel(entry, settings)
    from pageindex_local.llm.llamacpp import LlamaCppModel  # noqa: PLC0415

    return LlamaCppModel(prepare_model(entry), settings)


def default_cache_folder() -> Path:
    """`$XDG_CACHE_HOME/pageindex-local/models`, or below `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "pageindex-local" / "models"


def hash_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read in pieces.

    Raises:
        ModelFileError: the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelFileError(f"cannot be read ({error.strerror})", subject=str(path)) from None


def _convert_once(source: Path, sha256: str, file_type: str, folder: Path) -> tuple[Path, str]:
    """The converted file and its sha256.

    A sidecar written last says what the file must be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{sha256}-{file_type.lower()}.gguf"
    sidecar = target.with_suffix(".json")
    with FileLock(f"{target}.lock"):
        known = _read_sidecar(sidecar)
        if known and target.is_file() and hash_file(target) == known:
            return target, known
        from pageindex_local.llm.llamacpp import convert_gguf  # noqa: PLC0415

        partial = target.with_suffix(f".{os.getpid()}.partial")
        try:
            convert_gguf(source, partial, file_type)
            converted = hash_file(partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        note = sidecar.with_suffix(f".{os.getpid()}.partial")
        note.write_text(json.dumps({"sha256": converted, "source_sha256": sha256, "file_type": file_type}) + "\n")
        note.replace(sidecar)
        return target, converted


def _read_sidecar(sidecar: Path) -> str:
    try:
        return str(json.loads(sidecar.read_text())["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _read_entry(file: Path) -> ModelEntry:
    try:
        values: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return ModelEntry.model_validate(values | {"folder": file.resolve().parent})
    except OSError as error:
        raise SettingsError(f"cannot be read ({error.strerror})", subject=str(file)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"is not TOML: {error}", subject=str(file)) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "entry"
        raise SettingsError(f"{where}: {first['msg']}", subject=str(file)) from None


def describe_entry(entry: ModelEntry) -> str:
    """A short hash of the entry's content that decides how the model is prompted (part of the fingerprint)."""
    return sha256_hex(json.dumps([entry.template_variables, entry.answer_prefix], sort_keys=True).encode())[:16]
