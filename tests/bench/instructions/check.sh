#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check.sh PROGRAM [--write]: instructions per operation, counted by callgrind: what 2N operations take more than N.
# Counts hardly differ from run to run, where times do. Fails on one that is more than a tenth above what
# counts-MACHINE.txt says; --write writes that file anew.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${1:?usage: check.sh PROGRAM [--write]}
table=$here/counts-$(uname -m).txt

count() { # NAME N
  # The log is all that is wanted; a count that is missing is an error below.
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
    awk '/Collected *:/ {print $NF}'
}

failed=0
lines=()
for name in yield pingpong chan_buf chan_buf_named spawn; do
  n=20000
  once=$(count $name $n)
  twice=$(count $name $((2 * n)))
  [[ $once =~ ^[0-9]+$ && $twice =~ ^[0-9]+$ ]] || { echo "instructions: callgrind did not count $name" >&2; exit 1; }
  each=$(((twice - once + n / 2) / n))
  lines+=("$name $each")
  known=$(awk -v name=$name '$1 == name {print $2}' "$table" 2>/dev/null || true)
  printf 'figure: instructions of one %s = %d ' $name $each
  if [[ -n $known && ${2:-} != --write ]]; then
    printf ', at most %d' $((known * 11 / 10))
    ((each * 10 <= known * 11)) || failed=1
  fi
  echo
done
if [[ ${2:-} == --write ]]; then
  printf '%s\n' "${lines[@]}" >"$table"
elif [[ ! -f $table ]]; then
  echo "instructions: no counts for $(uname -m) yet: $here/check.sh PROGRAM --write"
fi
exit $failed
