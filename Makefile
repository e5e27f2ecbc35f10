# One word each; `make help` lists them. Each sets up what it needs in .venv on first use.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # tests start many processes: each would compile 600 modules again

.PHONY: help demo serve test system deep base matrix lint bench bench-quick docs constraints clean
.DEFAULT_GOAL := demo

help:  ## what there is to make
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 14

demo: $(VENV)/.report  ## a minute: drift, five policies, a table and an HTML report in out/demo
	$(BIN)/driftwise demo

serve: $(VENV)/.serve  ## the decision service with simulated clients, at http://127.0.0.1:8000
	$(BIN)/driftwise serve --demo

# worksteal: workers begin far apart in the list, so they rarely compile the same thing at the same time. Tests of the
# system are few and long, and many of a file share what they set up and compile: those go to one worker.
test: $(VENV)/.dev  ## contracts, slow twins, doctests: what one process can tell
	$(BIN)/pytest --dist worksteal -n auto -m "not deep and not system"

system: $(VENV)/.dev  ## services, commands, databases, browsers, clusters and papers, as people run and kill them
	$(BIN)/pytest --dist loadgroup -n $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)') -m "system and not deep"

deep: $(VENV)/.dev  ## all of these, and what takes long to compile or to run
	$(BIN)/pytest --dist worksteal -n auto

base:  ## in an environment of its own, without extras: the first commands work, and others say what they need
	rm -rf $(VENV)-base
	$(PYTHON) -m venv $(VENV)-base
	$(VENV)-base/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt .
	$(VENV)-base/bin/python tests/base_install.py

matrix:  ## the built package with every Python, the oldest and the newest packages: same numbers; tests of the sources
	$(PYTHON) tools/matrix.py

lint: $(VENV)/.dev  ## style, types, layers, share of Any
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/any_in_signatures.py

bench: $(VENV)/.dev  ## speed, memory and regret beside plain C and peers; writes out/bench.json
	$(BIN)/python benchmarks/bench.py

bench-quick: $(VENV)/.dev  ## the same in small, without peers: a minute or two, to see that everything runs
	$(BIN)/python benchmarks/bench.py --quick --out out/bench-quick.json

docs: $(VENV)/.docs out/gallery/.built  ## the documentation as a web site in site/; open site/index.html
	@echo "building the pages into site/: about a minute"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

out/gallery/.built: $(wildcard docs/gallery/*.py) tools/build_gallery.py $(VENV)/.docs
	@echo "running the notebooks of the gallery: minutes where their policies are not compiled yet"
	$(BIN)/python tools/build_gallery.py out/gallery
	@touch $@

constraints: $(VENV)/.dev  ## pin exact versions anew, naming no host
	$(BIN)/pip install --upgrade uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --no-header --no-annotate --python-version 3.11 --upgrade -o constraints.txt

clean:
	rm -rf $(VENV) $(VENV)-base .matrix out site

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "driftwise needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# one stamp per set of extras: installed again only when the pins or the project change
$(VENV)/.%: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --constraint constraints.txt --editable '.[$*]'
	@touch $@
