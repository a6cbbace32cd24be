#!/bin/sh
# PostgreSQL with one database and its owner, made on the first start. The owner has the password of the file, read at
# every start; the superuser has none, and is let in from within the container alone.
set -eu
die() { echo "postgres: not started: $*" >&2; exit 1; }

name=warpgrade
data=/var/lib/postgresql/data/15
file=${POSTGRES_PASSWORD_FILE:?names the file that holds the password}
[ -r "$file" ] || die "the secret $file cannot be read; 'make secrets' writes it"
password=$(cat "$file")
[ "${#password}" -ge 24 ] || die "the secret $file is too short: 24 random characters are the least ('make secrets')"
case $password in *[!A-Za-z0-9_-]*) die "the secret $file has characters other than letters, digits, _ and -" ;; esac

say() { # say FOLDER STATEMENT: with no server running
    printf '%s\n' "$2" | postgres --single -D "$1" postgres >/dev/null
}

if ! [ -d "$data" ]; then
    # Made aside and moved when whole: a first start that was interrupted begins anew.
    new=$data.new
    rm -rf "$new"
    initdb --pgdata "$new" --username postgres --encoding UTF8 --locale C.UTF-8 --data-checksums \
        --auth-local peer --auth-host scram-sha-256 >/dev/null
    echo "host $name $name all scram-sha-256" >>"$new/pg_hba.conf"
    say "$new" "CREATE ROLE $name LOGIN"
    say "$new" "CREATE DATABASE $name OWNER $name"
    mv "$new" "$data"
fi
say "$data" "ALTER ROLE $name PASSWORD '$password'"
exec postgres -D "$data" -c listen_addresses='*'
