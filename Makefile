# Two commands: `make demo` and `make test`. Both set up what they need from python3, venv and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run
READY := $(VENV)/.ready
ENGINES := $(VENV)/.engines
SPARK4 := .venv-spark4/.ready
DOCS := .venv-docs/.ready

.PHONY: help setup environments browser demo examples dist sbom docs pages screenshots test coverage check format bench compare auditors mutants lock clean

help:  ## what can be run
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(RUN)  ## the virtual environment, from the hash-checked lock

# What running takes, and then what working on it takes: the same versions.
$(RUN): locks/run.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r locks/run.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(READY): $(RUN) locks/dev.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r locks/dev.lock
	@touch $@

# The engines of the tests, on top: the same versions of everything else.
$(ENGINES): $(READY) locks/engines.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r locks/engines.lock
	@touch $@

# Spark 4 beside it: an environment has one PySpark.
$(SPARK4): locks/spark4.lock pyproject.toml
	$(PYTHON) -m venv .venv-spark4
	.venv-spark4/bin/python -m pip install --quiet --require-hashes -r locks/spark4.lock
	.venv-spark4/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The site has tools of its own, none of which runs or tests need.
$(DOCS): locks/docs.lock pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --require-hashes -r locks/docs.lock
	.venv-docs/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(RUN)  ## the main job on a generated health survey: plan, ledger, one pass, record, report
	$(BIN)/inbounds demo --out build/demo
	@echo "inbounds is in $(BIN): source $(BIN)/activate"

examples: $(READY)  ## draw the two laws of a proportion, release, preview and cover statistics, a study
	$(BIN)/python examples/two_laws.py --out build/examples
	$(BIN)/python examples/survey.py --out build/examples
	$(BIN)/python examples/intervals.py --out build/examples
	$(BIN)/inbounds study covariance --reps 500 --out build/examples/study

screenshots: $(ENGINES) browser  ## the pictures of the report and of the studio in the documentation
	$(BIN)/python docs/screenshots.py
	$(BIN)/python docs/screens.py docs/studio

dist: $(RUN)  ## the wheel and the source archive, in dist/: built twice, and kept if every byte is the same
	$(BIN)/python tools/dist.py

sbom: dist .venv-sbom/.ready  ## what the wheel needs, as a bill of materials (CycloneDX) beside it
	$(BIN)/python tools/sbom.py dist/*.whl --cyclonedx .venv-sbom/bin/cyclonedx-py

.venv-sbom/.ready: locks/sbom.lock
	$(PYTHON) -m venv .venv-sbom
	.venv-sbom/bin/python -m pip install --quiet --require-hashes -r locks/sbom.lock
	@touch $@

docs: $(DOCS) $(READY) browser  ## the site, in build/docs: pages executed, no warnings, every link followed, nothing from elsewhere, no page too wide
	.venv-docs/bin/python -m sphinx -W --keep-going -n -a -q -d build/doctrees -c docs . build/docs
	$(BIN)/python docs/check.py build/docs

pages: $(READY)  ## the pages that are made from the library itself, anew
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/measures.py

# Two environments at a time, and nothing else beside them: to install is work for one core each.
.NOTPARALLEL:
environments:
	@$(MAKE) --no-print-directory $(SPARK4) & other=$$!; $(MAKE) --no-print-directory $(ENGINES) && wait $$other

# The studio is tested in Chromium. Where it is missing, root installs it; others are told what is not tested.
browser:
	@if ! command -v chromium chromium-browser google-chrome > /dev/null 2>&1; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
		else \
			echo "*** NOT TESTED: the studio in a browser. It needs Chromium: apt-get install chromium ***" >&2; \
		fi; \
	fi

test: environments browser check  ## format, lint, types, the import rule, then every test
	$(BIN)/python -m pytest -n auto

coverage: $(ENGINES) $(SPARK4)  ## every test, noting what of src it reaches and which take longest: at least 95%
	rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -n auto --durations=10
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

check: $(READY)  ## format, lint, mypy --strict and the import rule
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

format: $(READY)  ## put the code in form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(ENGINES) .venv-peers/.ready .venv-compare/tumult/.ready  ## timings, as ratios against peers measured in the same run
	$(BIN)/python bench/laws.py
	.venv-peers/bin/python bench/sampling.py --peers --tumult .venv-compare/tumult/bin/python
	.venv-peers/bin/python bench/audit_peers.py
	.venv-peers/bin/python bench/statistics.py --peers
	.venv-peers/bin/python bench/repairs.py --peers
	$(BIN)/python bench/forecasts.py
	$(BIN)/python bench/intervals.py
	$(BIN)/python bench/studies.py
	$(BIN)/python bench/scale.py --folder build/scale
	$(BIN)/python bench/scale_peers.py --peers .venv-peers/bin/python --tumult .venv-compare/tumult/bin/python
	$(BIN)/python bench/cells.py
	$(BIN)/python bench/ledger.py

PEERS := diffprivlib opendp pydp smartnoise tumult

compare: .venv-peers/.ready .venv-compare/inbounds/.ready $(PEERS:%=.venv-compare/%/.ready)  ## error, impossible values, intervals, audits and times beside other libraries
	.venv-peers/bin/python bench/compare.py

# One environment for each library, from its own lock; what does not install leaves a note instead.
.venv-compare/%/.ready: locks/peers/%.lock
	$(PYTHON) -m venv .venv-compare/$*
	-.venv-compare/$*/bin/python -m pip install --quiet --require-hashes -r $< 2> .venv-compare/$*/said || \
		mv .venv-compare/$*/said .venv-compare/$*/missing
	@touch $@

.venv-compare/inbounds/.ready: locks/run.lock pyproject.toml
	$(PYTHON) -m venv .venv-compare/inbounds
	.venv-compare/inbounds/bin/python -m pip install --quiet --require-hashes -r locks/run.lock
	.venv-compare/inbounds/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

.venv-peers/.ready: locks/peers.lock pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --require-hashes -r locks/peers.lock
	.venv-peers/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Checkouts of two auditors that are not ours: make auditors STATDP=... RECORDER=...
# Older versions of dp-accounting have no privacy loss distributions, which dp-recorder imports.
AUDITORS := numba tqdm coloredlogs 'dp-accounting>=0.4' matplotlib seaborn graphviz scikit-learn pandas

auditors: .venv-auditors/.ready  ## what StatDP and dp-recorder say of our mechanisms, and of two that leak
	.venv-auditors/bin/python bench/auditors.py $(if $(STATDP),--statdp $(STATDP)) $(if $(RECORDER),--recorder $(RECORDER))

.venv-auditors/.ready: locks/run.lock pyproject.toml
	$(PYTHON) -m venv .venv-auditors
	.venv-auditors/bin/python -m pip install --quiet --require-hashes -r locks/run.lock
	.venv-auditors/bin/python -m pip install --quiet $(AUDITORS)
	.venv-auditors/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Takes hours. MUTANTS='grid/scale grid/law' tries these modules, and SAMPLE='*3' every tenth mutant or so. A module with
# a result in build/mutants is not tried again.
MUTANTS ?=
SAMPLE ?=

mutants: .venv-mutants/.ready  ## one small change at a time to what decides privacy: does a test notice?
	.venv-mutants/bin/python tools/mutants.py $(if $(SAMPLE),--sample '$(SAMPLE)') $(MUTANTS)

.venv-mutants/.ready: locks/mutants.lock pyproject.toml
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python -m pip install --quiet --require-hashes -r locks/mutants.lock
	.venv-mutants/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

UV := uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --quiet
UPGRADE ?=

# Versions stay as they are where the groups still allow them; UPGRADE=--upgrade takes the newest of all.
lock:  ## resolve the dependencies into locks/ (needs uv)
	$(UV) $(UPGRADE) pyproject.toml --group engines -o locks/engines.lock
	for group in dev docs; do $(UV) $(UPGRADE) pyproject.toml --group $$group -c locks/engines.lock -o locks/$$group.lock || exit 1; done
	$(UV) $(UPGRADE) pyproject.toml --group build -c locks/engines.lock -o locks/run.lock
	for group in mutants peers spark4; do $(UV) $(UPGRADE) pyproject.toml --group $$group -o locks/$$group.lock || exit 1; done
	$(UV) $(UPGRADE) --group sbom -o locks/sbom.lock
	for peer in $(PEERS); do $(UV) $(UPGRADE) --group $$peer -o locks/peers/$$peer.lock || exit 1; done

clean:  ## remove everything that was made
	rm -rf $(VENV) .venv-spark4 .venv-docs .venv-peers .venv-compare .venv-mutants .venv-auditors .venv-sbom build dist mutants .mypy_cache .pytest_cache .ruff_cache .hypothesis
