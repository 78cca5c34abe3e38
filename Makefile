# Two commands: `make demo` and `make test`. The first of either makes the environment, once; later ones do not repeat it.
# PYTHON=python3.12 chooses the interpreter, WORKERS=8 the test processes. Without make: see the README.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt


.PHONY: demo demo-model test test-all check bench docs dist clean

demo: $(VENV)/.installed
	$(BIN)/pellucid demo

test: check
	sh tests/install_chromium.sh
	$(BIN)/pytest -n $(WORKERS) -m "not slow"

test-all: check $(VENV)/.installed-notebooks
	sh tests/install_chromium.sh
	$(BIN)/pytest -n $(WORKERS)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/oxfmt --check pellucid/page/script
	$(BIN)/oxlint pellucid/page/script

# The model inside the package, trained anew. Measured figures and docs/images may change with it.
demo-model: $(VENV)/.installed
	rm -rf build/demo
	$(BIN)/python -m tools.demo_model

bench: $(VENV)/.installed-dev
	sh tests/install_chromium.sh
	$(BIN)/python -m benchmarks

# The documentation as a site, in site/: open site/index.html.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m tools.site.check site

# The packages of a release in dist/, each checked: docs/releasing.md. PYTHONS="python3.11 python3.13" names those to install them with.
dist: $(VENV)/.installed-dist
	$(BIN)/python -m tools.dist $(PYTHONS)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name .git -prune -o -name __pycache__ -prune -exec rm -rf {} +

# A stamp says that what pyproject.toml and constraints.txt ask for is installed, and the kernels are compiled.
KERNELS := hatch_build.py pellucid/decoding/kernels.c pellucid/decoding/vectors.h pellucid/learning/fused.c

$(VENV)/.installed: pyproject.toml constraints.txt $(KERNELS) | $(VENV)/pyvenv.cfg
	$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt $(KERNELS) | $(VENV)/pyvenv.cfg
	$(PIP) --editable ".[dev]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-notebooks: $(VENV)/.installed-dev
	$(PIP) --editable ".[dev,notebooks]"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(PIP) --editable ".[dev,docs]"
	@touch $@

$(VENV)/.installed-dist: $(VENV)/.installed-dev
	$(PIP) --editable ".[dev,dist]"
	@touch $@

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Pellucid needs Python 3.11 or newer, and '$(PYTHON)' is not: $$($(PYTHON) --version 2>&1)."; \
		echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@echo "Installing into $(VENV). This happens once and takes some minutes: PyTorch is large."
