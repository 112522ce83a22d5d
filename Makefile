# GPU Explorer: `make run` opens the window, `make test` runs every check. Both set up what they need.

PYTHON ?= python3
# Arguments for `make run`, such as ARGS="run matmul --size 512".
ARGS ?=
# Paths and options for pytest in `make test`, such as TESTS=tests/core; otherwise every test.
TESTS ?=
# The programs `make bench` runs, such as BENCH=tests/bench/startup.py.
BENCH ?= $(shell grep -l __main__ tests/bench/*.py)
# What `make test-long` decides by chance, and how long it strikes with faults of each kind.
SEED ?= $(shell date +%Y%m%d)
MINUTES ?= 10
# What `make package` builds, such as TARGETS=frozen; otherwise everything that can be built here.
TARGETS ?=
# TORCH=no leaves PyTorch out; V=1 shows what pip and apt print.
TORCH ?= yes
V ?= 0

BOOTSTRAP = $(PYTHON) packaging/bootstrap.py
OPTIONS = $(if $(filter no,$(TORCH)),--no-torch) $(if $(filter 1,$(V)),--verbose)
PY = .venv/bin/python
PY_NOQT = .venv-noqt/bin/python
# Tests run side by side, one more than there are cores, as each waits for a program now and then; one
# that keeps time (marked alone) waits until it is alone.
SIDE_BY_SIDE = --numprocesses $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)") --maxprocesses 4 \
    --dist worksteal
# What is tested where Qt is not installed: the engine, and everything that a terminal starts. Neither
# is PyTorch there, so what needs it (marked torch) is tested beside the window.
WITHOUT_QT ?= tests/cli tests/engine tests/test_api.py
# What is tested with the NVRTC of every kind of engine: that of CUDA 13 beside the window, that of
# CUDA 12 where Qt is not installed, and by night that of PyTorch's build for CUDA 12, which has a
# folder there.
EVERY_NVRTC = $(shell grep -l compile_kernels tests/compile/test_*.py)
NVRTC_OF_TORCH = .venv-noqt/nvrtc-of-torch
EVERYTHING = $(SIDE_BY_SIDE) tests $(addprefix --only-torch-in=,$(WITHOUT_QT))
DISPLAY_OF_ITS_OWN = xvfb-run -a -s "-screen 0 1920x1200x24"

# Tests start hundreds of programs, each of which would compile the sources anew.
export PYTHONDONTWRITEBYTECODE =

.NOTPARALLEL:
.PHONY: help setup run test test-long lint typecheck imports pytest pytest-noqt bench clean frameworks package \
    setup-test setup-noqt setup-checks setup-package

help:
	@echo "make run        open the window (ARGS=... for the command line instead)"
	@echo "make test       every check: lint, types, import contracts, tests with and without Qt"
	@echo "make test-long  what takes hours: every test in random order, chaos, random input, spoiled files (SEED=, MINUTES=)"
	@echo "make setup      prepare the environment that make run uses"
	@echo "make lint       ruff: style and format"
	@echo "make typecheck  mypy, strict"
	@echo "make imports    who may import whom"
	@echo "make frameworks TensorFlow, Keras and JAX in an environment of their own, for an engine in it"
	@echo "make package    installers and packages (TARGETS=...; --list in ARGS says what can be built)"
	@echo "make bench      the benchmarks (tests/bench)"
	@echo "make clean      remove the environments, caches and built files"

setup:
	@$(BOOTSTRAP) run $(OPTIONS)

setup-test:
	@$(BOOTSTRAP) test $(OPTIONS)

setup-noqt:
	@$(BOOTSTRAP) noqt $(OPTIONS)

# Both environments at once.
setup-checks:
	@$(BOOTSTRAP) test noqt $(OPTIONS)

setup-package:
	@$(BOOTSTRAP) package $(OPTIONS)

# Builds for the CPU; an engine runs there (--python), and tests/frameworks uses it when it is there.
frameworks:
	@$(BOOTSTRAP) frameworks $(OPTIONS)

run: setup
	@$(PY) -m gpuexplorer $(ARGS)

# Whatever this system can build, in dist/; what it cannot is named.
package: setup-package
	PYTHONPATH=packaging .venv-package/bin/python -m builder $(TARGETS) $(ARGS)

# What fails fast comes first.
test: setup-checks lint typecheck imports pytest pytest-noqt
	@echo "All checks passed."

# Not what continuous integration decides once and for all: each night has examples of its own, and the
# tests that are marked long.
test-long: setup-checks
	@echo "Seed $(SEED): make test-long SEED=$(SEED) does this again."
	PYTEST_QT_API=pyside6 $(DISPLAY_OF_ITS_OWN) env -u CI $(PY) -m pytest $(SIDE_BY_SIDE) tests --order-seed $(SEED)
	GPUEXPLORER_TEST_NVRTC=$(NVRTC_OF_TORCH) $(PY_NOQT) -m pytest $(SIDE_BY_SIDE) $(EVERY_NVRTC)
	$(PY) -m tests.chaos --seed $(SEED) --faults 1000000 --minutes $(MINUTES) --slow
	$(PY) -m tests.chaos --seed $(SEED) --monkey --minutes $(MINUTES)
	$(PY) tests/bench/fuzz_inputs.py --seed $(SEED)
	@echo "All long checks passed."

lint: setup-test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

typecheck: setup-test
	$(PY) -m mypy --num-workers 2

imports: setup-test
	.venv/bin/lint-imports

pytest: setup-test
	@command -v xvfb-run > /dev/null || { echo "The window's tests need a display of their own: apt-get install xvfb xauth"; exit 1; }
	PYTEST_QT_API=pyside6 $(DISPLAY_OF_ITS_OWN) $(PY) -m pytest $(if $(TESTS),$(TESTS),$(EVERYTHING))

# The engine and the command line never need Qt: here it is not even installed. What only reads sources
# is tested beside the window alone: no NVRTC has a part in it.
pytest-noqt: setup-noqt
	@$(PY_NOQT) -c "import importlib.util as u, sys; found = [m for m in ('PySide6', 'shiboken6', 'pyqtgraph') if u.find_spec(m)]; sys.exit(f'the environment without Qt has {found}; run make clean' if found else 0)"
	$(PY_NOQT) -m pytest $(SIDE_BY_SIDE) $(WITHOUT_QT) $(EVERY_NVRTC)

bench: setup-test
	@for file in $(BENCH); do \
	    echo "$$file"; $(DISPLAY_OF_ITS_OWN) $(PY) $$file $(ARGS) || exit 1; \
	done

clean:
	rm -rf .venv .venv-noqt .venv-frameworks .venv-package build dist out
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find gpuexplorer packaging tests -name __pycache__ -prune -exec rm -rf {} +
