#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# play.sh PROGRAM: a pair of pseudo-terminals made by socat plays the serial line, and harbour.nmea the receiver.
set -euo pipefail
program=$(realpath "${1:?usage: play.sh PROGRAM}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v socat >/dev/null || { echo "play.sh needs socat" >&2; exit 1; }
line=$(mktemp -d)
socat "PTY,raw,echo=0,link=$line/receiver" "PTY,raw,echo=0,link=$line/port" &
socat=$!
trap 'kill "$socat" 2>/dev/null; rm -rf "$line"' EXIT
until [[ -e $line/port && -e $line/receiver ]]; do sleep 0.05; done
GNSS_PORT=$line/port "$program" run "$here/gnss.toml" &
service=$!
sleep 0.5
while IFS= read -r sentence; do
  printf '%s\n' "$sentence" >"$line/receiver"
  sleep "${PACE:-0.1}"
done <"$here/harbour.nmea"
sleep 1
kill -INT "$service"
wait "$service"
