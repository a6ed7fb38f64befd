# Needs Python 3.11 or newer, make and a package index; the rest is installed into .venv on first use.
# Options for what is run go in ARGS:   make run ARGS="--scenario nan-after-clipping --verbose"

PYTHON  ?= python3
WORKERS ?= auto
ARGS    ?=

# Without compiled files each of hundreds of processes compiles the harness anew.
unexport PYTHONDONTWRITEBYTECODE

VENV      := .venv
BIN       := $(VENV)/bin
BANK      := $(VENV)/.installed-bank
DEV       := $(VENV)/.installed-dev
EXTRAS    := $(VENV)/.installed-extras
WHOLE     := $(VENV)/.installed-whole
PIP       := $(BIN)/python -m pip --quiet --quiet --no-input --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run test test-full test-every check lint format bench quality kill-matrix docs extras site clean

help: ## list the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# `exec`: no shell stays between make and the program, so Ctrl-C reaches it and make's closing line
# ("Error 1") carries the program's own exit code. make itself then exits 2, whatever the number was.
run: $(BANK) ## the bank checks itself: every posted loop and every fix, on real torch
	@exec $(BIN)/python -m harness run --scenario all $(ARGS)

test: $(DEV) ## the specification, in some three minutes on two cores (WORKERS=0: one process)
	@exec $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist loadfile $(ARGS)

# Not the usual order, long tables first: the files that take minutes have few tests, and would be last.
FULL := --numprocesses $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder
test-full: $(WHOLE) ## the same, corpora and what needs more; here nothing may be skipped
	@exec $(BIN)/python -m pytest --full $(FULL) $(ARGS)

test-every: $(WHOLE) ## the same with every answer, seed and scenario: an hour, before a release
	@exec $(BIN)/python -m pytest --every $(FULL) $(ARGS)

check: lint test ## everything that has to be green: format, ruff, mypy, import rule, tests

# One run says everything: a step that fails does not hide the next.
lint: $(DEV) ## format check, ruff, mypy --strict, import rule
	@failed=0; \
	$(BIN)/ruff format --check --output-format concise . || failed=1; \
	$(BIN)/ruff check . || failed=1; \
	$(BIN)/mypy --strict harness || failed=1; \
	$(BIN)/lint-imports || failed=1; \
	exit $$failed

format: $(DEV) ## rewrite the code in its one format, with ruff's safe fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(EXTRAS) ## the numbers, beside what a user would do instead
	@exec $(BIN)/python -m benchmarks $(ARGS)

quality: $(BANK) ## judge the judge: wrong loops, right loops, cheats (minutes)
	@exec $(BIN)/python -m harness quality $(ARGS)

kill-matrix: $(BANK) ## the same with every operator on every alternative; its summary goes into docs/
	@mkdir -p build
	@$(BIN)/python -m harness quality --thorough --matrix build/kill-matrix.md $(ARGS)
	@sed '/^## Property by operator/,$$d' build/kill-matrix.md > docs/kill-matrix.md

docs: $(BANK) ## write the pages that are generated from the code
	@$(BIN)/python -m harness.report.properties_page > docs/properties.md
	@$(BIN)/python -m harness.report.coverage_page > docs/coverage.md
	@$(BIN)/python -m harness.report.schemas docs/schema
	@$(BIN)/python -m harness.report.tree_page docs/modules.md

extras: $(EXTRAS) ## install all that is optional: Lightning, Hugging Face, Inspect, OpenAI, Ray

site: $(WHOLE) ## the documentation as a site, with a gallery of faults made by execution, in build/site
	@$(BIN)/python -m website
	@$(BIN)/python -m mkdocs build --quiet

clean: ## remove caches and build output (rm -r .venv as well to start from nothing)
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

# Each target installs what it needs and no more; what an extra holds, pyproject.toml says.
$(BANK): WITH := .[huggingface,lightning]
$(DEV): WITH := .[huggingface,lightning,inspect,openai,dev]
$(EXTRAS): WITH := .[huggingface,lightning,inspect,openai,ray]
$(WHOLE): WITH := .[huggingface,lightning,inspect,openai,ray,site,dev,browser]

# The stamp is written last, so an install that was cut short is done again. pip finds the build
# backend in .venv (no isolation): what builds this project is pinned like everything else.
$(BANK) $(DEV) $(EXTRAS) $(WHOLE): pyproject.toml constraints.txt
	@rm -f $@
	@$(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 ...' >&2; exit 1; }; \
	  $(PYTHON) -m venv --clear $(VENV) || \
	    { echo 'could not make .venv (on Debian and Ubuntu: apt install python3-venv)' >&2; exit 1; }; }
	@echo 'installing pinned packages into .venv: $(WITH) (once; torch is large)...' >&2
	@$(PIP) install --constraint constraints.txt hatchling && \
	  $(PIP) install --constraint constraints.txt --no-build-isolation --editable '$(WITH)' || \
	  { echo 'not installed; the next make tries again' >&2; exit 1; }
	@touch $@
