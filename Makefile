# `make run` and `make test` work on a fresh clone; everything they need lands in .venv.

BIN := .venv/bin

.PHONY: help run test test-slow lint types contracts tests audit docs pictures notebooks plugin package pins format clean

help:
	@echo "make run        set up and open the window"
	@echo "make test       set up, then lint, types, contracts and tests"
	@echo "make test-slow  the tests that take minutes"
	@echo "make audit      try to refute every claim of privacy; the page: build/audit.md"
	@echo "make docs       the site of all documents, into build/docs/index.html"
	@echo "make pictures   the pictures of README, guide and gallery, taken anew"
	@echo "make notebooks  the notebooks of docs/notebooks, run anew with what they show"
	@echo "make plugin     the plugin for QGIS, as a zip in dist"
	@echo "make package    build wheel and sdist, and try them in empty environments"
	@echo "make pins       constraints.txt anew, with newer versions: UPGRADE='--upgrade'"
	@echo "make format     let ruff format and fix the code"
	@echo "make clean      remove .venv and caches"

run:
	@.ci/setup run
	@$(BIN)/geodp

test: lint types contracts tests

lint: setup-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-test
	$(BIN)/mypy

contracts: setup-test
	$(BIN)/lint-imports

# side by side, each file in one process, in the order of folders: short ones come last;
# bytecode is kept, or every process would make it anew; a process that dies is not replaced, or
# the run would wait for it at its end: so it fails, and names the test
# the loops are compiled first, or each process would compile them in some test's time
tests: setup-test
	$(BIN)/python -c "from geodp_app.runs import warm_up; warm_up.warm_up(lambda: None)"
	PYTHONDONTWRITEBYTECODE= QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -q -n auto --maxprocesses=4 --dist=loadfile \
		--no-loadscope-reorder --max-worker-restart=0

test-slow: setup-test
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -q -m slow --hypothesis-profile=explore

audit: setup-test
	$(BIN)/python -m benchmarks.audits --report build/audit.md

docs: setup-test
	rm -rf build/docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs
	$(BIN)/python .ci/reference.py build/docs/modules

pictures: setup-test
	@.ci/pictures

notebooks: setup-test
	$(BIN)/python .ci/notebooks.py

plugin: setup-test
	@mkdir -p dist
	@$(BIN)/geodp plugin -o dist/geodp_qgis.zip

# PYTHONS="python3.11 python3.12" make package: which interpreters to try
package:
	@.ci/package $(PYTHONS)

# UPGRADE="--upgrade-package numpy" make pins: which versions may be newer
pins: setup-test
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate \
		--python-version 3.11 --extra dev --custom-compile-command "make pins" $(UPGRADE) \
		pyproject.toml --output-file constraints.txt

format: setup-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: setup-test
setup-test:
	@.ci/setup test

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
