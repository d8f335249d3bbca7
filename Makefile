# Every verb sets itself up: a machine with Python 3.11+, pip and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench results torture torture-atheris clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e ".[dev,mesh]"
	@touch $@

demo: $(READY)       ## the main job, small: pictures in out/demo
	$(BIN)/python -m keyfluid demo -o out/demo

test: $(READY)       ## the whole suite
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(READY)       ## style and types
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy

bench: $(READY)      ## our kernels, whole gradients, and peers in environments of their own
	$(BIN)/python benchmarks/run_all.py

results: $(READY)    ## the papers' examples at their own size (docs/results.md)
	$(BIN)/python benchmarks/results/run_all.py

KILLS ?= 1000
FAULTS ?= 300
CUTS ?= 100
LIMITS ?= 100
INPUTS ?= 1000000
SEED ?= 1
torture: $(READY)    ## kills, faults, power cuts, want of memory, hostile files: figures in out/torture
	PYTHONPATH=tests $(BIN)/python -m torture --kills $(KILLS) --faults $(FAULTS) --power $(CUTS) \
		--memory $(LIMITS) --fuzz $(INPUTS) --seed $(SEED)

READER ?= vdb
SECONDS ?= 600
torture-atheris: $(READY)  ## one reader under atheris, guided by coverage
	$(BIN)/pip install --quiet --disable-pip-version-check atheris
	PYTHONPATH=tests $(BIN)/python -m torture.atheris_entry $(READER) -max_total_time=$(SECONDS)

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache
