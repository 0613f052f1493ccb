# foreread: set-up, demo, tests. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
FUZZ_SECONDS ?= 60
KILLS ?= 1000
SEED ?= 1
# One worker has the kernel tests, which wait for disks and timeouts: with more workers than
# processors the others run meanwhile.
WORKERS ?= $(shell echo $$(($$(nproc) * 3 / 2)))
TEST_FLAGS := -q -rfEs --durations=20
EACH_CHANGE := not thorough and not boards and not package

SOURCES := analyzer boards bench docs emulator examples foreread fuzz studies tests tracer
C_FILES := $(shell find $(SOURCES) -name '*.[ch]')
SHELL_FILES := $(addprefix .ci/,bare deb fresh install packages run sources wheel) $(shell find $(SOURCES) -name '*.sh')
EXTENSION_FILES := $(filter analyzer/% emulator/%,$(C_FILES))

.PHONY: help setup packages demo test pytest test-all torture paper accuracy layout-study tune-study wheel deb release docs man lint bench fuzz clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY) ## install packages, make the virtual environment, build the extensions

packages: ## install the Debian or Ubuntu packages that are missing (as root, or by sudo)
	@.ci/packages $(PYTHON)

$(READY): setup.py pyproject.toml foreread/version.py $(EXTENSION_FILES)
	@.ci/install $(PYTHON) $(VENV)
	@touch $@

demo: $(READY) ## the main job on a real application; ends by saying where the report is
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo/demo.sh

test: $(READY) ## each change: lint, and the tests of the code and on the running kernel (root)
	@$(MAKE) --no-print-directory -j2 lint pytest

pytest: $(READY)
	$(BIN)/python -m pytest $(TEST_FLAGS) -n $(WORKERS) --dist loadscope -m '$(EACH_CHANGE)'

test-all: $(READY) ## before an issue is resolved, or a release: every test (hours; root, network); ONLY="unit boards"
	@.ci/packages $(PYTHON) all
	@WORKERS=$(WORKERS) $(BIN)/python .ci/test_all.py $(ONLY)

paper: $(READY) ## the 2010 paper's experiments again, on emulated boards, in paper-out (QEMU)
	@.ci/packages $(PYTHON) all
	$(BIN)/python -m studies.paper.run

torture: $(READY) ## kill foreread at random moments and compare the machine (root); KILLS=1000 SEED=1 PARTS=record,tune
	@.ci/packages $(PYTHON) all
	$(BIN)/python tests/torture --kills $(KILLS) --seed $(SEED) $(if $(PARTS),--parts $(PARTS))

accuracy: $(READY) ## how exact predictions are, in accuracy-out (hours; root, QEMU); ONLY=boards,loop/10M
	@.ci/packages $(PYTHON) all
	$(BIN)/python -m studies.accuracy.run $(if $(ONLY),--only $(ONLY))

layout-study: $(READY) ## layouts of images, predicted and measured, in layout-out (hours; root, QEMU)
	$(BIN)/python -m studies.layout.run

tune-study: $(READY) ## the studies of tuning, in tune-study-out (hours; root, QEMU); ONLY="start-up storage"
	@.ci/packages $(PYTHON) all
	$(BIN)/python -m studies.tuning.run $(ONLY)

docs: $(READY) ## the documentation as a site, in build/site; broken links are errors
	$(BIN)/python -m sphinx -q -W --keep-going -n -j auto -c docs -d build/site-cache . build/site
	@$(BIN)/python -m docs.tools.json_schemas build/site/docs/reference/schemas
	@$(BIN)/foreread report examples/python-start/python-start.capture.tar.xz examples/python-start/python-start.sweep.json -o build/site/docs/live-report
	@echo "the site: file://$(CURDIR)/build/site/index.html"

man: $(READY) ## the man pages, in build/man (man -l build/man/foreread.1)
	$(BIN)/python -m docs.tools.man build/man

wheel: ## the source archive and a wheel that needs no compiler, in dist (root; network)
	@.ci/wheel

deb: ## a Debian package for Debian 13 and later, in dist (root; network)
	@.ci/deb

release: ## check version, changelogs and tag of the current commit, and build everything in dist
	@.ci/release.py tagged
	@.ci/wheel
	@.ci/deb

lint: $(READY) ## ruff, mypy, clang-format, shellcheck, imports, words, links, READMEs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	@shellcheck $(SHELL_FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python .ci/words.py
	@$(BIN)/python .ci/links.py
	@$(BIN)/python .ci/house.py

bench: $(READY) ## benchmarks beside their peers, as JSON
	@for b in bench/*.py; do echo "== $$b"; $(BIN)/python $$b; done

fuzz: $(READY) ## fuzz every reader under ASan and UBSan for FUZZ_SECONDS each
	@.ci/packages $(PYTHON) all
	@PYTHON=$(BIN)/python sh fuzz/run.sh $(FUZZ_SECONDS)

clean: ## remove what make made
	rm -rf $(VENV) build dist *.egg-info demo-out paper-out accuracy-out layout-out tune-study-out fuzz-out test-all-out torture-out
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .cache
	find . -name __pycache__ -prune -exec rm -rf {} +
	find $(SOURCES) -name '*.so' -delete
