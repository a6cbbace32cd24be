#!/usr/bin/env bash
# Write the secrets that docker-compose.yml hands to its services: random ones, each only where there is none yet.
# The folder is the caller's alone. The files within are readable, since the services run under ids of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${WARPGRADE_SECRETS:-secrets}
mkdir -p "$folder"
chmod 700 "$folder"
for name in database_password broker_password admin_token; do
    if [ -s "$folder/$name" ]; then
        echo "$folder/$name stays as it is"
    else
        od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$folder/$name"
        echo "$folder/$name is new"
    fi
    chmod 444 "$folder/$name"
done
