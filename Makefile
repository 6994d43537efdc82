# Three commands, each from nothing: `make demo`, `make test`, `make check`. All build .venv first, once.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --disable-pip-version-check
READY  := $(VENV)/.ready

.PHONY: demo test check clean

demo: $(READY)
	$(PY) -m laconic.cli demo

test: check
	$(PY) -m pytest -n auto --dist worksteal

check: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy --strict laconic/

# torch goes in first and alone, under the constraints: another package that asks for "torch" would
# otherwise bring gigabytes of CUDA. No build isolation: it would fetch a setuptools of its own.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Laconic needs Python 3.11 or newer. Name one: make PYTHON=python3.11"; exit 1; }
	@echo "Installing into $(VENV) (once; torch is the large part) ..."
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV) || \
		{ echo "Creating $(VENV) failed. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PIP) install --quiet -c constraints.txt setuptools
	$(PIP) install -c constraints.txt torch
	$(PIP) install --quiet -c constraints.txt --no-build-isolation -e '.[demo,dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
