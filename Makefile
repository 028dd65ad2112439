# The front door: two words for everything that one does with this project. `make help` lists them.
#
# Each target first installs the Debian packages it misses (scripts/bootstrap), so that a machine with git and
# make is enough. The build itself is CMake's: see CMakePresets.json.

PREFIX ?= /usr/local
DESTDIR ?=

export DESTDIR
.DEFAULT_GOAL := help
.PHONY: help run test test-% bench model fuzz install uninstall format check clean build-%

# A pattern for the presets: release, dev, checked, asan, tsan, hard.
build-%:
	@scripts/build $*

help: ## this list
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

test-%: ## the same for one preset: release, dev, checked, asan, tsan, hard
	@scripts/bootstrap test
	@scripts/build $*
	@scripts/test build/$*

bench: ## build the benchmarks and run them
	@scripts/bootstrap bench
	@scripts/build release
	@scripts/bench

model: ## model-check the protocol
	@scripts/bootstrap model
	@models/run

fuzz: ## run the fuzz targets for a minute (clang)
	@scripts/bootstrap fuzz
	@scripts/fuzz

install: ## install headers, libraries, coexgc.pc and the CMake package under PREFIX (/usr/local)
	@scripts/bootstrap build
	@scripts/build install
	@cmake --install build/install --prefix '$(abspath $(PREFIX))'

uninstall: ## remove what the last `make install` of this tree put in place
	@scripts/uninstall build/install

format: ## lay out all C code as .clang-format says
	@scripts/bootstrap format
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

check: ## check layers, symbols, that the requirements name tests that exist, and that mutants fit the source
	@scripts/bootstrap check
	@scripts/check-layers
	@scripts/build release
	@scripts/check-symbols build/release
	@scripts/check-requirements
	@scripts/mutants --fit

clean: ## remove everything that was built
	@rm -rf build
