"""The library itself: loads llama_cpp, keeps its complaints for error messages, and converts model files.

The rest of this package reaches llama.cpp through the name `native`; nothing outside the package does.
"""

import ctypes
import logging
import os
from collections import deque
from pathlib import Path

from pageindex_local.errors import EngineUnavailableError, ModelFileError
from pageindex_local.llm.threads import count_physical_cores

# Read by the OpenMP run time when llama_cpp is loaded. Threads that spin while another process works make both crawl.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

try:
    import llama_cpp as native
except (ImportError, OSError, RuntimeError) as error:  # a missing package, or a library that cannot be loaded
    raise EngineUnavailableError(
        f"llama-cpp-python cannot be loaded ({error})", next_step="Rebuild it for this machine with `make engine`."
    ) from None

__all__ = ["clear_errors", "convert_gguf", "last_error", "native"]

_LOG = logging.getLogger(__name__)
_native_errors: deque[str] = deque(maxlen=8)


@native.llama_log_callback  # type: ignore[untyped-decorator]
def _log_native(level: int, text: bytes, _: object) -> None:
    message = text.decode("utf-8", "replace").strip()
    if message and level in (2, 3):
        _native_errors.append(message)
        _LOG.debug("llama.cpp: %s", message)


# The callback object is a module global: were it collected, the next log line would end the process.
native.llama_log_set(_log_native, ctypes.c_void_p(0))


def clear_errors() -> None:
    """Forget what llama.cpp complained of, so that `last_error` is about what comes next."""
    _native_errors.clear()


def last_error() -> str:
    """The last complaint of llama.cpp."""
    return _native_errors[-1] if _native_errors else "no reason given"


def convert_gguf(source: Path, target: Path, file_type: str) -> None:
    """Write `source` as `target` in another llama.cpp file type (`Q8_0`, `Q4_0`), by llama.cpp's own quantiser.

    Raises:
        ModelFileError: an unknown type, or a file that cannot be converted.
    """
    kind = getattr(native, f"LLAMA_FTYPE_MOSTLY_{file_type.upper()}", None)
    if kind is None:
        raise ModelFileError(f"llama.cpp knows no file type {file_type}", subject=str(source))
    parameters = native.llama_model_quantize_default_params()
    parameters.ftype = kind
    parameters.allow_requantize = True
    parameters.nthread = count_physical_cores()
    clear_errors()
    if native.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(parameters)):
        raise ModelFileError(f"cannot be converted to {file_type}: {last_error()}", subject=str(source))
