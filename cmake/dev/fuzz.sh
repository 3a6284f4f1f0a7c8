#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# fuzz.sh WORKERS SECONDS NAMES...: each fuzzer of build/fuzz for so many seconds, so many at a time. A line for each:
# `ok NAME INPUTS`, or `FAILED NAME` behind what it said. Called by `./dev fuzz`, which has built them.
set -uo pipefail

one() {
  local seconds=$1 name=$2 log=build/logs/fuzz-$2.log corpus=build/fuzz/corpus/$2 dict=()
  [[ ! -f tests/fuzz/$name.dict ]] || dict=("-dict=tests/fuzz/$name.dict")
  mkdir -p "$corpus" build/fuzz/found
  # Without -detect_leaks=0 libFuzzer looks for leaks after inputs that allocated more than they freed, which on AArch64 takes
  # three seconds each time. AddressSanitizer looks once at the end all the same.
  if "build/fuzz/bin/fuzz-$name" --seeds "$corpus" >"$log" 2>&1 &&
    "build/fuzz/bin/fuzz-$name" -detect_leaks=0 "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=2048 "${dict[@]}" \
      "-artifact_prefix=build/fuzz/found/$name-" "$corpus" >>"$log" 2>&1; then
    echo "ok $name $(awk '/^Done [0-9]+ runs/ { n = $2 } END { print n + 0 }' "$log")"
  else
    tail -n 40 "$log"
    echo "FAILED $name"
    return 1
  fi
}

workers=$1 seconds=$2 status=0
shift 2
for name in "$@"; do
  while (($(jobs -rp | wc -l) >= workers)); do wait -n || status=1; done
  one "$seconds" "$name" &
done
while (($(jobs -p | wc -l) > 0)); do wait -n || status=1; done
exit "$status"
