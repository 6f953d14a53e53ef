"""Files of a commit out of a local git repository, by the `git` program. Changes nothing in the repository."""

import os
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.errors import SourceError
from pageindex_local.parsing.sources import SUFFIXES

_NO_COMMIT = re.compile(r"0{7,64}")  # what CI systems give as the commit before the first one of a branch
_TIMEOUT_S = 600
_FILE_MODES = ("100644", "100755")  # neither a link nor the commit of another repository


@dataclass(frozen=True, slots=True)
class Commits:
    """The commits that are compared, as full hashes. `base` is where the two lines parted; None where there is none."""

    base: str | None
    head: str


def find_commits(folder: Path, base: str, head: str) -> Commits:
    """The commits that two names stand for. The base is moved back to where the head branched off from it.

    Raises:
        SourceError: no git repository, no such commit, or its history was not fetched.
    """
    root, _ = _locate(folder)
    head_hash = _find_commit(root, head)
    if _NO_COMMIT.fullmatch(base):
        return Commits(None, head_hash)
    base_hash = _find_commit(root, base)
    parted = _git(root, "merge-base", base_hash, head_hash)
    return Commits(parted or base_hash, head_hash)  # nothing in common: unrelated, or a shallow clone


def extract_folder(folder: Path, commit: str, target: Path) -> bool:
    """Write the files of a folder as a commit has them. False, and nothing written, where it has no document there.

    Links that lead out of the folder are left out, as a build leaves them out. Documents that the repository keeps out
    of its archives (`export-ignore`) are there all the same.

    Raises:
        SourceError: git fails.
    """
    root, prefix = _locate(folder)
    listed = _git(root, "ls-tree", "-r", "-z", f"{commit}:{prefix}") or ""
    rows = [row.partition("\t") for row in listed.split("\0")]
    found = {name: about.split() for about, _, name in rows if Path(name).suffix.lower() in SUFFIXES}
    if not found:
        return False
    target.mkdir()
    with tempfile.TemporaryFile() as archive:
        _run(root, ["archive", "--format=tar", f"{commit}:{prefix}"], archive.fileno(), check=True)
        archive.seek(0)
        with tarfile.open(fileobj=archive, mode="r:") as members:
            members.extractall(target, filter=_keep_inside)  # noqa: S202 - filtered
    for name, (mode, _, blob) in found.items():
        file = target / name
        if mode in _FILE_MODES and not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                _run(root, ["cat-file", "blob", blob], stream.fileno(), check=True)
    return True


def _keep_inside(member: tarfile.TarInfo, target: str) -> tarfile.TarInfo | None:
    try:
        return tarfile.data_filter(member, target)
    except (tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
        return None


def _locate(folder: Path) -> tuple[Path, str]:
    """The root of the repository that a folder is in, and the folder's path below it."""
    there = folder.resolve()
    while not there.is_dir():
        there = there.parent
    root = _git(there, "rev-parse", "--show-toplevel")
    if not root:
        raise SourceError(
            "is not in a git repository that can be read.",
            subject=str(folder),
            next_step="Check the path and `git status`.",
        )
    prefix = folder.resolve().relative_to(Path(root).resolve()).as_posix()
    return Path(root), "" if prefix == "." else prefix


def _find_commit(root: Path, name: str) -> str:
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not found:
        raise SourceError(
            "is no commit here.",
            subject=name,
            next_step="Check the name; a CI runner has to fetch all history (fetch-depth: 0, or GIT_DEPTH: 0).",
        )
    return found


def _git(folder: Path, *arguments: str) -> str | None:
    """What a git command prints, or None where it fails."""
    with tempfile.TemporaryFile() as out:
        if not _run(folder, list(arguments), out.fileno()):
            return None
        out.seek(0)
        return out.read().decode("utf-8", "surrogateescape").strip("\n")


def _run(folder: Path, arguments: list[str], stdout: int, *, check: bool = False) -> bool:
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - the git that the user has
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise SourceError("git is not installed.", subject="git", next_step="Install it, or use `build`.") from None
    except subprocess.TimeoutExpired:
        raise SourceError(f"`git {arguments[0]}` took more than {_TIMEOUT_S} seconds.", subject=str(folder)) from None
    if check and done.returncode:
        problem = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise SourceError(
            f"`git {arguments[0]}` failed: {problem[-1] if problem else done.returncode}", subject=str(folder)
        )
    return done.returncode == 0
