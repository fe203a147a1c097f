# The commands of the project; `make` alone lists them. Everything is installed into .venv, nothing anywhere else.

PY         := .venv/bin/python
PIP        := $(PY) -m pip --disable-pip-version-check
CPU_WHEELS := https://download.pytorch.org/whl/cpu
TORCH      := $(shell sed -n 's/.*"\(torch==[^"]*\)".*/\1/p' pyproject.toml)
AXE        := axe-core@4.14.1
# The stamps carry a checksum of what they were made from, so that a later call costs nothing and a new pin is noticed.
KEY        := $(shell cksum < pyproject.toml | cut -d' ' -f1)
LAB        := .venv/lab-$(KEY).stamp
TOOLS      := .venv/tools-$(KEY).stamp
AXE_STAMP  := .venv/$(AXE).stamp
PYTHONS    := $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python

.DEFAULT_GOAL := help
.PHONY: help venv lab test notebooks data claims bench

help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 16

venv: $(LAB) $(TOOLS) ## make .venv with the pinned packages and the test tools

lab: $(LAB) ## open JupyterLab on the first notebook; LAB_ARGS="--no-browser --port=9000" is passed on
	@exec $(PY) .jupyter/lab.py $(LAB_ARGS)

test: $(TOOLS) $(AXE_STAMP) ## run every test, those in a real browser included
	@$(PY) -m tests.get_browser
	@$(PY) -m ruff check && $(PY) -m ruff format --check --quiet
	@$(PY) -m pytest

notebooks: $(TOOLS) ## execute all notebooks and write the pictures that readers see without a kernel
	@$(PY) -m tests.notebooks

data: $(TOOLS) ## remake every file in data/; EXECUTOR=dask://host:port does it on a Dask cluster
	@$(PY) data/make.py

claims: $(TOOLS) ## measure every claim and print the ledger
	@$(PY) -m pytest -m claim --ledger

bench: $(TOOLS) ## measure speed: ours, the peer's, the limit, the ratio; writes benchmarks/results.json
	@$(PY) -m benchmarks.run

.venv/bin/pip:
	@found=; for p in $(PYTHONS); do \
	  if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$p; break; fi; \
	done; \
	test -n "$$found" || { echo "Python 3.11 or newer is needed and was not found: install it, or name it with make PYTHON=/path/to/python."; exit 1; }; \
	$$found -m venv .venv >/dev/null 2>&1 || { echo "$$found cannot make virtual environments: install its venv module (on Debian and Ubuntu: apt-get install python3-venv)."; exit 1; }

# Torch alone comes from PyTorch's own index, whose build has no CUDA in it; where that does not answer, the same pin
# comes from the default index with the rest. `alarm` because a name that does not resolve can hang beyond any timeout.
$(LAB): | .venv/bin/pip
	@echo "Setting up .venv: this takes a few minutes, once."
	@$(PIP) install --quiet "pip>=25.1"
	@$(PY) -c 'import signal, urllib.request as u; signal.alarm(6); u.urlopen("$(CPU_WHEELS)/torch/", timeout=5)' 2>/dev/null \
	  && $(PIP) install --quiet --no-deps --index-url $(CPU_WHEELS) $(TORCH) \
	  || echo "PyTorch's CPU index does not answer: torch comes from the default index."
	@$(PIP) install --quiet --group lab
	@rm -f .venv/lab-*.stamp && touch $@

$(TOOLS): | $(LAB)
	@$(PIP) install --quiet --group test
	@rm -f .venv/tools-*.stamp && touch $@

$(AXE_STAMP): | .venv/bin/pip
	@command -v npm >/dev/null || { echo "The browser tests need Node and npm, for axe-core: install them (on Debian: apt-get install nodejs npm)."; exit 1; }
	@npm install --prefix .venv --no-save --no-package-lock --no-audit --no-fund --silent $(AXE)
	@touch $@
