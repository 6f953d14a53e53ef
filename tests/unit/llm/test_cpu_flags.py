"""Compiler switches: what the processor has, never AMX."""

import subprocess
import sys
import tomllib
from pathlib import Path

from pageindex_local.llm.cpu_flags import (
    cmake_definitions,
    host_cmake_definitions,
    parse_cpu_flags,
    uv_arguments,
)

ROOT = Path(__file__).resolve().parents[3]

OLD = "processor\t: 0\nflags\t\t: fpu sse4_2 avx\n"
NEW = OLD.replace(
    "avx", "avx avx2 bmi2 fma f16c avx512f avx512cd avx512vl avx512dq avx512bw amx_tile amx_int8 amx_bf16"
)


def test_cmake_definitions_name_exactly_what_the_processor_has() -> None:
    definitions = cmake_definitions("x86_64", parse_cpu_flags(OLD))
    assert definitions["GGML_AVX"] == "ON"
    assert definitions["GGML_AVX2"] == "OFF"


def test_cmake_definitions_never_name_amx_or_detection() -> None:
    definitions = cmake_definitions("x86_64", parse_cpu_flags(NEW))
    assert definitions["GGML_AVX512"] == "ON"
    assert not [switch for switch in definitions if "AMX" in switch or "NATIVE" in switch]


def test_cmake_definitions_need_every_part_of_avx512() -> None:
    assert cmake_definitions("x86_64", parse_cpu_flags(NEW.replace("avx512vl", "")))["GGML_AVX512"] == "OFF"


def test_cmake_definitions_elsewhere_are_left_to_the_portable_build() -> None:
    assert cmake_definitions("aarch64", parse_cpu_flags("Features\t: fp asimd\n")) == {}


def test_pyproject_switches_detection_off_for_every_installation() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    settings = project["tool"]["uv"]["config-settings-package"]["llama-cpp-python"]
    assert settings["cmake.define.GGML_NATIVE"] == "OFF"


def test_cpu_flags_run_as_a_script_print_the_arguments_of_this_machine() -> None:
    script = ROOT / "pageindex_local" / "llm" / "cpu_flags.py"
    done = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == uv_arguments(host_cmake_definitions())
