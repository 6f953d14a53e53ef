"""Offline document index: section trees, summaries and checked page citations from a local GGUF model."""

__version__ = "0.1.0"
