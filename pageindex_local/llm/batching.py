"""Which sequence reads or writes which tokens next: token lists in, a plan for each decoding step out.

Continuous batching over a fixed number of sequences that share one key-value cache. When one job ends the next takes
its sequence; what a new job has in common with tokens already read is shared, not read again. Knows no engine.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Payload = TypeVar("_Payload")
MIN_SHARED_TOKENS = 8  # shorter common starts are not worth waiting for


@dataclass(slots=True)
class Job(Generic[_Payload]):
    """Tokens to read, from `first_output` on with logits, and room for `max_new` more. `payload` is the caller's."""

    tokens: list[int]
    first_output: int
    max_new: int
    payload: _Payload


@dataclass(slots=True)
class Sequence(Generic[_Payload]):
    """One sequence of the cache: `held` tokens have been read, `cells` are the cache cells that hold them."""

    number: int
    held: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    job: Job[_Payload] | None = None
    last_used: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """Before the step: let the empty `target` hold the first `length` tokens of `source`.

    Where source and target are the same: drop what lies beyond `length`.
    """

    source: int
    target: int
    length: int


@dataclass(frozen=True, slots=True)
class Read(Generic[_Payload]):
    """In the step: sequence `number` reads `tokens` at positions from `start`; logits from `first_output` on."""

    number: int
    start: int
    tokens: list[int]
    first_output: int
    job: Job[_Payload]


@dataclass(frozen=True, slots=True)
class Step(Generic[_Payload]):
    """What to do next: shares in this order, then one batch of reads."""

    shares: list[Share]
    reads: list[Read[_Payload]]


class Scheduler(Generic[_Payload]):
    """Plans steps of at most `batch_tokens` tokens over `sequences` sequences and a cache of `cell_count` cells.

    A job is admitted only when its prompt and all it may write fit beside what is admitted already, so no step can run
    out of cells. Every job must fit by itself. Jobs are admitted in order, except that one waits where another is just
    reading a start that both have.
    """

    def __init__(self, *, sequences: int, cell_count: int, batch_tokens: int, share_prefixes: bool = True) -> None:
        self._sequences: list[Sequence[_Payload]] = [Sequence(number) for number in range(sequences)]
        self._cell_count = cell_count
        self._batch_tokens = batch_tokens
        self._share_prefixes = share_prefixes
        self._references: dict[int, int] = {}
        self._next_cell = 0
        self._pending: deque[Job[_Payload]] = deque()
        self._shares: list[Share] = []
        self._clock = 0

    def add(self, jobs: Iterable[Job[_Payload]]) -> None:
        """Queue jobs."""
        self._pending.extend(jobs)

    def next_step(self) -> Step[_Payload] | None:
        """The next step, or None when all jobs have ended. What it plans counts as done from here on."""
        self._clock += 1
        self._shares = []
        self._admit()
        if not self._pending:
            for sequence in self._sequences:
                if sequence.job is None and sequence.cells:
                    self._cut(sequence, 0)  # nobody is left to share it: fewer cells make attention cheaper
        reads = self._plan_reads()
        if self._pending and not reads:
            raise ValueError(f"a job of {len(self._pending[0].tokens)} tokens does not fit {self._cell_count} cells")
        return Step(self._shares, reads) if reads else None

    def extend(self, number: int, token: int) -> None:
        """The job of a sequence goes on with one more token, read in the next step."""
        job = self._sequences[number].job
        assert job is not None
        job.tokens.append(token)
        job.max_new -= 1

    def end(self, number: int) -> None:
        """The job of a sequence is over; the sequence keeps its tokens for others to share until it is needed."""
        self._sequences[number].job = None

    def _admit(self) -> None:
        waiting: deque[Job[_Payload]] = deque()
        while self._pending and any(sequence.job is None for sequence in self._sequences):
            job = self._pending.popleft()
            source, length, promised = self._find_source(job)
            if promised - length >= MIN_SHARED_TOKENS:
                waiting.append(job)
                continue
            if not self._make_room(job, source, length):
                waiting.append(job)
                break
            self._start(job, source, length)
        waiting.extend(self._pending)
        self._pending = waiting

    def _start(self, job: Job[_Payload], source: Sequence[_Payload] | None, length: int) -> None:
        target = self._choose_target(source)
        target.job = job
        if source is None or source is target:
            self._cut(target, length)
            return
        self._cut(target, 0)
        target.held, target.cells = source.held[:length], source.cells[:length]
        for cell in target.cells:
            self._references[cell] += 1
        self._shares.append(Share(source.number, target.number, length))

    def _find_source(self, job: Job[_Payload]) -> tuple[Sequence[_Payload] | None, int, int]:
        """The sequence that holds most of the job's start, how much, and how much one being read will hold soon."""
        best: Sequence[_Payload] | None = None
        length = promised = 0
        if self._share_prefixes:
            for sequence in self._sequences:
                common = _common_length(sequence.held, job.tokens, job.first_output)
                if common > length:
                    best, length = sequence, common
                if sequence.job is not None and common == len(sequence.held):
                    promised = max(promised, _common_length(sequence.job.tokens, job.tokens, job.first_output))
        return best, length, promised

    def _make_room(self, job: Job[_Payload], source: Sequence[_Payload] | None, length: int) -> bool:
        """Whether the job fits; idle sequences give up their cells for it, the longest unused first."""
        needed = len(job.tokens) + job.max_new - length
        idle = [sequence for sequence in self._sequences if sequence.job is None and sequence.cells]
        idle.sort(key=lambda sequence: (sequence is source, sequence.last_used))
        while len(self._references) + self._promised_cells() + needed > self._cell_count:
            if not idle:
                return False
            sequence = idle.pop(0)
            self._cut(sequence, length if sequence is source else 0)
        return True

    def _promised_cells(self) -> int:
        return sum(
            len(sequence.job.tokens) - len(sequence.held) + sequence.job.max_new
            for sequence in self._sequences
            if sequence.job is not None
        )

    def _choose_target(self, source: Sequence[_Payload] | None) -> Sequence[_Payload]:
        """An idle sequence: an empty one, else the source itself, else the longest unused."""
        idle = [sequence for sequence in self._sequences if sequence.job is None]
        return min(idle, key=lambda s: (bool(s.cells), s is not source, s.last_used))

    def _cut(self, sequence: Sequence[_Payload], length: int) -> None:
        for cell in sequence.cells[length:]:
            self._references[cell] -= 1
            if not self._references[cell]:
                del self._references[cell]
        del sequence.cells[length:]
        del sequence.held[length:]
        self._shares.append(Share(sequence.number, sequence.number, length))

    def _plan_reads(self) -> list[Read[_Payload]]:
        """Sequences that write come first (one token each), then those that read, as far as the batch goes."""
        active = [sequence for sequence in self._sequences if sequence.job is not None]
        active.sort(key=lambda s: len(s.job.tokens) - len(s.held) if s.job else 0)
        room = self._batch_tokens
        reads: list[Read[_Payload]] = []
        for sequence in active:
            job = sequence.job
            if job is None or not room:
                continue
            start = len(sequence.held)
            tokens = job.tokens[start : start + room]
            room -= len(tokens)
            sequence.held.extend(tokens)
            for cell in range(self._next_cell, self._next_cell + len(tokens)):
                self._references[cell] = 1
                sequence.cells.append(cell)
            self._next_cell += len(tokens)
            sequence.last_used = self._clock
            reads.append(Read(sequence.number, start, tokens, job.first_output, job))
        return reads


def _common_length(held: list[int], wanted: list[int], limit: int) -> int:
    """How many tokens both start with, at most `limit` (the logits from there on must be computed anew)."""
    limit = min(limit, len(held), len(wanted))
    if held[:limit] == wanted[:limit]:
        return limit
    return next(index for index in range(limit) if held[index] != wanted[index])
