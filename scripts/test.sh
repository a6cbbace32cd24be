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
status=0
$venv/pytest -m "not gpu" -n 2 --dist loadfile --cov --cov-report= --durations=15 "$@" || status=$?
$venv/coverage report --skip-covered --skip-empty || [ $status -ne 0 ]
exit $status
