#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# simulate_same.sh PROGRAM FILE TIMES [SECONDS]: simulates a deployment so often with one seed and with faults, for at most
# so many seconds. What it says must be the same each time, byte by byte.
set -uo pipefail
program=$1 file=$2 times=$3 seconds=${4:-100000}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
printf '[[fault]]\nprocess = "*"\nwhat = "%s"\nevery = "%s"\n' throw 20s hang 45s >"$folder/faults.toml"

one() {
  rm -rf "$folder/records-simulated"
  CLIMATE_RECORDS="$folder/records" PLANT_FOLDER="$folder/records" \
    "$program" simulate "$file" --for 2m --seed 3 --faults "$folder/faults.toml" >"$1" 2>&1
  local status=$?
  cat "$folder"/records-simulated/* >>"$1" 2>/dev/null
  return "$status"
}

# A fault may lose a value that a process has in its hands: then the status is 1.
one "$folder/first"
(($? <= 1)) && grep -q '^simulated ' "$folder/first" || { head -n 50 "$folder/first"; echo "FAILED"; exit 1; }
for ((n = 1; n < times && SECONDS < seconds; ++n)); do
  one "$folder/next"
  cmp "$folder/first" "$folder/next" && continue
  diff "$folder/first" "$folder/next" | head -n 20
  echo "FAILED: run $((n + 1)) differs from the first"
  exit 1
done
echo "$n times the same, $(wc -c <"$folder/first") bytes each"
