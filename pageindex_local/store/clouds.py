"""Google Cloud Storage and Azure Blob Storage, by obstore: objects in and out, and each failure as a sentence.

The only importer of obstore. Accounts, credentials and addresses are those that the environment names.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pageindex_local.errors import StoreError
from pageindex_local.store.objects import ConditionError, StoredObject
from pageindex_local.store.places import BucketPath
from pageindex_local.store.services import AZURE, GOOGLE, Service, is_bucket_missing

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, BaseError, InvalidPathError, PreconditionError
    from obstore.store import AzureStore, GCSStore, ObjectStore
except ModuleNotFoundError as missing:
    raise StoreError(
        f"an index below gs:// or az:// needs a library that is not installed ({missing.name})",
        next_step="Install it: pip install 'pageindex-local[clouds]'",
    ) from None

if TYPE_CHECKING:
    from obstore import ObjectMeta, UpdateVersion
    from obstore.store import AzureConfig, ClientConfig, RetryConfig

Answer = TypeVar("Answer")

_PAGE = 1_000
_PROCESS = os.getpid()
# For the whole of one request: a large search file on a slow line is one.
_TIMEOUT = timedelta(minutes=10)
# About ten seconds: Google takes one write a second to one name, and several builders may wish to.
_RETRIES: "RetryConfig" = {
    "max_retries": 6,
    "retry_timeout": timedelta(minutes=1),
    "backoff": {"init_backoff": timedelta(milliseconds=250), "max_backoff": timedelta(seconds=5), "base": 2},
}


class CloudBucket:
    """`Bucket` over one store of obstore, which holds the bucket called `name`. Not usable after a fork."""

    def __init__(self, store: ObjectStore, name: str, service: Service) -> None:
        self._store = store
        self._name = name
        self._service = service

    @property
    def endpoint(self) -> str:
        """See Bucket."""
        return self._service.endpoint()

    def get(self, place: BucketPath) -> tuple[bytes, str]:
        """See Bucket."""

        def fetch() -> "tuple[bytes, ObjectMeta]":
            answer = obstore.get(self._store, place.key)
            return answer.bytes().to_bytes(), answer.meta

        with self._explained(place):
            data, about = _wait_for(fetch)
        return data, self._tag(place, about)

    def put(self, place: BucketPath, data: bytes, tag: str | None) -> str:
        """See Bucket."""
        condition: Literal["create"] | UpdateVersion = "create"
        if tag is not None:
            condition = {"version": tag} if self._service.tag == "version" else {"e_tag": tag}
        with self._explained(place):
            try:
                answer = _wait_for(partial(obstore.put, self._store, place.key, data, mode=condition))
            except (AlreadyExistsError, PreconditionError):
                raise ConditionError from None
            except FileNotFoundError as error:
                if tag is None or is_bucket_missing(str(error)):
                    raise self._service.missing_bucket(place) from None
                raise ConditionError from None  # what was to be replaced is gone
            return self._tag(place, answer)

    def find(self, place: BucketPath) -> StoredObject | None:
        """See Bucket."""
        if not place.key:
            return None
        try:
            with self._explained(place):
                found = _wait_for(partial(obstore.head, self._store, place.key))
        except FileNotFoundError:
            return None
        return StoredObject(place, found["size"], found["last_modified"].timestamp())

    def list_below(self, place: BucketPath, limit: int | None = None) -> list[StoredObject]:
        """See Bucket."""

        def fetch() -> "list[ObjectMeta]":
            found: list[ObjectMeta] = []
            for part in obstore.list(self._store, place.key or None, chunk_size=limit or _PAGE):
                found += part
                if limit is not None and len(found) >= limit:
                    break
            return found

        with self._explained(place):
            found = sorted(_wait_for(fetch), key=lambda entry: entry["path"])[:limit]
        return [
            StoredObject(
                type(place)("/", place.bucket, entry["path"]), entry["size"], entry["last_modified"].timestamp()
            )
            for entry in found
        ]

    def list_names(self, place: BucketPath) -> list[str]:
        """See Bucket."""
        with self._explained(place):
            answer = _wait_for(partial(obstore.list_with_delimiter, self._store, place.key or None))
        paths = [*answer["common_prefixes"], *(entry["path"] for entry in answer["objects"])]
        return sorted({path.rsplit("/", 1)[-1] for path in paths})

    def delete(self, places: Sequence[BucketPath]) -> None:
        """See Bucket. One by one, so that one that is not there does not keep the others."""
        for place in places:
            with suppress(FileNotFoundError), self._explained(place):
                _wait_for(partial(obstore.delete, self._store, place.key))

    def _tag(self, place: BucketPath, answer: Any) -> str:
        tag = answer[self._service.tag]
        if tag is None:
            raise self._service.no_tag(place)
        return str(tag)

    @contextmanager
    def _explained(self, place: BucketPath) -> Iterator[None]:
        """Turn what obstore raises into FileNotFoundError, or a StoreError that says what to do."""
        if place.bucket != self._name:
            raise ValueError(f"{place} does not lie in {self._name}")
        if os.getpid() != _PROCESS:  # the library's threads did not come along: it would wait for them for ever
            raise StoreError(
                "this process was forked from one that uses buckets, and cannot use them",
                subject=str(place),
                next_step="Start a new process instead.",
            )
        try:
            yield
        except FileNotFoundError as error:
            if is_bucket_missing(str(error)):
                raise self._service.missing_bucket(place) from None
            raise FileNotFoundError(2, "No such file", str(place)) from None
        except (InvalidPathError, ValueError):
            raise self._service.no_name(place) from None
        except BaseError as error:
            raise self._service.explain(str(error), place) from None


def _wait_for(request: Callable[[], Answer]) -> Answer:
    """The answer to a request. The library looks for no signals, so it is left to a thread: Ctrl-C ends the waiting."""
    if threading.current_thread() is not threading.main_thread():
        return request()
    answer: Future[Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return answer.result()


def open_cloud(place: BucketPath) -> CloudBucket:
    """The bucket of a place below gs:// or az://, as the environment configures it. Makes no request.

    Raises:
        StoreError: the configuration cannot be used.
    """
    service = GOOGLE if place.scheme == "gs" else AZURE
    client: ClientConfig = {
        "connect_timeout": timedelta(seconds=10),
        "timeout": _TIMEOUT,
        "allow_http": any(address.startswith("http://") for address in service.read_addresses()),
    }
    store: ObjectStore
    try:
        if place.scheme == "gs":
            store = GCSStore(place.bucket, client_options=client, retry_config=_RETRIES)
        else:
            store = AzureStore(place.bucket, config=_read_az(), client_options=client, retry_config=_RETRIES)
    except (BaseError, ValueError) as error:
        problem = str(error).partition("\n")[0].partition(" error: ")
        raise service.misconfigured(problem[2] or problem[0], place) from None
    return CloudBucket(store, place.bucket, service)


def _read_az() -> "AzureConfig":
    """Account and key as the commands of `az` read them, where the names that the library reads are not set."""
    found: AzureConfig = {}
    if "AZURE_STORAGE_ACCOUNT_NAME" not in os.environ and (account := os.environ.get("AZURE_STORAGE_ACCOUNT")):
        found["account_name"] = account
        if key := os.environ.get("AZURE_STORAGE_KEY"):
            found["account_key"] = key
    return found
