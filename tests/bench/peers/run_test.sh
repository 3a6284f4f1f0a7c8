#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# peers/run with scripted programs in place of Leat and the peers: who runs, in which order, and what the
# report makes of it. Argument: a scratch folder.
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
round=\$(grep -c "^$2 \$name \$procs\$" "$work/log")
value=\$(($4 + round))
for sub in "" .p99; do
  echo "{\"name\":\"\$name\$sub\",\"procs\":\$procs,\"unit\":\"ns\",\"median\":\$value,\"min\":1,\"values\":[1],\"peer\":\"$2\"}" >>"\$file"
done
SCRIPT
  chmod +x "$1"
}
program "$work/leat" leat 'both  ns  1,2  text\nleat_only  ns  1  text\nbreaks  ns  1  text\n' 8
program "$work/peers/leat-peer-go" go 'both ns 1,2\ngo_only ns 1\nbreaks ns 1\n' 38
program "$work/peers/leat-peer-boost" boost 'both ns 1\nbreaks ns 1\n' 18

export LEAT_PEERS_BUILD=: # the programs are there
code=0
"$here/run" --leat "$work/leat" --out "$work" --rounds 3 >"$work/out" 2>"$work/err" || code=$?
((code == 1)) || fail "exit code $code, expected 1 because a peer failed"
has "$work/err" 'breaks procs 1 failed in boost: out of luck'

expected="leat both 1,go both 1,boost both 1,leat both 1,go both 1,boost both 1,leat both 1,go both 1,boost both 1"
expected+=",leat both 2,go both 2,leat both 2,go both 2,leat both 2,go both 2"
expected+=",leat breaks 1,go breaks 1,boost breaks 1,leat breaks 1,go breaks 1,leat breaks 1,go breaks 1"
[[ $(paste -sd, "$work/log") == "$expected" ]] || fail "order of runs: $(paste -sd, "$work/log")"

has "$work/out" '^both +1 ns +10\.0 +40\.0 +20\.0 +4\.00 +2\.00$'
has "$work/out" '^both\.p99 +2 ns +10\.0 +40\.0 +- +4\.00 +-$'
has "$work/out" '^breaks +1 ns +10\.0 +40\.0 +- +4\.00 +-$'
has "$work/peers.md" '^\| both \| 1 \| ns \| 10\.0 ±10% \| 40\.0 ±3% \| 20\.0 ±5% \| 4\.00 \| 2\.00 \|$'
has "$work/peers.json" '^\{"name":"both","procs":1,"unit":"ns","quick":false,"leat":\{"median":10,"min":9,"max":11,"rounds":3\}'
has "$work/peers.svg" '>both, P = 1</text>'
[[ $(grep -c '^<rect x="[0-9.]*" y="[0-9]*" width="[0-9.]*" height="8" fill="#00add8"/><text x="[0-9.]*" y="[0-9]*">4.0</text>$' \
  "$work/peers.svg") == 6 ]] || fail "the bars of Go: $(cat "$work/peers.svg")"
if grep -q only "$work/out"; then fail "a workload that only one side knows was compared"; fi

for bad in "--rounds 0" "--procs x" "--rounds" "--frobnicate" "nothing" "--leat /nonexistent both"; do
  code=0
  # shellcheck disable=SC2086
  "$here/run" --leat "$work/leat" --out "$work" $bad >/dev/null 2>"$work/err" || code=$?
  ((code == 2)) || fail "'$bad': exit code $code, expected 2"
  has "$work/err" '^peers: '
done
