"""A model file opened by llama.cpp: a path in, the native model out, and how all of it is freed. Reads no text."""

import os
from pathlib import Path
from typing import Any

from pageindex_local.errors import ModelFileError
from pageindex_local.llm.llamacpp.native import clear_errors, last_error, native


def load_weights(weights: Path, *, repack: bool) -> Any:
    """The native model, on the processor alone; whoever opens it frees it. `repack` as in `EngineOptions`.

    Raises:
        ModelFileError: llama.cpp cannot load it.
    """
    clear_errors()
    native.llama_backend_init()
    parameters = native.llama_model_default_params()
    parameters.n_gpu_layers = 0
    # `make engine` leaves AMX out. A build from elsewhere may have it, and it is reached only by these buffers; on
    # a processor that names AMX but may not use it the first such instruction ends the process.
    parameters.use_extra_bufts = repack and b"AMX_INT8 = 1" not in native.llama_print_system_info()
    model = native.llama_model_load_from_file(os.fsencode(weights), parameters)
    if not model:
        raise ModelFileError(f"llama.cpp cannot load it: {last_error()}", subject=str(weights))
    return model


def free_native(batch: Any, context: Any, model: Any) -> None:
    """Free what was opened, in the order that llama.cpp wants; what is None was not."""
    if batch is not None:
        native.llama_batch_free(batch)
    if context:
        native.llama_free(context)
    if model:
        native.llama_model_free(model)
