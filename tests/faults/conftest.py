"""The fixtures of the command line, for faults that are seen through it."""

from tests.cli.conftest import folder, index, run

__all__ = ["folder", "index", "run"]
