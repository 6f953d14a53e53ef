"""The command line. `main` is the console script; each module of this package holds the commands of one kind."""

from pageindex_local.cli.app import app, main

__all__ = ["app", "main"]
