#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# run_services.sh PROGRAM PAGE FOLDER: runs each service that a page shows (```toml) with PROGRAM, in FOLDER. It must end
# well, and print what the page says next: prints `text`.
set -uo pipefail
program=$1 page=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
awk -v folder="$folder" '
  /^```toml$/ { file = sprintf("%s/%02d", folder, ++n); on = 1; next }
  /^```/ { on = 0; next }
  on { print > (file ".toml"); next }
  file && match($0, /prints `[^`]*`/) { print substr($0, RSTART + 8, RLENGTH - 9) > (file ".expected"); file = "" }' "$page"
failed=0 count=0
for toml in "$folder"/*.toml; do
  count=$((count + 1))
  expected=$(cat "${toml%.toml}.expected") || { echo "$toml: the page does not say what it prints"; failed=1; continue; }
  said=$(timeout 120 "$program" run "$toml" 2>&1)
  status=$?
  # The search for leaks costs seconds on some machines; the first service has had it.
  ((count > 1)) || export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
  if [[ $status != 0 || $said != *"$expected"* ]]; then
    printf 'not ok %s: status %d, wanted: %s\n%s\n' "$toml" "$status" "$expected" "$said"
    failed=1
  else
    printf 'ok %s: %s\n' "$toml" "$expected"
  fi
done
((count > 0)) || { echo "$page shows no service"; exit 1; }
exit "$failed"
