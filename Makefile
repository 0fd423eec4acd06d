# Each verb does its own set-up. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
  $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
# The engine for this machine: vLLM where an NVIDIA GPU answers, else vLLM's CPU build.
KIND ?= $(shell nvidia-smi -L >/dev/null 2>&1 && echo cuda || echo cpu)
READY := $(VENV)/.ready-$(KIND)

TARGET ?=
SPACE ?=
EVAL_SET ?=
OUT ?=
ENGINE ?=
ARGS ?=

# Without TARGET the demo; the simulated engine needs no models.
target := $(or $(TARGET),demo:target)
space := $(or $(SPACE),$(if $(TARGET),,demo))
needs_demo := $(if $(filter sim%,$(ENGINE)),,$(if $(filter demo:%,$(target)),demo))

.PHONY: help sweep test lint test-real audit bench bench-scale bench-truth bench-search bench-compare bench-kills verify-client demo clean

help: ## list the verbs
	@echo "make sweep [TARGET=<model directory or hub id>] [SPACE=] [EVAL_SET=] [OUT=] [ENGINE=] [ARGS=]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

sweep: $(READY) $(needs_demo) ## measure TARGET (default: the demo model) and write its best_config.yaml
	$(BIN)/tuner sweep "$(target)" $(if $(space),--space "$(space)") $(if $(EVAL_SET),--eval-set "$(EVAL_SET)") \
	  $(if $(OUT),--out "$(OUT)") $(if $(ENGINE),--engine "$(ENGINE)") $(ARGS)

test: lint demo ## everything that CI checks: lint, unit tests, one real sweep
	$(BIN)/python -m pytest -m "not real" -n 2 --dist loadfile --no-loadscope-reorder

lint: $(READY) ## ruff, mypy --strict, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-real: $(READY) demo ## every test that starts real vLLM engines (many minutes)
	$(BIN)/python -m pytest -m "real or real_ci"

audit: $(READY) ## known vulnerabilities of what is installed (asks pypi.org: needs a network)
	$(BIN)/python -m pip install --quiet "pip-audit>=2.7,<3"
	$(BIN)/pip-audit --skip-editable $(ARGS)

bench: $(READY) demo ## benchmarks, each ending in one line of JSON
	for bench in tests/bench/*.py; do $(BIN)/python "$$bench"; done

bench-scale: $(READY) ## what thousands of trials on 64 workers cost the driver, without engines (ARGS=--keep for docs/)
	$(BIN)/python -m tests.scale $(ARGS)

bench-truth: $(READY) ## how often the analysis is right where the truth is known, without engines (ARGS=--keep for docs/)
	$(BIN)/python -m tests.truth $(ARGS)

bench-search: $(READY) ## which search finds the best K in the fewest engine starts, without engines (ARGS=--keep for docs/)
	$(BIN)/python -m tests.searchbench $(ARGS)

bench-compare: $(READY) ## does tuner compare name rightly what an upgrade changed, without engines (ARGS=--keep for docs/)
	$(BIN)/python -m tests.comparebench $(ARGS)

bench-kills: $(READY) ## sweeps whose driver is killed and stopped at random moments: is anything lost or left? (ARGS=--keep for docs/)
	$(BIN)/python -m tests.faults.kills $(ARGS)
	$(BIN)/python -m tests.faults.stops $(ARGS)

verify-client: $(READY) $(needs_demo) ## one real engine, our load client and `vllm bench serve` in turn: do they agree?
	$(BIN)/python -m tests.verify.client $(if $(ENGINE),--engine "$(ENGINE)") $(if $(TARGET),--target "$(TARGET)") \
	  $(if $(SPACE),--space "$(SPACE)") $(if $(EVAL_SET),--eval-set "$(EVAL_SET)") $(ARGS)

demo: $(READY) ## build the demo models, once, outside this folder
	@$(BIN)/tuner models demo

clean: ## remove the virtual environment and caches; runs/ and models stay
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist

$(READY): pyproject.toml .ci/setup
	@[ -n "$(PYTHON)" ] || { echo "error: no Python 3.11 or newer with venv found; name one: make PYTHON=..." >&2; exit 2; }
	[ -x $(BIN)/python ] || "$(PYTHON)" -m venv $(VENV)
	@.ci/setup $(VENV) $(KIND)
	@rm -f $(VENV)/.ready-* && touch $@
