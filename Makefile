# Every verb sets itself up: a machine with Python 3.11+, pip and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

PIP := python -m pip install --quiet --disable-pip-version-check
TOOLS := .venv-tools
DOCS := .venv-docs
BLENDER := .venv-blender

.PHONY: demo test lint package blender blender-env docs bench bench-compare results torture torture-atheris lock audit clean

# Only what requirements.lock names, in the files whose hashes it lists; nothing is resolved or fetched beyond it.
# ducc0 goes to a folder of its own, which only its tests look at: it is under the GPL, and changes the last bits.
$(READY): pyproject.toml requirements.lock requirements-ducc0.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/$(PIP) --require-hashes -r requirements.lock
	$(BIN)/$(PIP) --no-build-isolation --no-deps -e .
	-$(BIN)/$(PIP) --require-hashes --no-deps --upgrade --target $(VENV)/ducc0 -r requirements-ducc0.lock
	@touch $@

demo: $(READY)       ## the main job, small: pictures in out/demo
	$(BIN)/python -m keyfluid demo -o out/demo

test: $(READY)       ## the whole suite
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(READY)       ## style and types
	$(BIN)/ruff check src tests benchmarks blender .ci docs/conf.py docs/_extensions
	$(BIN)/ruff format --check --quiet src tests benchmarks blender .ci docs/conf.py docs/_extensions
	$(BIN)/mypy

package: $(READY)    ## wheel and sdist in dist, checked; the wheel tried in an empty environment
	$(BIN)/python .ci/package.py

# Blender as a Python module has an environment of its own, which only tests/blender and this check look at.
$(BLENDER)/.ready: requirements-blender.lock
	PYTHON=$(PYTHON) .ci/blender_env $(BLENDER)

blender-env: $(BLENDER)/.ready  ## Blender and usd-core as oracles: 1.2 GB

blender: $(READY)    ## the Blender extension: dist/keyfluid-blender-VERSION.zip, checked against Blender's rules
	$(BIN)/python .ci/blender_package.py

# The site has an environment of its own, so that those who only run or test keyfluid do not install Sphinx.
$(DOCS)/.ready: requirements-docs.lock
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/$(PIP) --require-hashes -r requirements-docs.lock
	@touch $@

docs: $(DOCS)/.ready ## the site: out/site/index.html
	rm -rf out/site docs/_notebooks
	$(DOCS)/bin/python -m sphinx -q -E -W --keep-going -b html -d out/site_cache docs out/site
	$(DOCS)/bin/python .ci/site.py out/site

bench: $(READY)      ## our kernels, whole gradients, and peers in environments of their own
	$(BIN)/python benchmarks/run_all.py

bench-compare: $(READY)  ## two commits side by side, with ratios: make bench-compare A=v0.1 B=main
	$(BIN)/python benchmarks/compare_commits.py $(A) $(B) --rounds $(or $(ROUNDS),3) $(if $(WHAT),--only $(WHAT))

results: $(READY)    ## the papers' examples at their own size (docs/results.md)
	$(BIN)/python benchmarks/results/run_all.py

lock:                ## the lock files again from pyproject.toml, with the newest versions
	rm -rf $(TOOLS) && $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/$(PIP) uv
	$(TOOLS)/bin/uv pip compile --quiet --no-config --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-annotate --custom-compile-command "make lock" --extra dev --extra mesh --extra video --extra studio \
	    --extra cluster pyproject.toml --output-file requirements.lock
	echo "ducc0>=0.34" | $(TOOLS)/bin/uv pip compile --quiet --no-config --upgrade --universal --python-version 3.11 \
	    --generate-hashes --no-annotate --no-deps --custom-compile-command "make lock" - \
	    --output-file requirements-ducc0.lock
	$(TOOLS)/bin/uv pip compile --quiet --no-config --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-annotate --custom-compile-command "make lock" --extra docs --constraint requirements.lock \
	    pyproject.toml --output-file requirements-docs.lock
	printf 'bpy==4.5.*\nusd-core>=25.11\n' | $(TOOLS)/bin/uv pip compile --quiet --no-config --upgrade --python-version 3.11 \
	    --generate-hashes --no-annotate --custom-compile-command "make lock" - --output-file requirements-blender.lock
	rm -rf $(TOOLS)

audit:               ## known advisories for the lock and the lower bounds (Error 1), or nobody to ask (Error 2)
	rm -rf $(TOOLS) && $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/$(PIP) pip-audit
	$(TOOLS)/bin/python .ci/audit.py
	rm -rf $(TOOLS)

FOLDERS ?= 1000
KILLS ?= 1000
FAULTS ?= 300
CUTS ?= 100
LIMITS ?= 100
INPUTS ?= 1000000
SEED ?= 1
torture: $(READY)    ## kills, faults, power cuts, want of memory, hostile files: figures in out/torture
	PYTHONPATH=tests $(BIN)/python -m torture --folders $(FOLDERS) --kills $(KILLS) --faults $(FAULTS) --power $(CUTS) \
		--memory $(LIMITS) --fuzz $(INPUTS) --seed $(SEED)

READER ?= vdb
SECONDS ?= 600
torture-atheris: $(READY)  ## one reader under atheris, guided by coverage
	$(BIN)/pip install --quiet --disable-pip-version-check atheris
	PYTHONPATH=tests $(BIN)/python -m torture.atheris_entry $(READER) -max_total_time=$(SECONDS)

clean:
	rm -rf $(VENV) $(TOOLS) $(DOCS) $(BLENDER) out dist docs/_notebooks .pytest_cache .mypy_cache .ruff_cache
