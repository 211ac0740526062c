# Every target that needs the virtual environment sets it up first; doing so again takes no time.

VENV := .venv/bin
# Once there is an environment, its own Python and ROS keep it up to date:
# `make setup PYTHON=python3.12 ROS=kilted` is only needed the first time.
PYTHON ?= $(if $(wildcard $(VENV)/python),$(VENV)/python,python3)
# Whoever forbids Python to keep what it has compiled pays for it at the start of every node.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help python setup demo test verify papers lint browser wheels clean

help:
	@echo "make setup    create .venv and install, build and compile everything (PYTHON=python3.12 ROS=kilted)"
	@echo "make demo     the mug placement on the real graph, live in the browser, results in out/"
	@echo "make test     lint, types and all fast tests"
	@echo "make verify   the long checks: seeds, sweeps, benchmarks (PART=test/graph); resumable"
	@echo "make papers   every figure of the papers again, and their pages in docs/papers; resumable"
	@echo "make lint     ruff, mypy and the arrows between packages alone"
	@echo "make wheels   wheels in dist/ that install without compiler and cmake; in dist/simulator the simulator alone"
	@echo "make browser  the browser that tests of pages drive (needs npm)"
	@echo "make clean    remove everything that was generated"

python:
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) was not found: install Python 3.12 (sudo apt install python3 python3-venv python3-dev)" >&2; exit 1; }

setup: python
	@$(PYTHON) -m bootstrap $(ROS)

# Whoever wants to see an arm move does not wait for the kernels of planners and benchmarks.
demo: python
	@$(PYTHON) -m bootstrap graph $(ROS)
	@$(VENV)/contact-stack demo mug_placement

lint: setup
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check --quiet .
	@$(VENV)/mypy
	@$(VENV)/lint-imports --no-logo

# Tests of pages drive a browser, which comes as an npm package.
browser:
	@if command -v npm >/dev/null; then \
		cd test/browser && { [ -d node_modules ] || npm ci --silent --no-audit --no-fund; }; \
	else echo "npm was not found: tests in a browser will be skipped" >&2; fi

# A test that hangs where no signal reaches it ends its worker, and shows what every thread was doing.
# There is one worker more than there are processors, for some tests wait.
WORKERS := --numprocesses $$(($$(nproc) + 1)) --maxprocesses 4 -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

test: lint browser
	@$(VENV)/python -m pytest $(WORKERS) --dist worksteal

# A part takes less than an hour: `make verify PART=test/graph`. What has passed with the very same
# sources is left out, so an interrupted run goes on where it was.
verify: setup browser
	@$(VENV)/python -m pytest -m verify --resume $(PART)

papers: setup
	@$(VENV)/contact-stack paper all
	@for paper in out/paper/*/; do \
		folder=docs/papers/$$(basename $$paper); mkdir -p $$folder; \
		cp $$paper/index.md $$paper/*.png $$paper/*.gif $$folder; \
	done

# For the Python they are built with; the interface packages are compiled.
wheels: setup
	@$(VENV)/python -m bootstrap.wheels

clean:
	rm -rf .venv build dist install log out .mypy_cache .ruff_cache .pytest_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
