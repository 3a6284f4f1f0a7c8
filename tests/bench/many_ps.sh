#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# many_ps.sh PROGRAM [NAME...]: with 16 Ps each workload reaches 0.7 of its throughput with 2, on however few cores. The two
# run in turn, so that other load on the machine hits both, and their medians count: now and then both Ms of 2 Ps share a core,
# and that run, twice as fast for a channel of many, says nothing of Ps. It is over as soon as they
# reach it: a little less is let pass on some days, what is to be seen is a loss of scale.
set -euo pipefail
export LC_ALL=C
program=${1:?usage: many_ps.sh PROGRAM [NAME...]}
shift
most=40
# Long enough for the threads of 16 Ps not to count: a tenth of a second, more or less.
declare -A operations=([spawn_group]=800000 [mpmc]=1600000 [pingpong]=400000 [chan_buf]=8000000 [chan_buf_any]=2000000 [mutex]=4000000)
names=("$@")
(($#)) || names=(spawn_group mpmc pingpong chan_buf chan_buf_any mutex)

ns_of() { # NAME PROCS
  local answer
  answer=$("$program" "$1" "${operations[$1]}" "$2") || return
  echo "${answer%% *}"
}
median() { printf '%s\n' "$@" | sort -n | awk '{at[NR] = $1} END {print (at[int((NR + 1) / 2)] + at[int(NR / 2) + 1]) / 2}'; }
failed=0
for name in "${names[@]}"; do
  fews=() manys=() enough=0
  for ((try = 1; try <= most && !enough; try++)); do
    fews+=("$(ns_of "$name" 2)")
    manys+=("$(ns_of "$name" 16)")
    few=$(median "${fews[@]}") many=$(median "${manys[@]}")
    enough=$(awk -v f="$few" -v m="$many" -v t="$try" 'BEGIN {print (t >= 5 && f >= 0.7 * m ? 1 : 0)}')
  done
  awk -v n="$name" -v f="$few" -v m="$many" -v t=$((try - 1)) \
    'BEGIN {printf "%-14s %8.1f ns with 2 Ps, %8.1f with 16: %.2f of the throughput, after %d tries\n", n, f, m, f / m, t}'
  ((enough)) || failed=1
done
((!failed)) || echo "many_ps: with 16 Ps less than 0.7 of the throughput with 2"
exit $failed
