# Two commands are all a newcomer needs: `make demo` and `make test`. Both install what they need first.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
INDEX := indexes
QUESTION := Which files are stored under /etc/opt?

export UV_PYTHON_DOWNLOADS := never
export DAGSTER_DISABLE_TELEMETRY := 1
# A waiting thread sleeps instead of spinning, so that another busy process does not slow the model down tenfold.
export OMP_WAIT_POLICY := passive

.DEFAULT_GOAL := help
.PHONY: help setup demo test check format dev engine bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Install everything into .venv (the other targets do this too)

demo: $(READY) ## Index a real 50-page standard with the bundled model and ask it a question
	$(BIN)/pageindex-local build docs/demo/fhs-3.0.pdf --index $(INDEX) --collection demo
	$(BIN)/pageindex-local tree fhs-3.0.pdf --index $(INDEX) --collection demo
	$(BIN)/pageindex-local ask "$(QUESTION)" --index $(INDEX) --collection demo

test: $(READY) ## Run all tests, the bundled model included
	$(BIN)/pytest

check: $(READY) ## Format, lint and type checks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY) ## Apply the formatter and the safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

dev: $(READY) ## Open the Dagster UI on this machine
	DAGSTER_HOME=$(CURDIR)/configs/dagster $(BIN)/dagster dev --module-name pipelines.definitions --host 127.0.0.1

engine: $(UV) ## Compile llama-cpp-python again for this processor
	$(UV) sync --locked --extra ui --reinstall-package llama-cpp-python --refresh-package llama-cpp-python \
	  $$($(PYTHON) pageindex_local/llm/cpu_flags.py)
	@touch $(READY)

bench: $(READY) ## Measure trees, ids, engine and crash safety (needs ../shared/data; see docs/benchmarks.md)
	$(BIN)/python -m tests.benchmarks.structure outline-dev --hide-outline
	$(BIN)/python -m tests.benchmarks.versions
	$(BIN)/python -m tests.benchmarks.engine speed
	$(BIN)/python -m tests.benchmarks.kill_build

clean: ## Remove the environment and the demonstration index
	rm -rf .venv .tools $(INDEX)/demo

# The instruction set is named explicitly, see pageindex_local/llm/cpu_flags.py. uv keeps the compiled wheel in its cache
# under these settings, so only the first installation on a kind of processor compiles.
$(READY): pyproject.toml uv.lock pageindex_local/llm/cpu_flags.py | $(UV)
	@command -v cc >/dev/null || { echo "A C and C++ compiler is needed to build llama.cpp (Debian: apt install build-essential)." >&2; exit 1; }
	@echo "Installing. The first time on a machine this compiles llama.cpp, which takes 5 to 15 minutes." >&2
	$(UV) sync --locked --compile-bytecode --extra ui $$($(PYTHON) pageindex_local/llm/cpu_flags.py)
	@touch $@

.tools/bin/uv:
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet uv
