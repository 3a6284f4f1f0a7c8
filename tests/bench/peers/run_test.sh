#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# peers/run with scripted programs in place of Leat and the peers: who runs, in which order, what the report makes of it,
# and what is left of an interrupted run. Argument: a scratch folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$1/run_test
rm -rf "$work"
mkdir -p "$work/peers"

fail() {
  echo "run_test: $*" >&2
  exit 1
}
has() { grep -Eq -- "$2" "$1" || fail "'$2' is not in $1: $(cat "$1")"; }

# program PATH PEER "LIST" BASE: answers --list; each run logs itself and reports BASE, BASE+1, ... by round.
program() {
  cat >"$1" <<SCRIPT
#!/usr/bin/env bash
if [[ \$1 == --list ]]; then printf '$3'; exit; fi
[[ "\$*" == *"--reps 1"* && "\$*" == *--json* ]] || exit 9
name=\$2 procs=\$4 file=\${@: -1}
echo "$2 \$name \$procs" >>"$work/log"
if [[ $2 == boost && \$name == breaks ]]; then echo "out of luck" >&2; exit 1; fi
if [[ \$name == hangs ]]; then
  sleep 300 & echo \$! >"$work/sleeper"
  wait
fi
[[ \$name == slow ]] && sleep 0.6
round=\$(grep -c "^$2 \$name \$procs\$" "$work/log")
value=\$(($4 + round))
for sub in "" .p99; do
  echo "{\"name\":\"\$name\$sub\",\"procs\":\$procs,\"unit\":\"ns\",\"median\":\$value,\"min\":1,\"values\":[1],\"peer\":\"$2\"}" >>"\$file"
done
SCRIPT
  chmod +x "$1"
}
program "$work/leat" leat 'pingpong  ns  1,2  text\nleat_only  ns  1  text\nbreaks  ns  1  text\ntcp_echo ns 1 text\nslow ns 1 x\nhangs ns 1 x\n' 108
program "$work/peers/leat-peer-go" go 'pingpong ns 1,2\ngo_only ns 1\nbreaks ns 1\ntcp_echo ns 1\nslow ns 1\nhangs ns 1\n' 438
program "$work/peers/leat-peer-boost" boost 'pingpong ns 1\nbreaks ns 1\n' 218
program "$work/peers/leat-peer-epoll" epoll 'tcp_echo ns 1\n' 53

export LEAT_PEERS_BUILD=: # the programs are there
run() { "$here/run" --leat "$work/leat" --out "$work" "$@"; }
code=0
run --rounds 3 --page "$work/page.md" pingpong breaks tcp_echo >"$work/out" 2>"$work/err" || code=$?
((code == 1)) || fail "exit code $code, expected 1 because a peer failed: $(cat "$work/err")"
has "$work/err" 'breaks procs 1 failed in boost: out of luck'

first="leat pingpong 1,go pingpong 1,boost pingpong 1,leat pingpong 2,go pingpong 2,leat breaks 1,go breaks 1"
tcp="leat tcp_echo 1,go tcp_echo 1,epoll tcp_echo 1"
[[ $(paste -sd, "$work/log") == "$first,boost breaks 1,$tcp,$first,$tcp,$first,$tcp" ]] ||
  fail "order of runs: $(paste -sd, "$work/log")"

has "$work/out" '^pingpong +1 ns +110\.0 +440\.0 +220\.0 +- +- +4\.00 +2\.00 +-$'
has "$work/out" '^pingpong\.p99 +2 ns +110\.0 +440\.0 +- +- +- +4\.00 +- +-$'
has "$work/out" '^breaks +1 ns +110\.0 +440\.0 +- +- +- +4\.00 +- +-$'
has "$work/report.md" '^\| pingpong \| 1 \| ns \| 110\.0 ±1% \| 109\.0 \| 100 \(missed\) \| 440\.0 ±0% \| 220\.0 ±0% \| 4\.00 \| 2\.00 \|$'
has "$work/report.md" '^\| tcp_echo \| 1 \| 9091k ±1% \| epoll x 0\.95 \(missed\) \| 2273k ±0% \| 18182k ±2% \| - \| 4\.00 \| 0\.50 \| - \|$'
has "$work/report.json" '^\{"name":"pingpong","procs":1,"unit":"ns","goal":100,"leat":\{"median":110,"min":109,"max":111,"rounds":3\}'
has "$work/report.svg" '>pingpong, P = 1</text>'
[[ $(grep -c '^<rect x="[0-9.]*" y="[0-9]*" width="[0-9.]*" height="7" fill="#2a6f4e"/><text x="[0-9.]*" y="[0-9]*">4.00</text>$' \
  "$work/report.svg") == 8 ]] || fail "the bars of Leat: $(cat "$work/report.svg")"
has "$work/page.md" '^!\[.*\]\(page\.svg\)$'
has "$work/page.md" '^- \*\*tcp_echo\*\* P = 1: 110\.0 ns \(the goal is epoll x 0\.95, epoll 55\.0\)(; .*)?\. .'
[[ -s $work/page.svg ]] || fail "no picture beside the page"
if grep -q only "$work/out"; then fail "a workload that only one side knows was compared"; fi

# A row of 1.2 s, and 3 s in all: fewer rounds than asked for, and no more time than that.
rm "$work/log"
run --rounds 9 --seconds 3 slow pingpong >"$work/out" 2>"$work/err" || fail "exit code $? of a run that has to be short"
slow=$(grep -c '^leat slow 1' "$work/log") quick=$(grep -c '^leat pingpong 1' "$work/log")
((slow >= 1 && slow <= 2)) || fail "$slow rounds of 1.2 s in 3 s"
((quick >= slow)) || fail "$quick rounds of the quick row, $slow of the slow one"

# Interrupted: no child is left, and what there is has been written.
rm "$work/log"
"$here/run" --leat "$work/leat" --out "$work" --rounds 1 pingpong hangs >"$work/out" 2>"$work/err" &
runner=$!
for ((i = 0; i < 600; i++)); do
  [[ -s $work/sleeper ]] && break
  sleep 0.1
done
[[ -s $work/sleeper ]] || fail "it did not come to the workload that hangs"
kill -TERM "$runner"
code=0
wait "$runner" || code=$?
((code == 130)) || fail "exit code $code of an interrupted run, expected 130: $(cat "$work/err")"
# One that has ended may still be waiting for whoever inherited it.
state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$(<"$work/sleeper")/status" 2>/dev/null || true)
[[ $state == '' || $state == Z || $state == X ]] || fail "a child is left after an interrupt, in state $state"
has "$work/out" '^pingpong +1 ns '
has "$work/report.md" 'interrupted'

for bad in "--rounds 0" "--procs x" "--rounds" "--frobnicate" "nothing" "--leat /nonexistent pingpong"; do
  code=0
  # shellcheck disable=SC2086
  run $bad >/dev/null 2>"$work/err" || code=$?
  ((code == 2)) || fail "'$bad': exit code $code, expected 2"
  has "$work/err" '^peers: '
done
