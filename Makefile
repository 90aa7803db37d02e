# Two commands do everything on a machine with Python 3.11 or later, make and git:
#   make demo    sets up and runs the main job on real data
#   make test    sets up and passes the tests
# A third one builds the documentation:
#   make site    sets up and builds it into site/; open it as a file, or serve it from any host

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
JOBS   ?= auto
PYTEST  = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --max-worker-restart 1
unexport PYTHON  # which for tinygrad is a device
# Bytecode is kept even where this variable is set, since the tests start many processes
unexport PYTHONDONTWRITEBYTECODE
# Install packages into an environment: uv takes a quarter of pip's time, and pip serves where uv finds no index.
# Most installed modules are never imported; those that are get their bytecode from the first import.
PIP     := install --quiet --disable-pip-version-check --no-compile
install  = $(BIN)/python -m pip $(PIP) uv && $(BIN)/uv pip install --quiet --python $(1)/bin/python $(2) 2>/dev/null || \
           $(BIN)/python -m pip --python $(1)/bin/python $(PIP) $(2)
DEMO    := -e '.[cc,demo]'

.PHONY: demo test test-all browser types bytecode quick check changelog fuzz fuzz-jax laws coverage leaks mutants bench bench-jax lint clean explorer site interrupts plain packages dist

demo: $(VENV)/demo.done
	$(BIN)/python -m branded demo

test: $(VENV)/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory -j2 types bytecode
	$(PYTEST) -m "not browser and not exhaustive"

# The pages of the site and of the explorer in Chromium, which has to be installed, and what they show
browser: $(VENV)/dev.done
	BRANDED_BROWSER=1 $(PYTEST) -m browser $(ARGS) tests/docs tests/learn

# As test, with all cases, the browser, and kernels also for the values that tests take from numpy
test-all: $(VENV)/dev.done
	BRANDED_COMPILE=1 $(PYTEST) --timeout 1200

types:
	$(BIN)/mypy

# Compile the bytecode that the test processes load once for all of them.
# Errors of collection are ignored here, since the tests report them.
bytecode:
	$(BIN)/python -m compileall -q branded
	-@$(BIN)/python -m pytest --collect-only >/dev/null

# A short run for each save: about a minute on two cores
QUICK := project/test_imports errors/test_errors autodiff/test_custom_rules tree/test_tree_order \
         $(addprefix core/test_,dispatch graphs vmap writes)
quick: $(VENV)/dev.done
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(PYTEST) -x $(QUICK:%=tests/%.py)

fuzz: $(VENV)/dev.done
	$(BIN)/python -m tests.fuzz $(ARGS)

fuzz-jax: $(VENV)/jax.done
	PYTHONPATH=. $(VENV)/jax/bin/python -m tests.fuzz.jax $(ARGS)

LAWS := laws/test_laws laws/test_transform_laws ir/test_program tree/test_trees random/test_random_keys
# The properties of hypothesis on ten times as many examples as in test, with random seeds
laws: $(VENV)/dev.done
	HYPOTHESIS_PROFILE=nightly $(PYTEST) --timeout 3600 $(LAWS:%=tests/%.py) $(ARGS)

# Write the table of branch coverage in docs/trust.md
coverage: $(VENV)/dev.done
	$(BIN)/python -m tests.pages.coverage $(ARGS)

leaks: $(VENV)/dev.done
	$(BIN)/python -m tests.fuzz.leaks $(ARGS)

mutants: $(VENV)/dev.done
	$(BIN)/python -m tests.fuzz.mutants $(ARGS)

bench-jax: $(VENV)/jax.done
	PYTHONPATH=. $(VENV)/jax/bin/python -m bench jax $(ARGS)

bench: $(VENV)/dev.done
	$(BIN)/python -m bench $(ARGS)

explorer: $(VENV)/dev.done
	$(BIN)/python -m branded explorer build/explorer

site: $(VENV)/docs.done
	$(BIN)/python docs/pictures.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	$(BIN)/python -m branded explorer site/explorer

interrupts: $(VENV)/dev.done
	$(BIN)/python -m tests.fuzz.interrupts $(ARGS)

plain: $(VENV)/dev.done
	$(BIN)/python -m tests.plain.suite $(ARGS)

packages: $(VENV)/dev.done
	$(BIN)/python -m tests.project.packages $(ARGS)

dist: $(VENV)/dev.done
	rm -rf dist
	$(BIN)/python -m tests.project.packages --keep dist $(ARGS)

lint: $(VENV)/dev.done
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docs.prose
	$(BIN)/mypy

# What `lint` checks, without changing a file, and whether the generated stubs are current
check: $(VENV)/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docs.prose
	$(BIN)/python stubs/generate.py --check
	$(BIN)/python .ci/subjects $(if $(shell git rev-parse -q --verify origin/main),origin/main..HEAD,HEAD~1..HEAD)
	$(BIN)/mypy

changelog: $(VENV)/dev.done
	$(BIN)/towncrier build --draft --version next

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "branded needs Python 3.11 or later"'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.done: pyproject.toml | $(VENV)/bin/python
	$(call install,$(VENV),$(DEMO))
	touch $@

$(VENV)/docs.done: pyproject.toml | $(VENV)/bin/python
	$(call install,$(VENV),-e '.[docs]')
	touch $@

$(VENV)/dev.done: pyproject.toml | $(VENV)/bin/python
	$(call install,$(VENV),-e '.[dev]')
	$(PYTHON) -m venv --without-pip $(VENV)/oldest-mypy
	$(call install,$(VENV)/oldest-mypy,'mypy==2.2.0')
	touch $@

$(VENV)/jax.done: pyproject.toml | $(VENV)/bin/python
	$(PYTHON) -m venv --without-pip $(VENV)/jax
	$(call install,$(VENV)/jax,-e '.[cc]' 'jax==0.10.2')
	touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-pictures
