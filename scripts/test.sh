#!/usr/bin/env bash
# The whole suite: style, types, arrows, then the tests with coverage of app/, worker/ and graders/, beside a PostgreSQL
# server that is thrown away (WARPGRADE_TEST_POSTGRES names another one).
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv/bin
$venv/ruff check .
$venv/ruff format --check .
$venv/mypy
$venv/lint-imports
rm -f .coverage .coverage.*
status=0
$venv/python -m tests.cluster \
    $venv/pytest -m "not gpu" -n 2 --dist loadfile --cov --cov-report= --durations=15 "$@" || status=$?
$venv/coverage report --skip-covered --skip-empty || [ $status -ne 0 ]
exit $status
