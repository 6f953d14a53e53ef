"""The options that several commands share, and what they resolve to: settings, an index, a document of it."""

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pageindex_local.errors import IndexNotFoundError, SettingsError

if TYPE_CHECKING:
    from pageindex_local.settings import Settings
    from pageindex_local.store import IndexStore, StoredVersion
    from pageindex_local.store.records import Release

DEFAULT_INDEX = Path("indexes")
DEFAULT_COLLECTION = "default"
STRATEGIES = ("auto", "outline", "toc", "layout", "model")
SUMMARIES = ("model", "extractive", "none")


def read_index_place(text: str | Path) -> Path:
    """What `--index` says: a folder, or a place in a bucket."""
    from pageindex_local.store.places import read_place

    return read_place(text) if isinstance(text, str) else text


IndexOption = Annotated[
    Path,
    typer.Option(
        "--index",
        "-i",
        metavar="DIR",
        parser=read_index_place,
        help="Folder of the index, or s3://, gs://, az://bucket/prefix; one subfolder per collection.",
    ),
]
CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--collection", "-c", metavar="NAME", help="Collection in the index (default: the only one, or `default`)."
    ),
]
ReleaseOption = Annotated[
    str | None,
    typer.Option("--release", "-r", metavar="NAME", help="Release to read, such as 000003 (default: the current one)."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="TOML file over configs/default.toml.", dir_okay=False),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="MODEL", help="Model name (see `models`) or path of a GGUF file."),
]
DocArgument = Annotated[
    str, typer.Argument(metavar="DOC", help="Document id, as `status` lists it.", show_default=False)
]
StrategyOption = Annotated[
    str | None,
    typer.Option("--strategy", "-s", metavar="S", help=f"Which evidence places sections: {', '.join(STRATEGIES)}."),
]
SummariesOption = Annotated[
    str | None, typer.Option("--summaries", metavar="WHO", help=f"Who writes the summaries: {', '.join(SUMMARIES)}.")
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="GLOB", help="Leave out files whose path in the folder matches; repeatable."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="No progress bars.")]
JsonOption = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object instead of text.")]


def load_settings(config: Path | None, **overrides: Mapping[str, Any]) -> "Settings":
    """Defaults, then the file, then the options given on the command line (section -> key -> value, None skipped)."""
    from pageindex_local.settings import read_settings

    return read_settings(config, overrides)


def load_build_settings(
    config: Path | None, strategy: str | None, summaries: str | None, model: str | None
) -> "Settings":
    """The settings of a command that builds: file, then what its options change.

    Raises:
        SettingsError: an unknown choice, or as `load_settings`.
    """
    check_choice("--strategy", strategy, STRATEGIES)
    check_choice("--summaries", summaries, SUMMARIES)
    return load_settings(config, tree={"strategy": strategy}, summary={"mode": summaries}, model={"name": model})


def collections_in(index: Path, settings: "Settings") -> list[str]:
    """Names of the collections in an index, sorted; a collection has releases."""
    from pageindex_local.store.places import open_files

    files = open_files(index, settings.store)
    return [name for name in files.list_names(index) if files.list_names(index / name / "releases")]


def choose_collection(index: Path, name: str | None, settings: "Settings") -> str:
    """The collection to read: the one named, else the only one, else `default`.

    Raises:
        IndexNotFoundError: nothing there, no such name, or several to choose from.
    """
    known = collections_in(index, settings)
    if not known:
        raise IndexNotFoundError(
            "no index there", subject=str(index), next_step="Build one: pageindex-local build FOLDER --index DIR"
        )
    if name is not None:
        if name not in known:
            raise IndexNotFoundError(
                f"no collection `{name}`", subject=str(index), next_step=f"Known: {', '.join(known)}."
            )
        return name
    if len(known) == 1:
        return known[0]
    if DEFAULT_COLLECTION in known:
        return DEFAULT_COLLECTION
    raise IndexNotFoundError(
        f"holds {len(known)} collections", subject=str(index), next_step=f"Add --collection; known: {', '.join(known)}."
    )


def open_store(index: Path, collection: str | None, settings: "Settings") -> "IndexStore":
    """The store of an existing collection."""
    from pageindex_local.store import IndexStore

    return IndexStore(index, choose_collection(index, collection, settings), settings.store)


def read_release(store: "IndexStore", name: str | None) -> "Release":
    """The named release, or the current one.

    Raises:
        IndexNotFoundError: nothing has been published, or no release of that name.
    """
    return store.require_current() if name is None else store.release(name.zfill(6) if name.isdecimal() else name)


def near_matches(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Names that a mistyped one may have meant, best first: by likeness, then by a common part."""
    names = list(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    near = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=count, cutoff=0.5)]
    part = name.casefold().rsplit("/", 1)[-1].rsplit(".", 1)[0]
    near += [candidate for candidate in names if part and part in candidate.casefold() and candidate not in near]
    return near[:count]


def check_document(doc_id: str, known: Iterable[str], where: str) -> str:
    """The document id itself, if it is known.

    Raises:
        IndexNotFoundError: unknown; names the near matches.
    """
    names = sorted(known)
    if doc_id in names:
        return doc_id
    near = near_matches(doc_id, names)
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    elif names:
        advice = f"It holds {len(names)}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}."
    else:
        advice = "It holds none."
    raise IndexNotFoundError(f"no document of that name in {where}", subject=doc_id, next_step=advice)


def check_choice(option: str, value: str | None, choices: Iterable[str]) -> str | None:
    """A value of a closed set, or None where the option was not given.

    Raises:
        SettingsError: another value; names the choices.
    """
    known = list(choices)
    if value is not None and value not in known:
        raise SettingsError(f"`{value}` is not one of {', '.join(known)}", subject=option)
    return value


def check_output(option: str, file: Path | None) -> None:
    """Refuse a file to be written in a folder that is not there, before any work is done for it.

    Raises:
        SettingsError: names the option and the folder.
    """
    if file is not None and not file.absolute().parent.is_dir():
        raise SettingsError(
            "cannot be written (its folder does not exist)",
            subject=str(file),
            next_step=f"Give {option} a file in a folder that exists.",
        )


def open_document(
    store: "IndexStore", doc_id: str, *, release: str | None = None, version: str | None = None
) -> "StoredVersion":
    """A version of a document: the one named, or the one that the named or current release pins.

    Raises:
        IndexNotFoundError: no such document (with near matches), version or release.
    """
    pinned = read_release(store, release)
    names = {entry.doc_id: doc_key for doc_key, entry in pinned.documents.items()}
    check_document(doc_id, names, f"release {pinned.name}")
    if version is None:
        return store.open_document(pinned, names[doc_id])
    known = store.version_ids(names[doc_id])
    if version not in known:
        raise IndexNotFoundError(
            f"has no version {version}", subject=doc_id, next_step=f"It has {', '.join(known[-5:])}; see `history`."
        )
    return store.open_version(names[doc_id], version)
