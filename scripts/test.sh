#!/usr/bin/env bash
# The whole suite: style, types, arrows, then the tests with coverage of app/, worker/ and graders/.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv/bin
$venv/ruff check .
$venv/ruff format --check .
$venv/mypy
$venv/lint-imports
rm -f .coverage .coverage.*
$venv/pytest -m "not gpu" --cov --cov-report= "$@"
$venv/coverage report --skip-covered --skip-empty
