# The front door. CMakePresets.json describes the builds, tools/check the rules.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.PHONY: help deps build test test-all demo bench check install clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 18

deps: ## install the Debian packages that are missing
	@tools/deps

build: deps ## build build/plimsoll
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j $(JOBS) --target plimsoll_cli

test: build ## build, check the rules, run the fast tests
	@cmake --build --preset release -j $(JOBS)
	@tools/check
	@ctest --preset release -j $(JOBS) -L fast

test-all: test ## everything: clang-tidy, slow tests, sanitizers (hours)
	@tools/deps --all
	@tools/check --tidy
	@ctest --preset release -j $(JOBS) -L slow
	@for preset in asan tsan; do \
	  cmake --preset $$preset --log-level=WARNING && \
	  cmake --build --preset $$preset -j $(JOBS) && \
	  ctest --preset $$preset -j $(JOBS) || exit 1; \
	done

demo: build ## train a small Inception on Fashion-MNIST (about 3 minutes)
	@tools/demo

bench: build ## speed of a training step, layer by layer
	@build/plimsoll bench --model inception_v3 --batch 16 --layers

check: deps ## format, include direction and our own rules
	@tools/check

install: build ## install under PREFIX (default /usr/local)
	@cmake --install build --prefix $(PREFIX)

clean: ## remove all build directories
	@rm -rf build build-*
