#!/usr/bin/env bash
# Everything that needs a GPU, with the Python that is given and its own torch: no setup, none of the web packages.
# SUITE picks a slice: the name of a file under tests/gpu, without "test_", or several. Arguments go to pytest.
# A process that waits for a kernel which never ends hears no signal, so a thread watches the time.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
files=(tests/gpu)
[ -n "${SUITE:-}" ] && files=() && for name in $SUITE; do files+=("tests/gpu/test_$name.py"); done
exec "$python" -m pytest -q -p no:cacheprovider --confcutdir=tests/gpu -m gpu -W default --timeout-method=thread "${files[@]}" "$@"
