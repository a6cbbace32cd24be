#!/bin/sh
# Run a command as the user warpgrade, who keeps the capabilities with which tier B builds its sandboxes.
set -eu
kept=+setuid,+setgid,+kill
exec setpriv --reuid=warpgrade --regid=warpgrade --clear-groups --inh-caps=$kept --ambient-caps=$kept -- "$@"
