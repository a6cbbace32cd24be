#!/usr/bin/env bash
# The whole suite: style, types, arrows, then the tests, beside a PostgreSQL server that is thrown away
# (WARPGRADE_TEST_POSTGRES names another one). COVERAGE=1 measures the coverage of app/, worker/ and graders/ besides,
# which makes whatever runs there half as slow again.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv/bin
$venv/ruff check .
$venv/ruff format --check .
$venv/mypy
$venv/lint-imports
watched=()
if [ -n "${COVERAGE:-}" ]; then
    rm -f .coverage .coverage.*
    watched=(--cov --cov-report=)
fi
status=0
$venv/python -m tests.cluster $venv/pytest -m "not gpu" \
    -n 2 --dist loadfile --no-loadscope-reorder ${watched[@]+"${watched[@]}"} --durations=15 "$@" || status=$?
[ -z "${COVERAGE:-}" ] || $venv/coverage report --skip-covered --skip-empty || [ $status -ne 0 ]
exit $status
