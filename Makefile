# Shortcuts. Each one sets the machine up first (scripts/setup.sh; a moment when done).
SHELL := /bin/bash
export PATH := $(HOME)/.cargo/bin:$(PATH)
PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup build program demo test interop bench format lint clean

help: ## list these targets
	@echo 'quasi: QUIC for WebAssembly and native programs'
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install what is missing: packages, wheels, Rust target, crates
	@scripts/setup.sh

build: setup ## build the native program and the Wasm component
	@scripts/build.sh native wasm-relaxed

program: setup
	@scripts/build.sh native wasm-relaxed -- quasi

demo: program ## download 256 MiB over QUIC with the component, and check it
	@scripts/demo.sh

test: setup ## all tests: native, in Wasmtime, under sanitizers, and quick interop
	@$(PYTHON) scripts/test.py

interop: program ## downloads in both directions with independent QUIC stacks
	@$(PYTHON) test/interop/run.py

bench: build ## goodput and CPU per GiB, natively and in Wasm
	@$(PYTHON) bench/run.py

format: setup ## format the sources, and write docs/rfc-coverage.md anew
	@$(PYTHON) scripts/check_sources.py --format
	@$(PYTHON) scripts/rfc_coverage.py

lint: setup ## formatting, house rules, RFC citations and clang-tidy
	@$(PYTHON) scripts/lint.py

clean: ## remove everything that was built
	rm -rf build
