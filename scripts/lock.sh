#!/usr/bin/env bash
# Write requirements.lock anew: every package but torch, with hashes. torch is left out, since its builds for
# CPU and for CUDA carry the same version and different hashes; setup.sh installs the version of requirements.in.
# requirements.run.lock is the part of it that serving and judging need, for the image.
# Versions stay as they are where they still fit; with --upgrade all are the newest.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check pip-tools

lock() { # lock FILE OPTION…
    cp "$1" "$tools/lock"
    "$tools/bin/pip-compile" --quiet --generate-hashes --allow-unsafe --strip-extras --unsafe-package torch \
        --no-header --no-emit-options --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
        --output-file "$tools/lock" "${@:2}" pyproject.toml requirements.in
    sed '/^# The following packages are considered/,$d' "$tools/lock" >"$1"
}

lock requirements.lock --extra test --extra lint "$@"
lock requirements.run.lock --constraint requirements.lock --no-annotate
