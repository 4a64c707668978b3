# SPDX-License-Identifier: GPL-2.0
# Each target runs commands of dev/, vm/ or demo/, which have --help.
# A target first installs or builds all that it needs.

KERNEL ?= series
# Passed through the environment, so that the shell sees its quotes.
export CMD

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## Stacks of stock programs under stock perf, base and series: table, flame graphs
	@dev/kernel base
	@dev/kernel series
	@demo/run

test: ## The test suites, once on the series kernel (QUICK=1: some, in three minutes)
	@dev/check $(if $(QUICK),--quick)

test-all: ## These, Debian's tools and programs, stress, the base and debug kernels
	@dev/check --all

test-debug: ## The unwinder's and KUnit's tests with KASAN, lockdep, UBSAN, kmemleak
	@dev/check unwind.debug kunit.debug

test-base: ## What needs the base kernel: the stack map's tests there, the demo on both
	@dev/check stackmap.base demo.both

kernel: ## Build the kernel with the series
	@dev/kernel series

shell: ## A shell in a guest (KERNEL=NAME, as of dev/kernel)
	@dev/kernel $(KERNEL)
	@vm/run --kernel $(KERNEL) --interactive

vm: ## Run CMD='...' in a guest (KERNEL=NAME, as of dev/kernel)
	@test -n "$$CMD" || { echo "make vm: CMD is empty; for example: make vm CMD='uname -r'" >&2; exit 2; }
	@dev/kernel $(KERNEL)
	@vm/run --kernel $(KERNEL) -- bash -c "$$CMD"

deb: ## Build the Debian package of the tool sframe, print its path
	@dev/deb

kernel-deb: ## Build Debian packages of the kernel (CONFIG=amd64, cloud-amd64 or a file; FAST=1: small)
	@dev/kernel-deb $(if $(FAST),--config guest,$(if $(CONFIG),--config "$(CONFIG)"))

perf-deb: ## Build the Debian package of the series' perf and offwaketime
	@dev/perf-deb

series: ## Export the series to .build/series, prove git am and that each step builds
	@dev/tree
	@dev/export --build

lint: ## Run checkpatch, sparse, kernel-doc, shellcheck, a spell checker
	@dev/tree
	@dev/lint

clean: ## Remove .build; dev/env remove deletes the environment too
	@rm -rf --one-file-system .build

.PHONY: help demo test test-all test-debug test-base kernel shell vm deb kernel-deb perf-deb series lint clean
