# Every task of the project. `make` or `make help` lists them; CONTRIBUTING.md says when to use which.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

PYTHON ?= python3
CARGO ?= cargo
OUT ?= out
CASES ?= 20000
SCENARIOS ?= 10000
OPERATIONS ?= 100000000
PATTERNS ?= 1000
TC_LINES ?= 10000
TIME ?= 60
SEED ?= 1
INPUTS ?= 100000
KILLS ?= 100
BENCH ?=
CRATE ?=
PROFILE ?= release
OLD ?=

VENV := .venv
BIN := $(VENV)/bin
LOGS := target/logs
WEB_FILES := $(shell find web -type f -not -path '*/node_modules/*' -not -path 'web/build/*' -not -path 'web/dist/*' 2>/dev/null)
CRATE_FILES := $(shell find crates -type f -not -path '*/tests/*' -not -path '*/proptest-regressions/*' 2>/dev/null)

# One interpreter for every build of the extension module: PyO3 recompiles when the interpreter it finds changes.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Compiled modules are kept, even if the shell says otherwise: tests start hundreds of processes, each of which would compile them.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help
help: ## list the targets
	@echo "Sojourn: make TARGET"
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' Makefile | while IFS=$$'\t' read -r target text; do printf '  %-12s %s\n' "$$target" "$$text"; done

.PHONY: demo
demo: $(VENV)/.built ## set everything up, run the main job and draw its figure (OUT=out); then build the page of `sojourn lab`, where that can be
	@$(BIN)/python -m sojourn.demo -o "$(OUT)"
	@$(MAKE) --no-print-directory $(VENV)/.page

.PHONY: test
test: test-rust test-python ## run every test: cargo test with doc tests, pytest

.PHONY: test-quick
test-quick: $(if $(CRATE),$(VENV)/.made,$(VENV)/.testable) ## while you work: unit tests of the crates and the quickest Python tests (CRATE=sim: those of that crate)
	$(CARGO) test $(if $(CRATE),--package sojourn-$(CRATE),--workspace) --lib --locked --no-fail-fast --quiet
	$(if $(CRATE),,@$(BIN)/python -m pytest @tests/quick.txt -n auto --maxprocesses 4 --dist worksteal -q)

.PHONY: check
check: lint test results skipped ## all that a change has to pass: lint, then the tests; ends with what was skipped

.PHONY: lint
lint: format clippy docs ruff types commits ## formatting, clippy, docs, ruff, types and commit subjects, warnings denied; no tests

.PHONY: commits
commits: $(VENV)/.installed ## subjects of commits: area: verb object, at most 72 characters, no measurements
	@$(BIN)/python tests/structure/commits.py

.PHONY: bench
bench: ## speed and memory of the simulator, cost of each queue discipline (BENCH="a c", "queues" or "codel pie" for some; PROFILE=bench-loop builds faster and runs slower)
	$(CARGO) run --profile $(PROFILE) --locked --package sojourn-bench -- $(BENCH)

.PHONY: bench-check
bench-check: ## fail if the engine or a queue discipline takes over 2 % more instructions than recorded (BENCH="a c" or "queues" for some)
	$(CARGO) run --release --locked --package sojourn-bench -- --check $(BENCH)

.PHONY: bench-record
bench-record: ## record what the engine costs: bench/engine.txt and docs/data; BENCH=queues for queue disciplines in scorecards
	$(CARGO) run --release --locked --package sojourn-bench -- --record $(BENCH)

.PHONY: bench-peers
bench-peers: ## speed beside htsim (SOJOURN_HTSIM=folder sim of its sources, with libhtsim.a) and ns-2, those that are at hand
	$(CARGO) run --release --locked --package sojourn-bench -- --peers

.PHONY: bench-jobs
bench-jobs: $(VENV)/.built ## what a second job gains, on an idle machine; it fails nothing
	@$(BIN)/python bench/jobs.py

.PHONY: bench-start
bench-start: $(VENV)/.built ## CPU time of `run`, `compare` and `import sojourn` from start to end; it fails nothing
	@$(BIN)/python bench/start.py

.PHONY: soak
soak: $(VENV)/.made $(VENV)/.testable ## long runs of the property tests (CASES=20000 per property, SCENARIOS=10000 at random, OPERATIONS=100000000 at random, PATTERNS=1000 where a kernel is built, TC_LINES=10000) and the attack
	SOJOURN_FUZZ_OPERATIONS=$(OPERATIONS) $(CARGO) test --package sojourn-aqm --locked --test all fuzz:: -- --nocapture
	PROPTEST_CASES=$(CASES) SOJOURN_SCENARIOS=$(SCENARIOS) $(CARGO) test --workspace --locked
	SOJOURN_TC_LINES=$(TC_LINES) SOJOURN_TC_SEED=$(SEED) $(BIN)/python -m pytest -q tests/python/test_router_composed.py
	@$(MAKE) --no-print-directory soak-kernel attack

.PHONY: attack
attack: $(VENV)/.built ## mutated inputs (INPUTS=100000) and runs killed at random instants (KILLS=100); other ones with each SEED=1
	@PYTHONPATH=tests $(BIN)/python -m attack --inputs $(INPUTS) --kills $(KILLS) --seed $(SEED)

.PHONY: soak-kernel
soak-kernel: $(VENV)/.built
	@if $(BIN)/python -c 'from sojourn.kernel.cache import find; raise SystemExit(find() is None)'; \
	then $(BIN)/sojourn kernel compare --aqm all --patterns $(PATTERNS); \
	else echo "skipped: our queue disciplines beside the kernel's, of which none is built (sojourn kernel build)"; fi

.PHONY: torture
torture: $(VENV)/.built ## shells stopped, starved, killed and out of disk for ten minutes (TIME=600): each says so, none hangs or leaves anything
	$(BIN)/python -m sojourn.emulated.torture --time $(if $(filter command line,$(origin TIME)),$(TIME),600) --seed $(SEED)

.PHONY: beside
beside: $(VENV)/.built ## twenty scenarios by the simulator and by real programs, side by side: half an hour on an idle machine
	$(BIN)/python -m sojourn.emulated.compare

.PHONY: costs
costs: $(VENV)/.built ## what shells carry and cost; OLD=PYTHON for another build in turn: five runs of eight cases
	$(BIN)/python -m sojourn.emulated.costs $(if $(OLD),--old $(OLD))

.PHONY: fuzz
fuzz: ## random operations on every queue discipline (TIME=60 seconds, SEED=1), random frames through the emulator and to every reader of packets (CASES)
	PROPTEST_CASES=$(CASES) $(CARGO) test --package sojourn-emu --locked --lib path::case
	SOJOURN_FUZZ_SECONDS=$(TIME) SOJOURN_FUZZ_SEED=$(SEED) $(CARGO) test --package sojourn-aqm --locked --test all fuzz:: -- --nocapture

.PHONY: museum
museum: $(VENV)/.made ## plant every historic error of the bug museum and see the tests catch it
	SOJOURN_MUSEUM=all $(CARGO) test --package sojourn-aqm --locked --test museum -- --nocapture

.PHONY: museum-score
museum-score: $(VENV)/.built ## which rows of the scorecard see which error of the bug museum; writes docs/data/museum.csv
	$(BIN)/python tests/score_museum.py

.PHONY: docs
docs: $(VENV)/.made ## build the API documentation of the crates, warnings denied
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

.PHONY: wheel
wheel: $(VENV)/.release $(VENV)/.page ## build wheels and source distributions into OUT=out: manylinux for glibc 2.28 where ziglang can be installed; with PGO=1 a faster one, built twice (needs llvm-profdata)
	@[ -f python/sojourn/apps/lab/static/index.html ] || { echo "make: a wheel has the page of the lab: $$(web/needs.sh)" >&2; exit 3; }
	@rm -rf "$(OUT)/dist"
	@$(BIN)/python -c 'from sojourn.engines.kernel import library; library.pack(library.PACKED)'
	@if [ -n "$(PGO)" ]; then portable="--pgo"; echo "PGO: the wheel is for this machine's glibc or newer"; \
	  elif $(BIN)/python -c 'import ziglang' 2>/dev/null; then portable="--zig --compatibility manylinux_2_28"; \
	  else portable=""; echo "no ziglang: the wheel is for this machine's glibc or newer"; fi; \
	PATH="$(CURDIR)/$(BIN):$$PATH" RUSTFLAGS="--remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=cargo" \
	  $(BIN)/maturin build --release --quiet $$portable --sdist --out "$(OUT)/dist"
	@if [ -d packages/kernel ]; then \
	  $(BIN)/python -m build --no-isolation --outdir "$(OUT)/dist" packages/kernel > "$(OUT)/dist/kernel.log" \
	    || { cat "$(OUT)/dist/kernel.log" >&2; exit 1; }; \
	  rm -rf "$(OUT)/dist/kernel.log" packages/kernel/build packages/kernel/*.egg-info; \
	fi
	@ls "$(OUT)"/dist/*

.PHONY: net-faults
net-faults: $(VENV)/.made ## plant faults in the network for programs, one by one, and check that the test named beside each finds it
	@$(BIN)/python tests/net_faults.py $(FAULTS)

.PHONY: module-check
module-check: $(VENV)/.made ## compile disciplines for WebAssembly and compare their translations into C with the library
	$(CARGO) test --locked --package sojourn-module -- --include-ignored

.PHONY: module-rig
module-rig: $(VENV)/.made ## boot Debian's kernel under QEMU with a module of `sojourn aqm build-module`: traffic, changes, removals, a planted fault; skipped with the reason
	@$(BIN)/python tests/kernel_rig.py

.PHONY: capture-suites
capture-suites: $(VENV)/.built ## read 200 captures of public test suites, fetched from GitHub, and compare the counts with tcpdump's
	@$(BIN)/python tests/capture_suites.py

.PHONY: net-machines
net-machines: $(VENV)/.made ## compare the decisions of programs in a net on this machine, AArch64 (qemu-user) and WebAssembly (Node.js); skipped with the reason
	@$(BIN)/python tests/net_machines.py

.PHONY: release-check
release-check: wheel ## the check-list of a release over what `wheel` builds: versions, changelog, tag, licences, contents, links, a fresh environment
	@CARGO="$(CARGO)" $(BIN)/python packages/release.py "$(OUT)/dist"

.PHONY: publish-check
publish-check: $(VENV)/.made ## the part of it for crates.io: sojourn-net and the crates it needs, packed and built as they would be published
	@CARGO="$(CARGO)" $(BIN)/python packages/release.py --crates

.PHONY: capi
capi: $(VENV)/.made ## build libsojourn_aqm.{so,a} for programs in C; with sojourn_aqm.h and sojourn_net.h into OUT=out
	$(CARGO) rustc --package sojourn-capi --release --locked --crate-type cdylib,staticlib
	@mkdir -p "$(OUT)/include" "$(OUT)/lib/pkgconfig"
	@for kind in so a; do install -m 644 target/release/libsojourn_capi.$$kind "$(OUT)/lib/libsojourn_aqm.$$kind"; done
	@install -m 644 crates/capi/include/sojourn_aqm.h crates/capi/include/sojourn_net.h "$(OUT)/include"
	@sed "s/@VERSION@/$$($(CARGO) pkgid --package sojourn-capi | sed 's/.*[#@]//')/" crates/capi/sojourn_aqm.pc > "$(OUT)/lib/pkgconfig/sojourn_aqm.pc"
	@echo "$(OUT)/include/sojourn_aqm.h $(OUT)/include/sojourn_net.h $(OUT)/lib/libsojourn_aqm.so $(OUT)/lib/libsojourn_aqm.a"

.PHONY: web
web: ## build the WebAssembly module and the page of `sojourn lab`; where it cannot it says what is missing, and ends with 3
	@web/build.sh && web/page.sh || { code=$$?; exit $$(( code == 4 ? 3 : code )); }

.PHONY: pages
pages: $(VENV)/.built ## write docs/aqm and docs/cc, a page for every queue discipline and congestion control, the tables of keys in docs/scenario, and docs/badges
	@$(BIN)/python docs/aqm/generate.py
	@$(BIN)/python docs/cc/generate.py
	@$(BIN)/python docs/scenario/generate.py
	@$(BIN)/python docs/site/badges.py
	@$(BIN)/python docs/site/parts.py
	@$(BIN)/python docs/site/draw.py

.PHONY: site
site: $(VENV)/.built ## build the documentation as a site, with search, into OUT=out; figures are stored in .site-cache and drawn again if their commands change
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --site-dir "$(abspath $(OUT))/site"
	@echo "Site: $(OUT)/site/index.html (for the search: $(BIN)/python -m http.server --directory $(OUT)/site)"

.PHONY: site-papers
site-papers: $(VENV)/.built ## make the papers' reports for the site, with three seeds at most; finished runs are kept in .site-cache
	@$(BIN)/sojourn reproduce --quick -o .site-cache/papers || [ $$? -eq 1 ]

.PHONY: man
man: $(VENV)/.built ## write manual pages of the command line into OUT=out (man -M out/share/man sojourn-compare)
	@$(BIN)/python docs/site/man.py "$(OUT)/share/man/man1"
	@echo "Manual pages: $(OUT)/share/man/man1 (man -M $(OUT)/share/man sojourn)"

.PHONY: stubs
stubs: $(VENV)/.built ## write python/sojourn/model/aqms/managers.pyi, the queue managers' parameters for editors and mypy
	@$(BIN)/python python/stubs.py

.PHONY: lock
lock: ## renew requirements.lock from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.10 --extra dev --no-python-downloads \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --output-file requirements.lock

.PHONY: advisories
advisories: ## look for known vulnerabilities of the crates and packages we depend on (needs cargo-audit and pip-audit, and the network)
	@command -v cargo-audit > /dev/null || { echo "make: cargo-audit is missing: cargo install cargo-audit" >&2; exit 3; }
	@command -v pip-audit > /dev/null || { echo "make: pip-audit is missing: pip install pip-audit" >&2; exit 3; }
	cargo audit
	pip-audit --require-hashes --disable-pip -r requirements.lock

.PHONY: clean
clean: ## remove the environment, all builds and the demo's output
	rm -rf $(VENV) target out web/build web/dist web/node_modules python/sojourn/apps/lab/static python/sojourn/engines/kernel/guest/*.o.xz .site-cache .pytest_cache .ruff_cache .mypy_cache .hypothesis python/sojourn/_core*.so
	find python tests -name __pycache__ -prune -exec rm -rf {} +

# The parts of `test` and `lint`.

# These features need a second build of the engine, for few runs.
FEW_RUNS := $(foreach crate,aqm tcp media sim,--config profile.dev.package.sojourn-$(crate).opt-level=1)

.PHONY: test-rust
test-rust: $(VENV)/.made | $(LOGS)
	@echo "cargo test: a first build takes some minutes"
	@{ $(CARGO) test --workspace --locked --no-fail-fast -- --show-output; \
	  $(CARGO) test --package sojourn-net --all-features $(FEW_RUNS) --locked --no-fail-fast --tests -- --show-output; } 2>&1 \
	  | tee $(LOGS)/rust.log \
	  | sed -u -E '/^successes:$$/,/^(failures:|test result:)/{/^(failures:|test result:)/!d}'

.PHONY: test-python
test-python: $(VENV)/.testable | $(LOGS)
	@$(BIN)/python -m pytest tests/python tests/docs -n auto --maxprocesses 4 --dist worksteal -rfEs 2>&1 | tee $(LOGS)/python.log

.PHONY: format
format:
	$(CARGO) fmt --all --check

.PHONY: clippy
clippy: $(VENV)/.made
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --package sojourn-net --all-targets --all-features --locked -- -D warnings

.PHONY: ruff
ruff: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

.PHONY: types
types: $(VENV)/.installed
	$(BIN)/mypy

# What the last test run said: totals, and each skipped test with its reason.

.PHONY: results
results: | $(LOGS)
	@touch $(LOGS)/rust.log $(LOGS)/python.log
	@awk '/^test result:/ { passed += $$4; failed += $$6; ignored += $$8; runs++ } \
	  END { printf "cargo test: %d passed; %d failed; %d ignored; %d test binaries\n", passed, failed, ignored, runs }' $(LOGS)/rust.log
	@echo "pytest: $$(tail -n 1 $(LOGS)/python.log)"

.PHONY: skipped
skipped: | $(LOGS)
	@touch $(LOGS)/rust.log $(LOGS)/python.log
	@echo "skipped:"
	@{ sed -nE -e 's/^ *skipped: /  cargo test: /p' -e 's/^test (.*) \.\.\. ignored,? ?(.*)/  cargo test: \1 ignored \2/p' $(LOGS)/rust.log; \
	   sed -nE 's/^SKIPPED /  pytest: /p' $(LOGS)/python.log; } | sort | uniq | { grep . || echo "  nothing"; }

# Set-up. Each step leaves a stamp, so that it runs again only when what it depends on has changed.

$(LOGS):
	@mkdir -p $@

$(VENV)/.made:
	@need() { command -v "$$1" >/dev/null || { echo "make: $$1 is missing: $$2" >&2; exit 3; }; }; \
	need $(CARGO) "install Rust 1.85 or newer with cargo (https://rustup.rs, or Debian's cargo)"; \
	need cc "install a C compiler as the linker (Debian: gcc)"; \
	need $(PYTHON) "install Python 3.10 or newer (Debian: python3 python3-venv)"
	@printf '1.85\n%s\n' "$$($(CARGO) --version | cut -d ' ' -f 2)" | sort -CV \
	  || { echo "make: $$($(CARGO) --version) is too old; Rust 1.85 or newer is needed (https://rustup.rs)" >&2; exit 3; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	  || { echo "make: $(PYTHON) is $$($(PYTHON) -V 2>&1); Python 3.10 or newer is needed (make PYTHON=python3.11 …)" >&2; exit 3; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "make: $(PYTHON) has no venv module: install it (Debian: python3-venv)" >&2; exit 3; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: requirements.lock $(VENV)/.made
	@echo "installing the Python packages of requirements.lock into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.release: $(VENV)/.installed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "build>=1.2" "setuptools>=77"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "ziglang>=0.13" || true
	@touch $@

# The page of the lab. It is made again when its sources have changed, and tried again where it could not be made.
$(VENV)/.page: $(CRATE_FILES) $(WEB_FILES) Cargo.lock
	@echo "building the page of sojourn lab; a first build takes some minutes"
	@if web/build.sh >$(VENV)/page.log 2>&1 && web/page.sh >>$(VENV)/page.log 2>&1; then touch $@; \
	  else echo "skipped: the page of sojourn lab: $$(tail -n 1 $(VENV)/page.log | sed 's/^skipped: [^:]*: //')"; fi

# The module for tests: the one for users if that is current, else one of the crates that the Rust tests have compiled.
$(VENV)/.testable: $(VENV)/.installed pyproject.toml Cargo.toml Cargo.lock $(CRATE_FILES)
	@if [ ! -e $(VENV)/.built ] || [ -n "$$(find $^ -newer $(VENV)/.built -print -quit)" ]; then \
	  echo "building sojourn for its tests; make demo builds it for use"; rm -f $(VENV)/.built; \
	  env -u CONDA_PREFIX PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" \
	    $(BIN)/maturin develop --profile dev --features pyo3/extension-module,tests --locked; fi
	@touch $@

$(VENV)/.built: $(VENV)/.installed pyproject.toml Cargo.toml Cargo.lock $(CRATE_FILES)
	@echo "building sojourn (release); a first build takes some minutes"
	@env -u CONDA_PREFIX PIP_QUIET=1 VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --locked
	@touch $@
