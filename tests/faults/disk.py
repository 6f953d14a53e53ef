"""A file system in memory that knows what a power cut would leave: for every operation of the store, stop and look.

The model is the pessimistic one of POSIX: content survives if its file was synced, a name if its folder was synced
after the name was made, and nothing else is promised. What was not synced may survive, be cut, or be gone, file by
file and folder by folder.
"""

import errno
import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pageindex_local.store.disk import DiskFiles


class PowerCut(BaseException):
    """The process ends here. Not an Exception, so that nothing handles it."""


@dataclass
class _Node:
    is_folder: bool
    data: bytes = b""
    synced_data: bytes | None = None
    names: dict[str, "_Node"] = field(default_factory=dict)
    # What the folder's names were after each change since the last sync; the first is what was synced.
    pending: list[dict[str, "_Node"]] = field(default_factory=lambda: [{}])
    changed_at: int = 0


Hook = Callable[[str, Path], None]


class MemoryFiles(DiskFiles):
    """`DiskFiles` in memory. `hook` is called with each changing operation's name and path before it happens."""

    def __init__(self, hook: Hook | None = None) -> None:
        self.root = _Node(is_folder=True)
        self.hook = hook or (lambda name, path: None)
        self.clock = itertools.count(1)
        self.locked: set[Path] = set()

    # Reading

    def read_bytes(self, path: Path) -> bytes:
        node = self._find(path)
        if node is None or node.is_folder:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        return node.data

    def exists(self, path: Path) -> bool:
        return self._find(path) is not None

    def list_names(self, folder: Path) -> list[str]:
        node = self._find(folder)
        return sorted(node.names) if node is not None and node.is_folder else []

    def modified_time(self, path: Path) -> float:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        return float(node.changed_at)

    def total_bytes(self, folder: Path) -> int:
        return sum(len(data) for path, data in self.files().items() if path.is_relative_to(folder))

    # Changing

    def make_folder(self, path: Path) -> None:
        self.hook("make_folder", path)
        if self.exists(path):
            return
        self._put(path, _Node(is_folder=True))

    def write_new(self, path: Path, data: bytes) -> None:
        self.hook("write_new", path)
        if self.exists(path):
            raise FileExistsError(errno.EEXIST, "File exists", str(path))
        self._put(path, _Node(is_folder=False, data=data))

    def sync_file(self, path: Path) -> None:
        self.hook("sync_file", path)
        node = self._need(path)
        node.synced_data = node.data

    def sync_folder(self, path: Path) -> None:
        self.hook("sync_folder", path)
        node = self._need(path)
        node.pending = [dict(node.names)]

    def rename(self, source: Path, target: Path) -> None:
        self.hook("rename", target)
        if self.exists(target):
            raise FileExistsError(errno.EEXIST, "File exists", str(target))
        self._move(source, target)

    def replace(self, source: Path, target: Path) -> None:
        self.hook("replace", target)
        self._move(source, target)

    def remove(self, path: Path) -> None:
        self.hook("remove", path)
        if self.exists(path):
            self._drop(path)

    def check_medium(self, folder: Path, *, allow_network_disk: bool) -> None:
        pass

    @contextmanager
    def lock(self, path: Path, timeout_s: float, *, what: str) -> Iterator[None]:
        assert path not in self.locked, f"{what} is locked twice by one process"
        assert self.exists(path.parent), f"the folder of the lock {path} is missing"
        self.locked.add(path)
        try:
            yield
        finally:
            self.locked.discard(path)

    # Ends

    def copy(self) -> "MemoryFiles":
        """The same files, all of them safe on disk: what a killed process leaves while the machine runs on."""
        return self._survivor(lambda node: node.data, lambda node: node.names)

    def after_power_cut(self, seed: int) -> "MemoryFiles":
        """What may be left after a power cut. Seed 0 loses everything not synced, others lose by lot."""
        lot = random.Random(seed)

        def content(node: _Node) -> bytes | None:
            if node.synced_data is not None:
                return node.synced_data
            if seed == 0:
                return None
            return lot.choice([None, b"", node.data[: len(node.data) // 2], bytes(len(node.data)), node.data])

        def names(node: _Node) -> dict[str, _Node]:
            return node.pending[0] if seed == 0 else lot.choice([*node.pending, node.names])

        return self._survivor(content, names)

    def _survivor(
        self, content: Callable[[_Node], bytes | None], names: Callable[[_Node], dict[str, _Node]]
    ) -> "MemoryFiles":
        other = MemoryFiles()
        other.clock = itertools.count(next(self.clock))
        copies: dict[int, _Node] = {}
        stack = [(self.root, other.root)]
        while stack:
            node, twin = stack.pop()
            for name, child in sorted(names(node).items()):
                copy = copies.get(id(child))
                if copy is None:
                    data = b"" if child.is_folder else content(child)
                    # A name whose content is gone altogether: the file is there and empty.
                    copy = _Node(child.is_folder, data or b"", data or b"", changed_at=child.changed_at)
                    copies[id(child)] = copy
                    if child.is_folder:
                        stack.append((child, copy))
                twin.names[name] = copy
            twin.pending = [dict(twin.names)]
        return other

    def flip(self, path: Path, bit: int) -> None:
        """Turn one bit of a file."""
        node = self._need(path)
        data = bytearray(node.data)
        data[bit // 8] ^= 1 << (bit % 8)
        node.data = bytes(data)

    def files(self) -> dict[Path, bytes]:
        """Every file with its content."""
        found: dict[Path, bytes] = {}
        stack = [(Path("/"), self.root)]
        while stack:
            path, node = stack.pop()
            for name, child in node.names.items():
                if child.is_folder:
                    stack.append((path / name, child))
                else:
                    found[path / name] = child.data
        return dict(sorted(found.items()))

    # Inside

    def _find(self, path: Path) -> _Node | None:
        node = self.root
        for name in path.parts[1:]:
            found = node.names.get(name)
            if found is None:
                return None
            node = found
        return node

    def _need(self, path: Path) -> _Node:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        return node

    def _put(self, path: Path, node: _Node) -> None:
        parent = self._need(path.parent)
        node.changed_at = parent.changed_at = next(self.clock)
        parent.names[path.name] = node
        parent.pending.append(dict(parent.names))

    def _drop(self, path: Path) -> _Node:
        parent = self._need(path.parent)
        node = parent.names.pop(path.name)
        parent.changed_at = next(self.clock)
        parent.pending.append(dict(parent.names))
        return node

    def _move(self, source: Path, target: Path) -> None:
        self._need(source)
        self._need(target.parent)
        if source.parent == target.parent:
            parent = self._need(source.parent)
            parent.names[target.name] = parent.names.pop(source.name)
            parent.changed_at = next(self.clock)
            parent.pending.append(dict(parent.names))
        else:
            self._put(target, self._drop(source))


class Recorder:
    """A hook that writes down every operation and ends the process, or fails, at the k-th."""

    def __init__(self, stop_at: int | None = None, error: int | None = None) -> None:
        self.operations: list[tuple[str, Path]] = []
        self.stop_at = stop_at
        self.error = error

    def __call__(self, name: str, path: Path) -> None:
        self.operations.append((name, path))
        if self.stop_at is not None and len(self.operations) == self.stop_at:
            if self.error is None:
                raise PowerCut
            raise OSError(self.error, "injected", str(path))
