# foreread: set-up, demo, tests. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
C_SOURCES := $(wildcard analyzer/ingest/*.c analyzer/ingest/core/*.[ch] emulator/*.c emulator/core/*.[ch])
SHELL_FILES := $(shell git ls-files '*.sh' .ci/run 2>/dev/null)
FUZZ_SECONDS ?= 60

# What building and testing need; the recorders are optional for users, but tested here.
PACKAGES := gcc make pkg-config python3-venv python3-dev libtraceevent-dev zlib1g-dev libzstd-dev \
	trace-cmd libtracecmd-dev libtracefs-dev busybox shellcheck e2fsprogs zstd
PERF := $(shell . /etc/os-release 2>/dev/null; test "$$ID" = ubuntu && echo linux-tools-generic || echo linux-perf)

.PHONY: help setup packages demo test test-kernel lint bench fuzz clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY) ## install packages, make the virtual environment, build the extensions

packages: ## install the Debian or Ubuntu packages that are missing (as root, or by sudo)
	@missing=; for p in $(PACKAGES) $(PERF); do \
		dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
	done; \
	test -z "$$missing" && exit 0; \
	echo "installing:$$missing"; \
	if [ "$$(id -u)" = 0 ]; then as_root=; elif command -v sudo >/dev/null; then as_root=sudo; \
	else echo "not root: run  apt-get install$$missing" >&2; exit 1; fi; \
	$$as_root apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -qq --no-install-recommends $$missing >/dev/null

$(READY): setup.py pyproject.toml $(C_SOURCES)
	@$(MAKE) --no-print-directory packages
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(READY) ## the main job on a real application; ends by saying where the report is
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo/demo.sh

test: $(READY) ## lint, types, and all tests (kernel tests where rights allow)
	$(BIN)/pytest -q -n auto -m 'not kernel'
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test-kernel

test-kernel: $(READY) ## tests against the running kernel (root)
	$(BIN)/pytest -q -rs -m kernel

lint: $(READY) ## ruff, mypy, clang-format, shellcheck, import arrows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')
	shellcheck $(SHELL_FILES)

bench: $(READY) ## benchmarks beside their peers, as JSON
	@for b in bench/*.py; do echo "== $$b"; $(BIN)/python $$b; done

fuzz: $(READY) ## fuzz every reader under ASan and UBSan for FUZZ_SECONDS each (needs clang)
	@sh fuzz/run.sh $(FUZZ_SECONDS)

clean: ## remove what make made
	rm -rf $(VENV) build dist *.egg-info demo-out fuzz-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
	find . -name '*.so' -delete
