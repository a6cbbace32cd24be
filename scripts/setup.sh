#!/usr/bin/env bash
# Make .venv with the locked dependencies, and install the system packages that are named as arguments
# (bubblewrap, chromium, postgresql) where that is possible. Does nothing when all of it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi
}

apt_install() {
    command -v apt-get >/dev/null || return 1
    say "installing $* with apt-get"
    { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends "$@"; } >/dev/null
}

# What a package is known by once it is there. Debian keeps a server's programs apart from PATH, by version.
program_of() {
    case $1 in
        bubblewrap) echo bwrap ;;
        postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' | head -n 1 || echo initdb ;;
        *) echo "$1" ;;
    esac
}

# Debian's package would make a cluster and start it; the tests make their own.
without_cluster() {
    as_root sh -c 'test -e /etc/postgresql-common ||
        { mkdir /etc/postgresql-common && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf; }'
}

python=${PYTHON:-python3}
command -v "$python" >/dev/null || apt_install python3 || die "Python 3.11 or newer is needed: install python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "Python 3.11 or newer is needed, $("$python" --version) is too old: set PYTHON to another one"

for package in "$@"; do
    command -v "$(program_of "$package")" >/dev/null && continue
    [ "$package" != postgresql ] || without_cluster || true
    apt_install "$package" || case $package in
        bubblewrap) say "bubblewrap is not installed; the one from PyPI is used instead" ;;
        *) die "$package is needed and cannot be installed from here: apt-get install $package" ;;
    esac
done

stamp=.venv/.locked
wanted=$(cat requirements.lock requirements.in pyproject.toml | sha256sum | cut -d' ' -f1)
[ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && exit 0

if ! [ -x .venv/bin/pip ]; then
    "$python" -m venv .venv 2>/dev/null || { apt_install python3-venv && "$python" -m venv --clear .venv; } ||
        die "Python's venv module is needed: apt-get install python3-venv"
fi
say "installing the locked packages into .venv (torch takes a while)"
pip() { .venv/bin/pip --disable-pip-version-check "$@"; }
pip install --quiet --no-deps --require-hashes -r requirements.lock
pip install --quiet "$(grep '^torch==' requirements.in)"
pip install --quiet --no-deps --no-build-isolation -e .
echo "$wanted" >$stamp
