"""Whether a folder lies where locks and renames can be trusted: told by the mount table first, then by trying it.

Writes only a temporary folder, which it removes again.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout

from pageindex_local.errors import StoreError

_LOCKS = "where locks and renames cannot be relied on"
_JOURNAL = "which keeps no journal: power lost during a rename may take both files"
# Locks there may be local to one machine or missing, and a rename may be seen half done or be repeated by a retry. Some
# of them pass every trial from one machine, so they are known by name.
_NOT_TRUSTED = {
    "nfs": ("NFS", _LOCKS),
    "nfs4": ("NFS", _LOCKS),
    "cifs": ("an SMB share", _LOCKS),
    "smb3": ("an SMB share", _LOCKS),
    "smbfs": ("an SMB share", _LOCKS),
    "ncpfs": ("a NetWare share", _LOCKS),
    "afs": ("AFS", _LOCKS),
    "9p": ("a 9p share of another system", _LOCKS),
    "drvfs": ("a Windows drive seen from Linux", _LOCKS),
    "vboxsf": ("a folder shared by VirtualBox", _LOCKS),
    "prl_fs": ("a folder shared by Parallels", _LOCKS),
    "fuse.vmhgfs-fuse": ("a folder shared by VMware", _LOCKS),
    "davfs": ("WebDAV", _LOCKS),
    "fuse.davfs": ("WebDAV", _LOCKS),
    "fuse.sshfs": ("SSHFS", _LOCKS),
    "fuse.s3fs": ("an object store", _LOCKS),
    "fuse.rclone": ("a cloud drive", _LOCKS),
    "fuse.gcsfuse": ("an object store", _LOCKS),
    "fuse.goofys": ("an object store", _LOCKS),
    "fuse.mount-s3": ("an object store", _LOCKS),
    "vfat": ("FAT", _JOURNAL),
    "msdos": ("FAT", _JOURNAL),
    "exfat": ("exFAT", _JOURNAL),
    "fuse.exfat": ("exFAT", _JOURNAL),
}
_MOUNT_TABLE = Path("/proc/self/mountinfo")
_TRIAL_SECONDS = 30
_TRIED: dict[int, str | None] = {}  # device -> what was wrong with it; each is tried once in a process
# Exits with 0 where the lock is free and with 3 where another process holds it, as `filelock` would find it.
_TRY_LOCK = """\
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit(3)
"""


def check_disk(folder: Path, *, allow_network_disk: bool) -> None:
    """Make sure that the file system of a folder, which need not exist yet, can hold an index.

    Raises:
        StoreError: it cannot, with the reason. A name that is not trusted may be allowed, a failed trial never is.
        OSError: the folder cannot be written at all.
    """
    there = folder.resolve()
    reason = None if allow_network_disk else find_distrust(there, read_mount_table())
    if reason is not None:
        raise StoreError(
            reason,
            subject=str(folder),
            next_step=(
                "Put the index on a local disk or in a bucket (s3://...), or set store.allow_network_disk if only one "
                "machine writes."
            ),
        )
    while not there.exists():
        there = there.parent
    device = there.stat().st_dev
    if device not in _TRIED:
        _TRIED[device] = try_folder(there)
    reason = _TRIED[device]
    if reason is not None:
        raise StoreError(
            reason, subject=str(folder), next_step="Put the index on a local disk, or in a bucket (s3://...)."
        )


def read_mount_table() -> str:
    """The mount table of this process; empty where the system has none of this form."""
    try:
        return _MOUNT_TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def find_distrust(folder: Path, mount_table: str) -> str | None:
    """Why the file system of a folder cannot hold an index, told by its name, or None.

    Source: the format of mountinfo is that of proc_pid_mountinfo(5).
    """
    best: tuple[int, str] = (-1, "")
    for line in mount_table.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) < 5 or not after:
            continue
        mount_point = Path(fields[4].encode().decode("unicode_escape"))
        if folder.is_relative_to(mount_point):
            # Of several on one place the last covers the others.
            depth = len(mount_point.parts)
            if depth >= best[0]:
                best = depth, after.split(" ")[0]
    name, why = _NOT_TRUSTED.get(best[1], ("", ""))
    return f"lies on {name}, {why}" if name else None


def try_folder(folder: Path) -> str | None:
    """Try in a folder what the store relies on; what does not work as it must, or None.

    Raises:
        OSError: nothing can be written there.
    """
    place = Path(tempfile.mkdtemp(prefix=".tmp-trial-", dir=folder))
    try:
        return _try_names(place) or _try_sync(place) or _try_lock(place / "lock")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _try_names(place: Path) -> str | None:
    old, new = place / "old", place / "new"
    old.write_bytes(b"old")
    try:
        with old.open("xb"):
            return "lets a file be created twice"
    except FileExistsError:
        pass
    new.write_bytes(b"new")
    try:
        new.replace(old)
    except OSError as error:
        return f"cannot replace a file by renaming another ({error.strerror})"
    if new.exists() or old.read_bytes() != b"new":
        return "does not replace a file when another is renamed"
    (place / "folder").mkdir()
    try:
        (place / "folder").rename(place / "renamed")
    except OSError as error:
        return f"cannot rename a folder ({error.strerror})"
    return None


def _try_sync(place: Path) -> str | None:
    for path, flags, what in ((place / "old", os.O_RDONLY, "file"), (place, os.O_RDONLY | os.O_DIRECTORY, "folder")):
        descriptor = os.open(path, flags)
        try:
            os.fsync(descriptor)
        except OSError as error:
            return f"cannot make a {what} durable (fsync: {error.strerror})"
        finally:
            os.close(descriptor)
    return None


def _try_lock(path: Path) -> str | None:
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except (Timeout, OSError, NotImplementedError) as error:
        return f"cannot lock a file ({error})"
    try:
        held = _another_process(path)
    finally:
        lock.release()
    if held == 0:
        return "gives one lock to two processes at once"
    # Any other ending of the process than 3 tells nothing about the file system.
    return None


def _another_process(path: Path) -> int:
    if not path.exists():
        path.touch()
    command = [sys.executable, "-I", "-S", "-c", _TRY_LOCK, str(path)]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS, check=False
        ).returncode
    except (OSError, subprocess.TimeoutExpired):
        return -1
