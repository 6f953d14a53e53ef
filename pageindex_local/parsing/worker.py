"""The parser child: requests on standard input, records on standard output, one line of JSON each.

Started by `parser_process`, never imported by it. Limits its own address space and processor time for every document;
what ends it ends one document.
"""

import os
import resource
import sys
from typing import BinaryIO

from pageindex_local.errors import DamagedSourceError, SourceError, SourceLimitError
from pageindex_local.parsing.pdf import load_library, read_pdf
from pageindex_local.parsing.wire import Request, decode_request, encode_error, encode_record

_SPARE_SECONDS = 5.0  # of processor time beyond the wall clock, which the parent watches


def main() -> None:
    """Serve requests until standard input ends."""
    requests = sys.stdin.buffer
    # Only records go out on the pipe: whatever a native library prints to standard output goes to standard error.
    records = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)
    load_library()
    for line in requests:
        serve(decode_request(line), records)


def serve(request: Request, records: BinaryIO) -> None:
    """Write the records of one document, or one error."""
    subject = request.source.doc_id
    limit_resources(request.settings.memory_bytes, request.settings.timeout_s)
    try:
        records.writelines(
            encode_record(record) for record in read_pdf(request.source, request.settings, password=request.password)
        )
    except SourceError as error:
        records.write(encode_error(error))
    except MemoryError:
        records.write(
            encode_error(
                SourceLimitError(
                    "needs more memory than parse.memory_bytes allows.",
                    subject=subject,
                    next_step="Raise the limit, or split the file.",
                )
            )
        )
    except Exception as error:  # noqa: BLE001 - the native binding raises many classes, and the child serves on
        records.write(
            encode_error(
                DamagedSourceError(
                    f"cannot be parsed ({type(error).__name__}: {str(error)[:200]}).",
                    subject=subject,
                    next_step="Open it in a viewer and save it again, or get a fresh copy.",
                )
            )
        )
    records.flush()


def limit_resources(memory_bytes: int, cpu_s: float) -> None:
    """Allow so much address space beyond what is mapped now, and so much processor time beyond what is used now."""
    mapped = _mapped_bytes()
    if mapped:
        _set_limit(resource.RLIMIT_AS, mapped + memory_bytes)
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + cpu_s + _SPARE_SECONDS))
    _set_limit(resource.RLIMIT_CORE, 0)


def _mapped_bytes() -> int:
    """Address space of this process; 0 where the system does not say (then it is not limited)."""
    try:
        with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123 - not a document
            return int(stream.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return 0


def _set_limit(kind: int, value: int) -> None:
    """The soft limit, within the hard one; where the system refuses, the parent's wall clock remains."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(kind, (value, hard))
    except (OSError, ValueError):
        return


if __name__ == "__main__":
    main()
