"""Whether a folder lies where locks and renames can be trusted: a mount table in, the reason against it out."""

from pathlib import Path

# Locks there may be local to one machine or missing, and a rename may be seen half done or be repeated by a retry.
_NOT_TRUSTED = {
    "nfs": "NFS",
    "nfs4": "NFS",
    "cifs": "an SMB share",
    "smb3": "an SMB share",
    "smbfs": "an SMB share",
    "ncpfs": "a NetWare share",
    "afs": "AFS",
    "davfs": "WebDAV",
    "fuse.davfs": "WebDAV",
    "fuse.sshfs": "SSHFS",
    "fuse.s3fs": "an object store",
    "fuse.rclone": "a cloud drive",
    "fuse.gcsfuse": "an object store",
    "fuse.goofys": "an object store",
    "fuse.mount-s3": "an object store",
}
_MOUNT_TABLE = Path("/proc/self/mountinfo")


def read_mount_table() -> str:
    """The mount table of this process; empty where the system has none of this form."""
    try:
        return _MOUNT_TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def find_distrust(folder: Path, mount_table: str) -> str | None:
    """Why the file system of a folder cannot hold an index, or None.

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
    name = _NOT_TRUSTED.get(best[1])
    return None if name is None else f"lies on {name}, where locks and renames cannot be relied on"
