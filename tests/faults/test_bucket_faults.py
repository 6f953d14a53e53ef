"""Every operation of every change to an index in a bucket is a place to die, to fail, or to lose the answer."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pageindex_local.errors import ConflictError, IndexNotFoundError, PageindexError
from pageindex_local.ids import make_doc_key
from pageindex_local.store.bundle import import_bundle
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.objects import BucketFiles
from pageindex_local.store.places import BucketPath
from pageindex_local.store.records import Release
from pageindex_local.store.verify import verify_index
from tests.faults.bucket import Counter, MemoryBucket, ObstoreBucket, cut, deny, fail
from tests.faults.disk import PowerCut
from tests.faults.test_power_cuts import CHANGES, Change, content, state
from tests.store_samples import export_two_documents, publish_sections, sample_sections, store_settings, write_sections

ROOT = BucketPath("/", "bucket", "indexes")
CHANGING = ("put", "delete")


def open_store(bucket: MemoryBucket, **settings: float) -> IndexStore:
    files = BucketFiles(bucket, Path("/nowhere"), None)
    return IndexStore(ROOT, "main", store_settings(**{"lock_timeout_s": 2} | settings), files)


def prepared(bucket: MemoryBucket | None = None) -> MemoryBucket:
    """Three releases of two documents, and one version that was written and never published."""
    bucket = bucket or MemoryBucket()
    store = open_store(bucket)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("alpha"), "valve.md")
    publish_sections(store, sample_sections("two"))
    write_sections(store, sample_sections("lost"), "valve.md")
    return bucket


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_two_documents(tmp_path_factory.mktemp("bundle"))


class Trial:
    """A change from a starting point: what a reader sees before and after, and how many operations it takes."""

    def __init__(self, name: str, bundle: Path, bucket: MemoryBucket) -> None:
        self.change: Change
        self.change, empty = CHANGES.get(name, (lambda store: import_bundle(store, bundle), True))
        self.start = bucket if empty else prepared(bucket)
        self.old = state(open_store(self.start.copy()))
        finished = self.start.copy()
        self.change(open_store(finished))
        self.new = state(open_store(finished))
        self.content = content(open_store(finished))
        self.operations = self.count(())
        self.changes = self.count(CHANGING)

    def count(self, only: tuple[str, ...]) -> int:
        bucket, counter = self.start.copy(), Counter(only=only)
        bucket.before = counter
        self.change(open_store(bucket))
        return counter.count

    def check(self, bucket: MemoryBucket, what: str) -> None:
        """Old or new and clean; and the change, made again, gives what it gives."""
        survivor = bucket.copy()
        store = open_store(survivor)
        assert state(store) in (self.old, self.new), what
        assert verify_index(store).problems == (), what
        self.change(store)
        assert content(store) == self.content, what
        assert verify_index(store).problems == (), what


BY_OBSTORE = ("publication by obstore", "import by obstore")
NAMES = [*CHANGES, "import", *BY_OBSTORE]


@pytest.fixture(params=NAMES)
def trial(request: pytest.FixtureRequest, bundle: Path) -> Trial:
    name, by, _ = request.param.partition(" by ")
    return Trial(name, bundle, ObstoreBucket() if by else MemoryBucket())


def run(trial: Trial, prepare: Callable[[MemoryBucket], None]) -> tuple[MemoryBucket, PageindexError | None]:
    bucket = trial.start.copy()
    prepare(bucket)
    try:
        trial.change(open_store(bucket))
    except PowerCut:
        pass
    except PageindexError as error:
        return bucket, error
    return bucket, None


def test_change_that_dies_before_or_after_any_operation_leaves_old_or_new(trial: Trial) -> None:
    assert trial.changes > 3
    for number in range(1, trial.changes + 1):
        for side in ("before", "after"):
            bucket, _ = run(trial, lambda bucket: setattr(bucket, side, Counter(number, cut, CHANGING)))  # noqa: B023
            trial.check(bucket, f"died {side} change {number}")


def test_change_with_any_operation_failing_reports_and_leaves_old_or_new(trial: Trial) -> None:
    failed = 0
    for number in range(1, trial.operations + 1):
        bucket, error = run(trial, lambda bucket: setattr(bucket, "before", Counter(number, fail)))  # noqa: B023
        failed += error is not None and bool(error.next_step)
        trial.check(bucket, f"operation {number} failed")
    assert failed > trial.operations / 2


def test_change_whose_answer_is_lost_at_any_operation_leaves_old_or_new(trial: Trial) -> None:
    for number in range(1, trial.changes + 1):
        bucket, _ = run(trial, lambda bucket: setattr(bucket, "after", Counter(number, fail, CHANGING)))  # noqa: B023
        trial.check(bucket, f"answer {number} was lost")


def test_put_that_the_client_sent_twice_is_taken_for_done(trial: Trial) -> None:
    """The first attempt arrived, its answer did not, and the second met what the first had written."""
    puts = trial.count(("put",))
    refused = 0
    for number in range(1, puts + 1):
        bucket, error = run(trial, lambda bucket: setattr(bucket, "after", Counter(number, deny, ("put",))))  # noqa: B023
        if error is None:
            assert content(open_store(bucket.copy())) == trial.content
        else:
            refused += 1  # only the trial of the medium may take it for a failure: it does not know why
            assert "condition" in error.problem
        trial.check(bucket, f"put {number} was sent twice")
    assert refused <= 2


# Two at once: one of them runs whole between any two operations of the other


def between_any_two(
    start: MemoryBucket, mine: Change, theirs: Change, check: Callable[[MemoryBucket, Exception | None, str], None]
) -> int:
    counter = Counter()
    counted = start.copy()
    counted.before = counter
    mine(open_store(counted))
    for number in range(1, counter.count + 1):
        bucket = start.copy()

        def interrupt(bucket: MemoryBucket = bucket) -> None:
            bucket.before = lambda name, place: None
            theirs(open_store(bucket))

        bucket.before = Counter(number, interrupt)
        conflict: ConflictError | None = None
        try:
            mine(open_store(bucket))
        except ConflictError as error:
            conflict = error
        store = open_store(bucket.copy())
        assert verify_index(store).problems == (), f"before operation {number}"
        check(bucket, conflict, f"before operation {number}")
    return counter.count


def test_publish_beside_another_document_keeps_both() -> None:
    def check(bucket: MemoryBucket, conflict: Exception | None, when: str) -> None:
        assert conflict is None, when
        documents = open_store(bucket).require_current().documents.values()
        assert {entry.doc_id for entry in documents} == {"pump.md", "valve.md", "new.md"}, when
        assert {entry.version_id for entry in documents} == {"v000003", "v000002", "v000001"}, when

    start = MemoryBucket()
    store = open_store(start)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("alpha"), "valve.md")
    publish_sections(store, sample_sections("two"))
    count = between_any_two(
        start,
        publish_both,
        lambda store: publish_sections(store, sample_sections("n"), "new.md"),
        check,
    )
    assert count > 20


def publish_both(store: IndexStore) -> None:
    live = store.require_current()
    refs = [write_sections(store, sample_sections("three"), name) for name in ("pump.md", "valve.md")]
    store.publish({ref.doc_key: ref for ref in refs}, expected_parent=live.name)


@pytest.mark.parametrize("kind", [MemoryBucket, ObstoreBucket])
def test_publish_beside_the_same_document_is_a_conflict_or_comes_after(kind: type[MemoryBucket]) -> None:
    seen = set()

    def check(bucket: MemoryBucket, conflict: Exception | None, when: str) -> None:
        seen.add(conflict is None)
        store = open_store(bucket)
        text = store.open_document(store.require_current(), make_doc_key("pump.md")).pages()[0].text
        # Without a conflict ours was built on theirs, or theirs on ours.
        assert ("edition mine" in text or "edition theirs" in text) if conflict is None else "edition theirs" in text

    between_any_two(
        prepared(kind()),
        lambda store: publish_sections(store, sample_sections("mine")),
        lambda store: publish_sections(store, sample_sections("theirs")),
        check,
    )
    assert seen == {True, False}


def test_first_publications_of_two_builders_keep_both() -> None:
    def check(bucket: MemoryBucket, conflict: Exception | None, when: str) -> None:
        assert conflict is None, when
        documents = open_store(bucket).require_current().documents.values()
        assert {entry.doc_id for entry in documents} == {"pump.md", "valve.md"}, when

    def ours(store: IndexStore) -> None:
        ref = write_sections(store, sample_sections("one"))
        store.publish({ref.doc_key: ref}, expected_parent=None)

    between_any_two(
        MemoryBucket(), ours, lambda store: publish_sections(store, sample_sections("two"), "valve.md"), check
    )


@pytest.mark.parametrize("gc_is_interrupted", [True, False])
def test_gc_beside_a_pin_of_an_old_version_never_breaks_a_release(gc_is_interrupted: bool) -> None:
    """The version that gc finds pinned by no release is the one that somebody is about to pin."""
    bucket = prepared()
    publish_sections(open_store(bucket), sample_sections("three"))
    apply_gc(open_store(bucket), keep_releases=3)
    old = open_store(bucket).version_ids(make_doc_key("pump.md"))[0]
    outcomes = set()

    def pin(store: IndexStore) -> None:
        try:
            store.pin(make_doc_key("pump.md"), old)
        except PageindexError as error:
            outcomes.add("refused" if error.next_step else str(error))
        else:
            outcomes.add("pinned")

    def collect(store: IndexStore) -> None:
        apply_gc(store, keep_releases=1)

    mine, theirs = (collect, pin) if gc_is_interrupted else (pin, collect)
    between_any_two(bucket, mine, theirs, lambda bucket, conflict, when: None)
    assert outcomes == {"pinned", "refused"}


def test_gc_beside_gc_leaves_a_sound_index() -> None:
    def check(bucket: MemoryBucket, conflict: Exception | None, when: str) -> None:
        store = open_store(bucket)
        apply_gc(store, keep_releases=1)
        assert [store.release(name).reason for name in store.releases()].count("build") == 1, when

    between_any_two(
        prepared(),
        lambda store: apply_gc(store, keep_releases=1),
        lambda store: apply_gc(store, keep_releases=2),
        check,
    )


def test_reader_beside_publication_and_gc_reads_one_release() -> None:
    start = prepared()
    key = make_doc_key("pump.md")

    outcomes = []

    def read(store: IndexStore) -> None:
        release = store.require_current()
        try:
            with store.lease(release):
                texts = {store.open_document(release, key).pages()[0].text for _ in range(2)}
            assert len(texts) == 1
            outcomes.append("read")
        except IndexNotFoundError as error:
            assert "removed by gc" in error.problem  # noqa: PT017 - most interruptions are not seen at all
            outcomes.append("told")

    def replace(store: IndexStore) -> None:
        publish_sections(store, sample_sections("later"))
        apply_gc(store, keep_releases=1)

    assert between_any_two(start, read, replace, lambda bucket, conflict, when: None) > 5
    assert outcomes.count("read") > outcomes.count("told") > 0


def test_gc_beside_a_reader_who_comes_meanwhile_never_takes_what_he_reads() -> None:
    """Before any operation of gc a reader opens an old release, and reads it once gc has ended."""
    start = prepared()
    key = make_doc_key("pump.md")
    outcomes = []
    with contextlib.ExitStack() as readers:

        def open_old(store: IndexStore) -> None:
            try:
                release = store.release("000001")
                readers.enter_context(store.lease(release))
            except IndexNotFoundError:
                outcomes.append("told")
            else:
                opened.append(release)

        def check(bucket: MemoryBucket, conflict: Exception | None, when: str) -> None:
            if opened:
                assert open_store(bucket).open_document(opened.pop(), key).pages(), when
                outcomes.append("read")

        opened: list[Release] = []
        between_any_two(start, lambda store: apply_gc(store, keep_releases=1), open_old, check)
    assert {"read", "told"} == set(outcomes)


def test_version_whose_writer_died_is_no_version_and_its_number_is_not_given_again() -> None:
    start = MemoryBucket()
    publish_sections(open_store(start), sample_sections("one"))
    bucket = start.copy()
    bucket.before = Counter(8, cut, ("put",))  # four puts try the medium
    with pytest.raises(PowerCut):
        write_sections(open_store(bucket), sample_sections("two"))
    store = open_store(bucket.copy())
    key = make_doc_key("pump.md")

    assert store.version_ids(key) == ("v000001",)
    assert store.begun_version_ids(key) == ("v000001", "v000002")
    assert store.next_version_id(key) == "v000003"
    assert store.find_unpublished(key) is None
    report = verify_index(store)
    assert report.is_clean
    assert report.leftovers == (str(store.layout.version(key, "v000002")),)

    apply_gc(store)

    assert store.begun_version_ids(key) == ("v000001",)
    assert store.next_version_id(key) == "v000003"


def test_gc_again_finds_nothing_and_its_marks_cost_no_history() -> None:
    bucket = prepared()
    for mark in ("three", "four", "five"):
        publish_sections(open_store(bucket), sample_sections(mark))
    apply_gc(open_store(bucket), keep_releases=3)
    first = open_store(bucket).releases()

    again = apply_gc(open_store(bucket), keep_releases=3)

    store = open_store(bucket)
    assert again.is_empty
    assert store.releases() == first == ("000004", "000005", "000006", "000007")
    assert [store.release(name).reason for name in first] == ["build", "build", "build", "gc"]
    assert store.release("000006").documents == store.release("000007").documents
    publish_sections(store, sample_sections("six"))
    apply_gc(store, keep_releases=3)
    assert [store.release(name).reason for name in store.releases()] == ["build", "build", "gc", "build", "gc"]
