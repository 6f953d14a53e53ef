"""The scheduler against a cache that is simulated cell by cell, as the engine would hold it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageindex_local.llm.batching import Job, Scheduler


class _Cache:
    """Sequences of tokens over shared cells; carries out steps and checks that they make sense."""

    def __init__(self, sequences: int, cells: int) -> None:
        self.held: list[list[tuple[int, int]]] = [[] for _ in range(sequences)]  # (token, cell)
        self.cells = cells
        self.next_cell = 0
        self.read = 0

    def run(self, scheduler: Scheduler[list[int]], batch_tokens: int) -> None:
        while step := scheduler.next_step():
            for share in step.shares:
                if share.source == share.target:
                    del self.held[share.target][share.length :]
                else:
                    assert not self.held[share.target]
                    assert len(self.held[share.source]) >= share.length
                    self.held[share.target] = self.held[share.source][: share.length]
            assert 0 < sum(len(read.tokens) for read in step.reads) <= batch_tokens
            for read in step.reads:
                assert len(self.held[read.number]) == read.start
                for token in read.tokens:
                    self.held[read.number].append((token, self.next_cell))
                    self.next_cell += 1
                    self.read += 1
            assert len({cell for held in self.held for _, cell in held}) <= self.cells
            for read in step.reads:
                assert [token for token, _ in self.held[read.number]] == read.job.tokens[: len(self.held[read.number])]
                outputs = range(max(read.start, read.first_output), read.start + len(read.tokens))
                read.job.payload.extend(outputs)
                if outputs and read.job.max_new:
                    scheduler.extend(read.number, 9_000 + read.number)
                elif outputs and outputs[-1] == len(read.job.tokens) - 1:
                    scheduler.end(read.number)


_TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=40)


@given(
    prompts=st.lists(st.tuples(_TOKENS, st.integers(0, 6), st.integers(0, 40)), max_size=25),
    start=st.lists(st.integers(0, 2), max_size=20),
    sequences=st.integers(1, 5),
    batch_tokens=st.integers(1, 32),
    cells=st.integers(66, 200),
    share=st.booleans(),
)
def test_run_any_jobs_reads_each_to_its_end_within_the_cells(
    prompts: list[tuple[list[int], int, int]],
    start: list[int],
    sequences: int,
    batch_tokens: int,
    cells: int,
    share: bool,
) -> None:
    jobs: list[Job[list[int]]] = []
    for tokens, max_new, back in prompts:
        whole = start + tokens
        first_output = len(whole) - 1 if max_new else max(0, len(whole) - 1 - back)
        jobs.append(Job(whole, first_output, max_new, []))
    expected = [list(range(job.first_output, len(job.tokens) + job.max_new)) for job in jobs]
    scheduler: Scheduler[list[int]] = Scheduler(
        sequences=sequences, cell_count=cells, batch_tokens=batch_tokens, share_prefixes=share
    )
    scheduler.add(jobs)
    _Cache(sequences, cells).run(scheduler, batch_tokens)
    assert [job.payload for job in jobs] == expected  # each output position exactly once, in order


def test_run_common_start_reads_it_once() -> None:
    start = list(range(60))
    jobs: list[Job[list[int]]] = [Job([*start, 100 + number, 200 + number], 61, 0, []) for number in range(20)]
    scheduler: Scheduler[list[int]] = Scheduler(sequences=4, cell_count=1_000, batch_tokens=64)
    scheduler.add(jobs)
    cache = _Cache(4, 1_000)
    cache.run(scheduler, 64)
    assert cache.read == 60 + 20 * 2


def test_run_without_sharing_reads_everything() -> None:
    jobs: list[Job[list[int]]] = [Job([1, 2, 3, number], 3, 0, []) for number in range(5)]
    scheduler: Scheduler[list[int]] = Scheduler(sequences=2, cell_count=100, batch_tokens=8, share_prefixes=False)
    scheduler.add(jobs)
    cache = _Cache(2, 100)
    cache.run(scheduler, 8)
    assert cache.read == 5 * 4


def test_next_step_job_larger_than_the_cache_is_an_error() -> None:
    scheduler: Scheduler[list[int]] = Scheduler(sequences=2, cell_count=10, batch_tokens=8)
    scheduler.add([Job(list(range(11)), 10, 0, [])])
    with pytest.raises(ValueError, match="10 cells"):
        scheduler.next_step()
