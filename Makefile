.DEFAULT_GOAL := help
.PHONY: help setup serve test gpu-check bench-judge bench-reference tune-reference secrets compose-check lint lock clean

PYTHON ?= python3
export PYTHON
VENV := .venv/bin

help: ## Show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

setup: ## Install everything that serving needs
	@scripts/setup.sh bubblewrap

serve: setup ## Serve on http://127.0.0.1:8000 (PORT, WARPGRADE_DATA, WARPGRADE_ADMIN_TOKEN)
	@exec $(VENV)/warpgrade serve

test: ## Install everything and run the whole suite (COVERAGE=1 to measure coverage)
	@scripts/setup.sh bubblewrap chromium curl postgresql zip
	@scripts/test.sh

gpu-check: ## Run the GPU tests with PYTHON and its own torch (SUITE=timing for a slice)
	@scripts/gpu_check.sh

bench-judge: ## How exact and how fast the judge is on this GPU, with PYTHON and its own torch (about 8 minutes)
	@$${PYTHON:-python3} scripts/bench_judge.py

bench-reference: ## How fast the reference softmax is beside a copy and others, with PYTHON (about 5 minutes; ARGS=--quick)
	@$${PYTHON:-python3} scripts/bench_reference.py $(ARGS)

tune-reference: ## Which rung and options are fastest by N, for reference/softmax/tuning.py, with PYTHON
	@$${PYTHON:-python3} scripts/tune_reference.py $(ARGS)

secrets: ## Write the secrets of docker-compose.yml, each where there is none yet
	@scripts/secrets.sh

compose-check: ## Build, start and try the containers for real (needs Docker with Compose v2; minutes)
	@$(PYTHON) scripts/compose_check.py

lint: setup ## Check style, types and the arrows between packages
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	$(VENV)/lint-imports

lock: ## Write requirements.lock anew
	@scripts/lock.sh

clean: ## Remove what setup and tests made; the data directory stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* build *.egg-info
