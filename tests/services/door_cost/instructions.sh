#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# instructions.sh PROGRAM: what the control door adds, with nobody there, to the instructions of an operation: a value
# through a buffered channel, there and back, through ten processes, 64 bytes there and back by TCP. As callgrind counts
# them, what 2N operations take more than N; once with the door, once by a host that nobody looks at. Who looks once a
# second does so fifty times as often there, as everything else takes that much longer.
set -euo pipefail
export LC_ALL=C
program=${1:?usage: instructions.sh PROGRAM}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LEAT_SOCKETS=$folder

file() { # NAME COUNT
  printf 'leat = 1\n[runtime]\nprocs = 1\nspinning = 0\nslice = "1h"\n'
  case $1 in
    chan_buf) printf '[process.source]\nuse = "source"\nconfig = { count = %d }\n[process.taker]\nuse = "taker"\nin = { from = "source.to" }\n' "$2" ;;
    pingpong) printf '[process.ping]\nuse = "ping"\nconfig = { count = %d }\nin = { back = "pong.back" }\n[process.pong]\nuse = "pong"\nin = { there = "ping.there" }\n' "$2" ;;
    tcp_echo) printf '[process.echoes]\nuse = "echoes"\nconfig = { count = %d }\n' "$2" ;;
    pipeline)
      local i last=source
      printf '[process.source]\nuse = "source"\nconfig = { count = %d }\n' "$2"
      for i in 1 2 3 4 5 6 7 8; do
        printf '[process.p%d]\nuse = "hands_on"\nin = { from = "%s.to" }\n' "$i" "$last"
        last=p$i
      done
      printf '[process.taker]\nuse = "taker"\nin = { from = "%s.to" }\n' "$last" ;;
  esac
}

count() { # HOW NAME N
  file "$2" "$3" >"$folder/it.toml"
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$folder/it.toml" 2>&1 |
    awk '/Collected *:/ {print $NF}'
}
each() { # HOW NAME N
  local once twice
  once=$(count "$@") twice=$(count "$1" "$2" $((2 * $3)))
  [[ $once =~ ^[0-9]+$ && $twice =~ ^[0-9]+$ ]] || { echo "door_cost: callgrind did not count $2, $1" >&2; exit 1; }
  awk "BEGIN { print ($twice - $once) / $3 }"
}

failed=0
for row in chan_buf:200000 pingpong:40000 pipeline:20000 tcp_echo:5000; do
  name=${row%:*} n=${row#*:}
  alone=$(each alone "$name" "$n")
  open=$(each run "$name" "$n")
  awk -v name="$name" -v alone="$alone" -v open="$open" 'BEGIN {
    more = (open / alone - 1) * 100
    printf "%s: %.1f instructions without, %.1f with the door open\n", name, alone, open
    printf "figure: what an open door adds to %s = %.3f %%, at most 0.5\n", name, more
    exit !(more <= 0.5)
  }' || failed=1
done
exit $failed
