"""A bucket in memory that can be stopped, broken or answered for at each operation. Keeps the contract of S3's.

Its tags are hashes of content, as S3's are: equal content has an equal tag, so a put may not rely on a tag being new.
"""

import threading
import time
from collections.abc import Callable, Sequence

from pageindex_local.errors import StoreError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.objects import ConditionError, StoredObject
from pageindex_local.store.places import BucketPath
from tests.clouds import open_memory
from tests.faults.disk import PowerCut

Hook = Callable[[str, BucketPath], None]


class MemoryBucket:
    """`Bucket` in memory. `before` and `after` are called with each operation's name and place."""

    endpoint = "memory"

    def __init__(self, objects: dict[BucketPath, tuple[bytes, float]] | None = None) -> None:
        self.objects = dict(objects or {})
        self.before: Hook = lambda name, place: None
        self.after: Hook = lambda name, place: None
        self._lock = threading.Lock()

    def copy(self) -> "MemoryBucket":
        """The same objects, without hooks."""
        return MemoryBucket(self.objects)

    def get(self, place: BucketPath) -> tuple[bytes, str]:
        self.before("get", place)
        there = self._all().get(place)
        if there is None:
            raise FileNotFoundError(2, "No such file", str(place))
        data = there[0]
        self.after("get", place)
        return data, sha256_hex(data)

    def put(self, place: BucketPath, data: bytes, tag: str | None) -> str:
        self.before("put", place)
        with self._lock:
            there = self.objects.get(place)
            if (sha256_hex(there[0]) if there else None) != tag:
                raise ConditionError
            self.objects[place] = data, time.time()
        self.after("put", place)
        return sha256_hex(data)

    def find(self, place: BucketPath) -> StoredObject | None:
        self.before("find", place)
        there = self.objects.get(place)
        return StoredObject(place, len(there[0]), there[1]) if there else None

    def list_below(self, place: BucketPath, limit: int | None = None) -> list[StoredObject]:
        self.before("list_below", place)
        found = [
            StoredObject(other, len(data), modified)
            for other, (data, modified) in sorted(self._all().items())
            if place in other.parents
        ]
        return found[:limit]

    def list_names(self, place: BucketPath) -> list[str]:
        self.before("list_names", place)
        depth = len(place.parts)
        return sorted({other.parts[depth] for other in self._all() if place in other.parents})

    def delete(self, places: Sequence[BucketPath]) -> None:
        for place in places:
            self.before("delete", place)
            with self._lock:
                self.objects.pop(place, None)
            self.after("delete", place)

    def _all(self) -> dict[BucketPath, tuple[bytes, float]]:
        with self._lock:
            return dict(self.objects)


class ObstoreBucket(MemoryBucket):
    """The same over obstore's bucket in memory, so that what is tested is also the way there and back."""

    def __init__(self, objects: dict[BucketPath, tuple[bytes, float]] | None = None) -> None:
        super().__init__()
        self._inner = open_memory(BucketPath("/", "bucket"))
        for place, (data, _) in (objects or {}).items():
            self._inner.put(place, data, None)

    def copy(self) -> "ObstoreBucket":
        entries = self._inner.list_below(BucketPath("/", "bucket"))
        return ObstoreBucket({entry.place: (self._inner.get(entry.place)[0], entry.modified) for entry in entries})

    def get(self, place: BucketPath) -> tuple[bytes, str]:
        self.before("get", place)
        found = self._inner.get(place)
        self.after("get", place)
        return found

    def put(self, place: BucketPath, data: bytes, tag: str | None) -> str:
        self.before("put", place)
        new = self._inner.put(place, data, tag)
        self.after("put", place)
        return new

    def find(self, place: BucketPath) -> StoredObject | None:
        self.before("find", place)
        return self._inner.find(place)

    def list_below(self, place: BucketPath, limit: int | None = None) -> list[StoredObject]:
        self.before("list_below", place)
        return self._inner.list_below(place, limit)

    def list_names(self, place: BucketPath) -> list[str]:
        self.before("list_names", place)
        return self._inner.list_names(place)

    def delete(self, places: Sequence[BucketPath]) -> None:
        for place in places:
            self.before("delete", place)
            self._inner.delete([place])
            self.after("delete", place)


class Counter:
    """A hook that counts operations and does something at the k-th, once."""

    def __init__(self, stop_at: int = 0, act: Callable[[], None] = lambda: None, only: Sequence[str] = ()) -> None:
        self.count = 0
        self._stop_at = stop_at
        self._act = act
        self._only = only

    def __call__(self, name: str, place: BucketPath) -> None:
        if self._only and name not in self._only:
            return
        self.count += 1
        if self.count == self._stop_at:
            self._act()


def cut() -> None:
    """The process ends here."""
    raise PowerCut


def fail() -> None:
    """The service answers with a failure, or not at all."""
    raise StoreError("the service of this bucket failed (injected)", next_step="Run the command again.")


def deny() -> None:
    """An answer that was lost and a request that the client has sent again: the condition does not hold any more."""
    raise ConditionError
