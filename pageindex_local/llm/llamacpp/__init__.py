"""The in-process engine by llama.cpp: the only package that imports llama_cpp.

Built on the low-level interface, because the high-level one reads one sequence at a time, ignores some schemas in
silence and cuts `max_tokens` without a word. `native` loads the library, `weights` a file, `vocabulary` holds tokens
and grammars, `context` reads batches, `model` is the engine that callers see; `embedder` makes vectors by a context of
its own.
"""

from pageindex_local.llm.llamacpp.context import EngineOptions
from pageindex_local.llm.llamacpp.embedder import LlamaCppEmbedder
from pageindex_local.llm.llamacpp.model import LlamaCppModel
from pageindex_local.llm.llamacpp.native import convert_gguf

__all__ = ["EngineOptions", "LlamaCppEmbedder", "LlamaCppModel", "convert_gguf"]
