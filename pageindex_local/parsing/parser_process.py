"""A PDF source in, its records out, read by a child process that may crash, hang or grow without harm to this one."""

import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from pageindex_local.errors import EncryptedSourceError, ParserCrashError, SourceError, SourceLimitError
from pageindex_local.parsing.assemble import assemble_document
from pageindex_local.parsing.page_records import End, Head, PageRecord
from pageindex_local.parsing.wire import Request, decode_record, encode_request
from pageindex_local.records import ParsedDocument, Source
from pageindex_local.settings import ParseSettings

# After so much a fresh child takes over: native libraries have leaked before, and memory once taken is seldom returned.
_PAGES_PER_CHILD = 5_000
_DOCUMENTS_PER_CHILD = 500
_RESIDENT_BYTES_PER_CHILD = 500_000_000
_CLOSE_TIMEOUT_S = 5.0


class ParserProcess:
    """A parser child that serves one document after another; starts when first needed, and again after it died.

    Starting costs most of a second, so keep one for a run over many documents. Use it as a context manager, from one
    thread at a time.

    Args:
        passwords: tried in turn for documents that need one. They go to the child through its pipe and nowhere else.
    """

    def __init__(self, passwords: Sequence[str] = ()) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._pages = 0
        self._documents = 0
        self._passwords = tuple(passwords)
        self._program = _bootstrap()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def parse(self, source: Source, settings: ParseSettings, *, password: str | None = None) -> ParsedDocument:
        """The parsed document. With `password` no other one is tried.

        Raises:
            SourceError: what the child raised; `SourceLimitError` where it took too long or too much memory, and
                `ParserCrashError` where it crashed.
        """
        candidates: Sequence[str | None] = [password] if password is not None else self._passwords or [None]
        for candidate in candidates[:-1]:
            try:
                return self._parse(Request(source, settings, candidate))
            except EncryptedSourceError:
                continue
        return self._parse(Request(source, settings, candidates[-1]))

    def _parse(self, request: Request) -> ParsedDocument:
        records = self._records(request)
        try:
            return assemble_document(request.source, records)
        finally:
            records.close()

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            _end(child)
        if self._messages is not None:
            self._messages.close()
            self._messages = None
        self._pages = self._documents = 0

    def _records(self, request: Request) -> Generator[Head | PageRecord | End, None, None]:
        if self._child is not None and (self._is_worn(self._child) or self._child.poll() is not None):
            self.close()
        if self._child is None:
            self._start()
        self._documents += 1
        child = self._child
        assert child is not None
        assert child.stdin is not None
        assert child.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(request.settings.timeout_s, stop)
        timer.daemon = True
        timer.start()
        finished = False
        page_number = 0
        try:
            try:
                child.stdin.write(encode_request(request))
                child.stdin.flush()
            except BrokenPipeError:
                pass  # it died before it read anything: found below
            for line in child.stdout:
                if not line.endswith(b"\n"):
                    break
                try:
                    record = decode_record(line)
                except SourceError:
                    finished = True
                    raise
                if isinstance(record, PageRecord):
                    page_number = record.page_number
                    self._pages += 1
                finished = isinstance(record, End)
                yield record
                if finished:
                    return
            raise self._death(child, request, page_number, late.is_set())
        finally:
            timer.cancel()
            if not finished or late.is_set():
                self.close()

    def _is_worn(self, child: subprocess.Popen[bytes]) -> bool:
        return (
            self._pages >= _PAGES_PER_CHILD
            or self._documents >= _DOCUMENTS_PER_CHILD
            or _resident_bytes(child.pid) >= _RESIDENT_BYTES_PER_CHILD
        )

    def _start(self) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-c", self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
        )

    def _death(self, child: subprocess.Popen[bytes], request: Request, page_number: int, late: bool) -> SourceError:
        """Why the child is gone."""
        try:
            code = child.wait(_CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        subject, settings = request.source.doc_id, request.settings
        where = f"after page {page_number}" if page_number else "before the first page"
        if late or code == -signal.SIGXCPU:
            return SourceLimitError(
                f"takes longer to parse than parse.timeout_s = {settings.timeout_s:g} seconds (stopped {where}).",
                subject=subject,
                next_step="Raise the limit, or split the file.",
            )
        if code == -signal.SIGKILL:
            return SourceLimitError(
                f"the parser was killed {where}, most likely because the machine ran out of memory.",
                subject=subject,
                next_step="Free memory, lower parse.memory_bytes, or split the file.",
            )
        message = self._last_message()
        if code < 0:
            name = signal.Signals(-code).name if -code in signal.valid_signals() else str(-code)
            what = f"the PDF library crashed {where} ({name})."
        else:
            what = f"the parser ended {where} with code {code}{f' ({message})' if message else ''}."
        return ParserCrashError(
            what, subject=subject, next_step="Open it in a viewer and save it again, or get a fresh copy."
        )

    def _last_message(self) -> str:
        if self._messages is None:
            return ""
        size = self._messages.seek(0, 2)
        self._messages.seek(max(0, size - 2_000))
        lines = self._messages.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else ""


def _resident_bytes(pid: int) -> int:
    """How much memory a process holds; 0 where the system does not say.

    Source: the second field of /proc/pid/statm, proc_pid_statm(5).
    """
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def _bootstrap() -> str:
    """The child's program. Isolated mode reads no environment and no current folder; only our own path is added."""
    return f"import sys; sys.path[:] = {sys.path!r}; from pageindex_local.parsing.worker import main; main()"


def _end(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                continue
    try:
        child.wait(_CLOSE_TIMEOUT_S if child.poll() is None else 0)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
