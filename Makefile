# All set-up happens here: an environment in .venv, node_modules, the compiled protos. Stamps make the second run quick.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# Without what was compiled, each of the hundreds of processes of a test run would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
INSTALL := $(PIP) install --constraint constraints.txt
PROTOS := tfprof_widget/_protos/descriptors.binpb
STATIC := tfprof_widget/static/opener.js
# Three keep two cores busy; of two the cores would wait for a tenth of the time.
WORKERS := 3
AT_A_TIME = --numprocesses $(WORKERS) --dist loadscope
FUZZ_SECONDS := 60
# They run beside pytest, whose workers wait for servers and browsers; each shows what it says in one piece, at its end.
BESIDE := lint vitest
# By another name: a recipe with the variable itself would also be run by `make --dry-run`.
AGAIN := $(MAKE) --no-print-directory

.PHONY: help
help: ## list the targets
	@awk -F ':.* ## ' '/^[a-z-]+:.* ## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/notebooks $(STATIC) ## profile a Keras model in a notebook, print what it costs, write the page and the chart
	@$(BIN)/python notebooks/demo.py

.PHONY: test
test: .venv/develop chromium pprof pandoc $(STATIC) ## run the linters and all the tests, and of the hunts a small share
	@folder=$$(mktemp -d); trap 'rm -r $$folder' EXIT; trap 'kill 0' INT; touch $$folder/failed; \
	for target in $(BESIDE); do \
		$(AGAIN) $$target &> $$folder/told || echo $$target >> $$folder/failed; \
		cat $$folder/told; \
	done & \
	$(BIN)/python -m pytest $(AT_A_TIME) || echo pytest >> $$folder/failed; \
	wait $$! || echo "$(BESIDE)" >> $$folder/failed; \
	test ! -s $$folder/failed || { echo "make test: failed:" $$(< $$folder/failed); exit 1; }

.PHONY: vitest
vitest: node_modules/.stamp ## run the tests of the front end
	npm run --silent test

.PHONY: test-slow
test-slow: FUZZ_SECONDS := 20
test-slow: fuzz matrix .hosts/.stamp paper ## hunt for faults: fuzzing, interrupts at every line, load, the long differential, the matrix
	TFPROF_SLOW=300 $(BIN)/python -m pytest $(AT_A_TIME) --timeout 3600 tests/slow \
		$$(grep --recursive --files-with-matches --include='*.py' 'tests\.slow\.share\|^from hypothesis' tests | grep --invert-match '^tests/slow')

.PHONY: lint
lint: .venv/develop node_modules/.stamp ## check style, types and generated files
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m js.generate_protocol --check
	$(BIN)/python -m js.generate_columns --check
	$(BIN)/python -m docs.generate_options --check
	$(BIN)/python -m docs.generate_reference --check
	npm run --silent lint
	npm run --silent types

.PHONY: format
format: .venv/develop node_modules/.stamp ## put the sources into the style that lint asks for
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	npm run --silent format

.PHONY: protocol
protocol: build ## write js/src/data/protocol.ts and docs/options.md from the option table, docs/reference.md from docstrings
	$(BIN)/python -m js.generate_protocol
	$(BIN)/python -m docs.generate_options
	$(BIN)/python -m docs.generate_reference

.PHONY: conformance
conformance: .venv/develop ## make tests/conformance anew from native tfprof's answers
	$(BIN)/python -m tests.oracle.make_conformance
	$(BIN)/python -m js.generate_columns

.PHONY: fuzz
fuzz: .venv/develop node_modules/.stamp ## hunt for faults in everything that reads, for about fifteen minutes
	$(INSTALL) --group fuzz
	$(BIN)/python -m tests.slow.fuzz --seconds $(FUZZ_SECONDS) --keep .fuzz
	VITE_FUZZ_RUNS=10000 npx vitest run --dir js/fuzz

.PHONY: hosts
hosts: .venv/develop chromium paper .hosts/.stamp $(STATIC) ## show results in Voilà, marimo, books, Word and LaTeX
	TFPROF_SLOW=1 $(BIN)/python -m pytest tests/slow/hosts

.PHONY: soak
soak: .venv/develop $(STATIC) ## capture for an hour
	TFPROF_SLOW=3600 $(BIN)/python -m pytest --timeout 0 -s tests/slow/load

.PHONY: mutants
mutants: .venv/develop ## break the engine in 2,000 ways and see the tests notice
	$(INSTALL) --group mutation
	nice $(BIN)/mutmut run --max-children 1
	$(BIN)/mutmut results

.PHONY: bench
bench: .venv/develop .venv-xprof/installed chromium $(STATIC) ## measure speed and memory beside native tfprof and xprof
	$(BIN)/python -m tests.bench

.PHONY: noise
noise: .venv/develop ## run cells again and again, count how often comparisons are wrong, and write docs/noise.md
	$(BIN)/python -m tests.noise

.PHONY: what-if
what-if: .venv/develop ## edit eight models, compare predicted steps with measured ones, and write docs/what-if.md
	$(BIN)/python -m tests.what_if

.PHONY: lab
lab: .venv/lab $(STATIC) ## open JupyterLab on notebooks/quickstart.ipynb
	$(BIN)/jupyter lab --allow-root notebooks/quickstart.ipynb

.PHONY: screenshots
screenshots: .venv/develop chromium $(STATIC) ## take the pictures of the documents anew, from real runs in Chromium
	$(BIN)/python -m docs.screenshots.take

.PHONY: recordings
recordings: .venv/develop ## write docs/recordings.md from real recordings of accelerators, which lie beside the repository
	$(BIN)/python -m tests.slow.recordings_page

.PHONY: matrix
matrix: .venv/develop $(STATIC) ## test the core with the oldest and newest TensorFlow, without, and on Python 3.12 and 3.13
	$(BIN)/python -m tests.slow.matrix

.PHONY: wheel
wheel: build ## build the wheel and the sdist into dist/
	$(BIN)/python -m hatchling build --clean --target sdist --target wheel

.PHONY: build
build: $(PROTOS) $(STATIC) ## make the environment, the compiled protos and what the browser gets

.PHONY: chromium
chromium: ## install Chromium from Debian where it is missing: its headless shell, which opens a page in half the time
	@command -v chromium-headless-shell > /dev/null \
	|| { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium-headless-shell > /dev/null; } \
	|| command -v chromium > /dev/null \
	|| { echo "The browser tests need Chromium, and apt-get cannot install it here: install it yourself."; exit 1; }

.PHONY: paper
paper: ## install what makes Word documents, PDFs and pictures from Debian where it is missing
	@which inkscape pandoc pdfimages rsvg-convert soffice xelatex > /dev/null \
	|| { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	fonts-liberation inkscape libreoffice-writer librsvg2-bin lmodern pandoc poppler-utils \
	texlive-fonts-recommended texlive-latex-extra texlive-plain-generic texlive-xetex > /dev/null; } \
	|| { echo "Reports on paper need pandoc, LaTeX, LibreOffice and Inkscape, and apt-get cannot install them here."; exit 1; }

.PHONY: pprof
pprof: ## install Go's pprof from Debian where it is missing
	@command -v go > /dev/null \
	|| { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends golang-go > /dev/null; } \
	|| { echo "The tests of pprof's files need Go's pprof, and apt-get cannot install it here: install it yourself."; exit 1; }

.PHONY: pandoc
pandoc: ## install pandoc, with which nbconvert makes AsciiDoc, from Debian where it is missing
	@command -v pandoc > /dev/null \
	|| { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends pandoc > /dev/null; } \
	|| { echo "The test of the exporter for AsciiDoc needs pandoc, and apt-get cannot install it here: install it yourself."; exit 1; }

.PHONY: lock
lock: ## pin the newest fitting versions in constraints.txt and package-lock.json
	$(PYTHON) -m venv --clear .venv
	$(PIP) install --upgrade pip
	$(PIP) install --group build --group test --group lint --editable .
	{ echo "# Written by \`make lock\`: the versions that \`make\` installs."; $(PIP) freeze --all --exclude-editable; } > constraints.txt
	$(PIP) install --group fuzz --group mutation
	{ echo "# For \`make fuzz\` and \`make mutants\` besides."; $(PIP) freeze --exclude-editable | grep -vxFf constraints.txt; } > constraints.more
	cat constraints.more >> constraints.txt
	rm constraints.more
	npm install --package-lock-only

.PHONY: clean
clean: ## remove everything that make has made
	rm -rf .venv .venv-xprof .fuzz .hosts .matrix .noise .what_if demo dist mutants node_modules js/charts.json
	rm -rf tfprof_widget/_protos tfprof_widget/static
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/pip: constraints.txt
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(INSTALL) --upgrade pip
	touch $@

# Installing the package compiles its protos, so they are the stamp, and come back when they are gone.
$(PROTOS): .venv/pip pyproject.toml hatch_build.py hatch_readme.py protos/compile.py $(wildcard protos/*.proto)
	$(INSTALL) --group build
	$(INSTALL) --no-build-isolation --editable .
	touch $@

.venv/develop: $(PROTOS)
	$(INSTALL) --group test --group lint
	touch $@

# xprof has dependencies that nothing else here needs, so it has an environment of its own.
.venv-xprof/installed:
	$(PYTHON) -m venv .venv-xprof
	.venv-xprof/bin/python -m pip --disable-pip-version-check -qq install xprof
	touch $@

.venv/notebooks: $(PROTOS)
	$(INSTALL) --group notebooks
	touch $@

.venv/lab: .venv/notebooks
	$(INSTALL) --group lab
	touch $@

# Apart from .venv, as these programs need other versions of what both need.
.hosts/.stamp: .venv/pip tests/slow/hosts/requirements.txt $(PROTOS)
	$(PYTHON) -m venv --clear .hosts
	$(PIP) --python .hosts install --requirement tests/slow/hosts/requirements.txt --editable ".[export]"
	touch $@

.venv/charts: $(PROTOS)
	$(INSTALL) --group charts
	touch $@

$(STATIC): .venv/charts node_modules/.stamp $(wildcard js/*.mjs) $(shell find js/src -type f) $(wildcard tfprof_widget/charts/*.py)
	$(BIN)/python -m tfprof_widget.charts.kinds js/charts.json
	npm run --silent build
	touch $@

node_modules/.stamp: package.json package-lock.json .npmrc
	npm ci
	touch $@
