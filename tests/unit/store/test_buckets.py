"""An index in a bucket over HTTP, and what can go wrong at any service: a sentence and what to do, no client's error.

Azure's side is asked of Azurite where there is one; the others' servers can be told to fail.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pageindex_local.errors import StoreError
from pageindex_local.store.index import IndexStore
from pageindex_local.store.places import read_place
from pageindex_local.store.verify import verify_index
from tests.store_samples import publish_sections, run_together, sample_sections, store_settings

if TYPE_CHECKING:
    from tests.s3_server import S3Server

RIGHT_TO_WRITE = {"s3": "s3:PutObject", "gs": "storage.objects.create"}


@pytest.fixture(params=["s3", "google", "azure"])
def place(request: pytest.FixtureRequest) -> str:
    address: str = request.getfixturevalue(f"{request.param}_place")
    return address


@pytest.fixture(params=["s3", "google"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> "S3Server":
    """A service that fails on demand; every request is made once."""
    monkeypatch.setattr("pageindex_local.store.clouds._RETRIES", {"max_retries": 0})
    server: S3Server = request.getfixturevalue(f"{request.param}_server")
    return server


@pytest.fixture
def there(server: "S3Server", request: pytest.FixtureRequest) -> str:
    """A fresh place at that service."""
    address: str = request.getfixturevalue(f"{request.node.callspec.params['server']}_place")
    return address


def open_store(place: str) -> IndexStore:
    return IndexStore(read_place(place), "main", store_settings(lock_timeout_s=20))


def test_publish_and_read_back_over_http(place: str) -> None:
    store = open_store(place)

    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))

    fresh = open_store(place)
    release = fresh.require_current()
    assert fresh.releases() == ("000001", "000002")
    assert "edition two" in fresh.open_document(release, next(iter(release.documents))).pages()[0].text
    assert verify_index(fresh, deep=True).problems == ()


def test_publish_by_several_at_once_loses_nothing(place: str) -> None:
    rounds, names = 5, ["pump.md", "valve.md", "seal.md"]

    def publish(doc_id: str) -> None:
        store = open_store(place)
        for number in range(rounds):
            publish_sections(store, sample_sections(f"{number}"), doc_id)

    run_together(*(partial(publish, name) for name in names))

    store = open_store(place)
    release = store.require_current()
    assert {entry.doc_id: entry.version_id for entry in release.documents.values()} == dict.fromkeys(names, "v000005")
    assert len(store.releases()) == rounds * len(names)
    report = verify_index(store, deep=True)
    assert report.problems == ()
    assert report.leftovers == ()


def test_bucket_that_is_missing_is_said_by_reads_and_writes(place: str) -> None:
    missing = f"{place.partition('://')[0]}://nobody-made-this"
    store = open_store(f"{missing}/x")

    for act in (
        store.current,
        lambda: store.files.list_names(store.layout.folder),
        lambda: store.files.exists(store.layout.folder),
        lambda: publish_sections(store, sample_sections("one")),
    ):
        with pytest.raises(StoreError, match="there is no such") as caught:
            act()
        assert caught.value.subject == missing
        assert "Create it first" in caught.value.next_step


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "access denied"),
        (403, "InvalidAccessKeyId", "access denied"),
        (401, "AuthenticationRequired", "access denied"),
        (500, "InternalError", "failed"),
        (503, "SlowDown", "failed"),
        (429, "TooManyRequests", "failed"),
        (501, "NotImplemented", "conditional writes"),
        (400, "InvalidRequest", "refused"),
    ],
)
def test_answer_of_the_service_becomes_a_sentence(
    server: "S3Server", there: str, status: int, code: str, words: str
) -> None:
    publish_sections(open_store(there), sample_sections("one"))
    server.fault = lambda method, path: (status, code)
    acts: tuple[Callable[[], object], ...] = (
        lambda: open_store(there).current(),
        lambda: publish_sections(open_store(there), sample_sections("two")),
        lambda: open_store(there).files.list_names(read_place(there)),
        lambda: open_store(there).files.exists(read_place(there)),
        lambda: open_store(there).files.remove_whole(read_place(there), "last"),
    )

    for act in acts:
        with pytest.raises(StoreError, match=words) as caught:
            act()
        assert caught.value.next_step
        assert caught.value.subject.startswith(there)
        assert "127.0.0.1" not in caught.value.problem


def test_service_without_conditional_writes_is_refused_and_nothing_stays(server: "S3Server", there: str) -> None:
    server.ignores_conditions = True

    with pytest.raises(StoreError, match="although it is told not to") as caught:
        publish_sections(open_store(there), sample_sections("one"))

    assert "conditional writes" in caught.value.next_step
    assert open_store(there).files.list_names(read_place(there)) == []


def test_read_with_rights_to_read_alone_works(server: "S3Server", there: str) -> None:
    publish_sections(open_store(there), sample_sections("one"))
    server.fault = lambda method, path: (403, "AccessDenied") if method in ("PUT", "DELETE") else None
    store = open_store(there)
    release = store.require_current()

    with store.lease(release):
        assert store.open_document(release, next(iter(release.documents))).pages()
    with pytest.raises(StoreError, match="access denied") as caught:
        publish_sections(store, sample_sections("two"))

    assert RIGHT_TO_WRITE[there[:2]] in caught.value.next_step


def test_every_request_of_a_publication_failing_once_leaves_old_or_new(server: "S3Server", there: str) -> None:
    files = open_store(there).files

    def again() -> IndexStore:
        return IndexStore(read_place(there), "main", store_settings(lock_timeout_s=20), files)

    publish_sections(again(), sample_sections("start"))
    server.requests.clear()
    publish_sections(again(), sample_sections("count"))
    requests = len(server.requests)
    failed = 0
    for number in range(1, requests + 1):
        before = again().require_current()
        count = 0

        def fault(method: str, path: str, number: int = number) -> tuple[int, str] | None:
            nonlocal count
            count += 1
            return (500, "InternalError") if count == number else None

        server.fault = fault
        try:
            publish_sections(again(), sample_sections(f"try {number}"))
        except StoreError as error:
            failed += bool(error.next_step)
        server.fault = None
        store = again()
        after = store.require_current()
        text = store.open_document(after, next(iter(after.documents))).pages()[0].text
        assert after == before or f"edition try {number}." in text
    assert failed > requests / 2
    assert verify_index(again(), deep=True).problems == ()
