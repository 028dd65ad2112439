# Entry point. Run `make help` for the targets.
#
# Each target first installs the Debian packages that are missing (scripts/bootstrap), so git and
# make are enough to start. CMake does the build; CMakePresets.json has the presets.

PREFIX ?= /usr/local
DESTDIR ?=

export DESTDIR
.DEFAULT_GOAL := help
.PHONY: help run test test-% bench model fuzz install uninstall format check clean build-%

# Builds one preset: release, dev, checked, asan, tsan, hard.
build-%:
	@scripts/build $*

help: ## print this list
	@echo "Coex, a concurrent garbage collector runtime."
	@echo
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build the demo and run it
	@scripts/bootstrap build
	@scripts/build release
	@build/release/bin/coex-demo

test: ## build the release and checked presets and run all tests of both
	@scripts/bootstrap test
	@$(MAKE) --no-print-directory test-release test-checked

test-%: ## build one preset and run its tests: release, dev, checked, asan, tsan, hard
	@scripts/bootstrap test
	@scripts/build $*
	@scripts/test build/$*

bench: ## build the benchmarks and run them
	@scripts/bootstrap bench
	@scripts/build release
	@scripts/bench

model: ## check the models of the protocol with Spin
	@scripts/bootstrap model
	@models/run

fuzz: ## run the fuzz targets for a minute (clang)
	@scripts/bootstrap fuzz
	@scripts/fuzz

install: ## install under PREFIX (default /usr/local)
	@scripts/bootstrap build
	@scripts/build install
	@cmake --install build/install --prefix '$(abspath $(PREFIX))'

uninstall: ## remove the files that the last `make install` of this tree installed
	@scripts/uninstall build/install

format: ## format all C code with clang-format
	@scripts/bootstrap format
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

check: ## check layers, symbols, requirements, invariants, and that the mutants still apply
	@scripts/bootstrap check
	@scripts/build release
	@scripts/check-layers build/release
	@scripts/check-symbols build/release
	@scripts/check-requirements
	@scripts/check-invariants
	@scripts/mutants --fit

clean: ## remove the build directory
	@rm -rf build
