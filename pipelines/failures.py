"""Errors of the library as Dagster failures. They are final: the same input fails again, so no step retries them."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from pageindex_local.errors import PageindexError


@contextmanager
def final_errors() -> Iterator[None]:
    """Run library code; what it raises becomes a failure without retries, with the error as its cause.

    Raises:
        dg.Failure: the library raised a `PageindexError`.
    """
    try:
        yield
    except PageindexError as error:
        metadata: dict[str, dg.MetadataValue | str | int] = {
            "kind": type(error).__name__,
            "exit_code": error.exit_code,
            "subject": error.subject,
        }
        raise dg.Failure(description=str(error), metadata=metadata, allow_retries=False) from error
