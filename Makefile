# SPDX-License-Identifier: GPL-2.0
# The front door: each target is a line of dev/, vm/ or bench/, which have --help.
# Whatever a target needs, it installs or builds first.

KERNEL ?= series
# Through the environment, so that a shell sees its quotes.
export CMD

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## Stacks of stock programs under stock perf, base and series: table, flame graphs
	@dev/kernel base
	@dev/kernel series
	@bench/demo

test: ## All test suites but those on the debug kernel
	@dev/check

test-debug: ## The unwinder's and KUnit's tests with KASAN, lockdep, UBSAN, kmemleak
	@dev/check unwind-debug kunit-debug

test-base: ## What needs the base kernel: the stack map's tests there, the demo on both
	@dev/check stackmap-base demo-both

kernel: ## Build the kernel with the series
	@dev/kernel series

shell: ## A shell in a guest (KERNEL=NAME, as of dev/kernel)
	@dev/kernel $(KERNEL)
	@vm/run --kernel $(KERNEL) --interactive

vm: ## Run CMD='...' in a guest (KERNEL=NAME, as of dev/kernel)
	@test -n "$$CMD" || { echo "make vm: CMD is empty; for example: make vm CMD='uname -r'" >&2; exit 2; }
	@dev/kernel $(KERNEL)
	@vm/run --kernel $(KERNEL) -- bash -c "$$CMD"

series: ## Export the series to .build/series, prove git am and that each step builds
	@dev/tree
	@dev/export --build

lint: ## Run checkpatch, sparse, kernel-doc, shellcheck, a spell checker
	@dev/tree
	@dev/lint

clean: ## Remove .build; dev/env remove deletes the environment too
	@rm -rf --one-file-system .build

.PHONY: help demo test test-debug test-base kernel shell vm series lint clean
