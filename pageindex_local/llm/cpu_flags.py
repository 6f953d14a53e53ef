"""Compiler switches for llama.cpp that fit this processor.

Enters: the processor's feature flags. Leaves: CMake definitions. Uses the standard library only, because `make` runs
this file before anything is installed.

llama.cpp's own detection (`GGML_NATIVE`) also turns on AMX. A kernel or hypervisor can advertise AMX tiles that a
process may not use, and the first `tileloadd` then ends it with SIGILL. So the instruction set is named switch by
switch here, and AMX is never one of them: ggml leaves it off when its detection is off (pyproject.toml says so).
"""

import platform
import sys
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")

# ggml's switch -> the processor flags that must all be present.
# Source: ggml/CMakeLists.txt and ggml/src/ggml-cpu/CMakeLists.txt of llama.cpp.
X86_SWITCHES: dict[str, tuple[str, ...]] = {
    "GGML_SSE42": ("sse4_2",),
    "GGML_AVX": ("avx",),
    "GGML_AVX2": ("avx2",),
    "GGML_BMI2": ("bmi2",),
    "GGML_FMA": ("fma",),
    "GGML_F16C": ("f16c",),
    "GGML_AVX_VNNI": ("avx_vnni",),
    "GGML_AVX512": ("avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"),
    "GGML_AVX512_VBMI": ("avx512vbmi",),
    "GGML_AVX512_VNNI": ("avx512_vnni",),
    "GGML_AVX512_BF16": ("avx512_bf16",),
}


def parse_cpu_flags(cpuinfo: str) -> frozenset[str]:
    """The feature flags of the first processor in the text of `/proc/cpuinfo` (empty where it lists none)."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    return frozenset()


def cmake_definitions(machine: str, cpu_flags: frozenset[str]) -> dict[str, str]:
    """Switches of ggml for a processor, each `ON` or `OFF`, in a fixed order (the build cache is keyed by them).

    Empty for another architecture or without known flags: then the portable build that pyproject.toml asks for is used.
    """
    if machine.lower() not in ("x86_64", "amd64") or not cpu_flags:
        return {}
    return {switch: "ON" if cpu_flags.issuperset(needed) else "OFF" for switch, needed in X86_SWITCHES.items()}


def host_cmake_definitions() -> dict[str, str]:
    """The definitions for the machine this runs on."""
    cpuinfo = CPUINFO.read_text(encoding="utf-8", errors="replace") if CPUINFO.exists() else ""
    return cmake_definitions(platform.machine(), parse_cpu_flags(cpuinfo))


def uv_arguments(definitions: dict[str, str]) -> list[str]:
    """Arguments for `uv sync` that build llama-cpp-python with these definitions on top of those in pyproject.toml.

    uv keys its wheel cache by these settings, so one cache can serve machines with different processors.
    """
    return [
        f"--config-settings-package=llama-cpp-python:cmake.define.{switch}={value}"
        for switch, value in definitions.items()
    ]


if __name__ == "__main__":
    sys.stdout.write(" ".join(uv_arguments(host_cmake_definitions())) + "\n")
