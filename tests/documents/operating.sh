#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# operating.sh PROGRAM DOCUMENT: runs each line of docs/operating.md that begins with curl, as it stands there, against a
# deployment that has what it names.
set -euo pipefail
program=$1 document=$2
command -v curl >/dev/null || { echo 'skipped: there is no curl'; exit 77; }
folder=$(mktemp -d)
export LEAT_SOCKETS=$folder
cat >"$folder/climate.toml" <<'TOML'
leat = 1
[process.probe]
use = "sensor-sim"
config = { period = "10ms" }
out = { values = "raw" }
[process.page]
use = "log"
in = { values = "raw" }
[channel.raw]
TOML
"$program" run "$folder/climate.toml" >"$folder/log" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null || true; wait $pid || true; rm -rf "$folder"' EXIT
for _ in {1..900}; do
  "$program" ps --names 2>/dev/null | grep -q '^climate$' && break
  sleep 0.1
done
count=0
while IFS= read -r line; do
  output=$(bash -c "${line//\/run\/leat\/climate.sock/$folder/climate.sock}") || { echo "failed: $line"; exit 1; }
  printf '%s\n%.300s\n' "$line" "$output"
  [[ $output == '{'* && $output != '{"error"'* ]] || { echo "this is no answer: $line"; exit 1; }
  count=$((count + 1))
done < <(awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on && /^curl /' "$document")
[ "$count" -ge 3 ] || { echo "$document has $count lines of curl"; exit 1; }
