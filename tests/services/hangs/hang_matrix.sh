#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Hangs in real libraries: hang_matrix.sh PROGRAM [HANGS [ROUNDS [KIND...]]]
# Each kind with the default arenas and with one, with 1, 2 and 4 Ps (the short form: one of these each): every hang is
# replaced, no value is lost or comes twice but those that were in hand, nobody is stopped inside the allocator, SIGTERM
# is answered within the drain, and the exit status is 0.
set -uo pipefail
program=$1 hangs=${2:-5} rounds=${3:-1}
shift $(($# < 3 ? $# : 3))
mapfile -t kinds < <("$program" kinds)
mapfile -t left_out < <("$program" left-out)
(($#)) && kinds=("$@")
settings=("1 0" "2 1" "4 0")
((hangs >= 50)) && settings=("1 0" "1 1" "2 0" "2 1" "4 0" "4 1")
dir=$(mktemp -d) && trap 'kill "$(jobs -p)" 2>/dev/null; rm -rf "$dir"' EXIT
passed=0 failed=0

one() {
  local kind=$1 procs=$2 one_arena=$3 status=0 text i
  cat >"$dir/t.toml" <<END
leat = 1
[service]
name = "matrix"
drain = "5s"
[runtime]
procs = $procs
slice = "1ms"
max_quarantined = 1000
[supervisor]
hang = "60ms"
grace = "20ms"
restart = { burst = 100000, backoff = ["1ms", "1ms"] }
# The two that do not hang may wait for a lock of the allocator's that a fenced thread holds, at the lowest priority: on a busy
# machine for longer than the one that does is given.
[process.source]
use = "counts"
hang = "5s"
out = { to = "raw" }
[process.victim]
use = "hangs"
config = { where = "$kind", times = $hangs }
in = { from = "raw" }
out = { to = "done" }
delivery = "at-least-once"
[process.sink]
use = "checks"
hang = "5s"
in = { from = "done" }
[channel.raw]
capacity = 16
[channel.done]
capacity = 16
END
  local arena=() arenas='default arenas'
  ((one_arena)) && arena=(MALLOC_ARENA_MAX=1) arenas='one arena'
  rm -f "$dir/out"
  env "${arena[@]}" "$program" run "$dir/t.toml" >"$dir/out" 2>"$dir/log" &
  local pid=$!
  for ((i = 0; i < 100 + 10 * hangs; i++)); do
    grep -qs 'all have hung' "$dir/out" && break
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -TERM "$pid" 2>/dev/null
  for ((i = 0; i < 100; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  ((i == 100)) && kill -KILL "$pid" 2>/dev/null
  wait "$pid" 2>/dev/null || status=$?
  text=$(tail -n 1 "$dir/out")
  if ((status == 0 && i < 100)) && [[ $text =~ ^([0-9]+)\ hung,\ [0-9]+\ sent,\ 0\ lost,\ ([0-9]+)\ twice,\ 0\ stopped ]] &&
    ((BASH_REMATCH[1] == hangs && BASH_REMATCH[2] <= hangs)); then
    passed=$((passed + 1))
    echo "well    $kind, procs $procs, $arenas: $text"
  else
    failed=$((failed + 1))
    echo "FAILED  $kind, procs $procs, $arenas: status $status, waited $i tenths of a second; $text"
    tail -n 15 "$dir/log"
  fi
}

turn=0
for ((round = 0; round < rounds; round++)); do
  for kind in "${kinds[@]}"; do
    if ((hangs >= 50)); then
      for s in "${settings[@]}"; do one "$kind" ${s% *} ${s#* }; done
    else
      s=${settings[turn++ % ${#settings[@]}]}
      one "$kind" ${s% *} ${s#* }
    fi
  done
done
((${#left_out[@]} == 0)) || echo "left out, built without the library: ${left_out[*]}"
echo "$passed passed, $failed failed"
((failed == 0))
