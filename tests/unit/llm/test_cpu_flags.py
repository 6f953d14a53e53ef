"""Compiler switches: what the processor has, never AMX."""

import subprocess
import sys
from pathlib import Path

from pageindex_local.llm.cpu_flags import cmake_definitions, parse_cpu_flags, uv_argument

OLD = "processor\t: 0\nflags\t\t: fpu sse4_2 avx\n"
NEW = OLD.replace(
    "avx", "avx avx2 bmi2 fma f16c avx512f avx512cd avx512vl avx512dq avx512bw amx_tile amx_int8 amx_bf16"
)


def test_cmake_definitions_name_exactly_what_the_processor_has() -> None:
    definitions = cmake_definitions("x86_64", parse_cpu_flags(OLD))
    assert "-DGGML_NATIVE=OFF" in definitions
    assert "-DGGML_AVX=ON" in definitions
    assert "-DGGML_AVX2=OFF" in definitions


def test_cmake_definitions_never_switch_amx_on() -> None:
    definitions = cmake_definitions("x86_64", parse_cpu_flags(NEW))
    assert "-DGGML_AVX512=ON" in definitions
    assert [d for d in definitions if "AMX" in d] == [f"-DGGML_AMX_{kind}=OFF" for kind in ("TILE", "INT8", "BF16")]


def test_cmake_definitions_need_every_part_of_avx512() -> None:
    assert "-DGGML_AVX512=OFF" in cmake_definitions("x86_64", parse_cpu_flags(NEW.replace("avx512vl", "")))


def test_cmake_definitions_elsewhere_leave_detection_to_llama_cpp() -> None:
    assert cmake_definitions("aarch64", parse_cpu_flags("Features\t: fp asimd\n")) == ["-DGGML_NATIVE=ON"]


def test_cpu_flags_run_as_a_script_print_one_uv_argument() -> None:
    script = Path(__file__).resolve().parents[3] / "pageindex_local" / "llm" / "cpu_flags.py"
    done = subprocess.run([sys.executable, "-I", str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(uv_argument([]))
    assert len(done.stdout.split()) == 1
