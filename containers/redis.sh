#!/bin/sh
# Redis with a password that stands in no command line; `check` asks the running one.
set -eu
die() { echo "redis: not started: $*" >&2; exit 1; }

file=${REDIS_PASSWORD_FILE:?names the file that holds the password}
[ -r "$file" ] || die "the secret $file cannot be read; 'make secrets' writes it"
password=$(cat "$file")

if [ "${1:-}" = check ]; then
    [ "$(REDISCLI_AUTH=$password redis-cli ping)" = PONG ]
    exit
fi

[ "${#password}" -ge 24 ] || die "the secret $file is too short: 24 random characters are the least ('make secrets')"
case $password in *[!A-Za-z0-9_-]*) die "the secret $file has characters other than letters, digits, _ and -" ;; esac

exec redis-server - <<CONFIG
requirepass $password
bind * -::*
port 6379
dir /var/lib/redis
appendonly yes
save ""
maxmemory-policy noeviction
${REDIS_MAXMEMORY:+maxmemory $REDIS_MAXMEMORY}
CONFIG
