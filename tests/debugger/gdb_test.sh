#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# gdb_test.sh PROGRAM: gdb's commands for Gs, loaded from the program itself, on the program as it runs and on its core file.
set -uo pipefail
program=$1
wrong=0
command -v gdb >/dev/null || { echo "there is no gdb here"; exit 77; }
gdb -nx -batch -ex 'python print("has", "python")' 2>/dev/null | grep -q 'has python' ||
  { echo "this gdb has no Python"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/until_parked.py" <<'END'
def listed():
    return gdb.execute("leat gs", to_string=True)
for i in range(500):
    if "waiting: receive" in listed() and "waiting: sleep" in listed():
        break
    gdb.execute("continue", to_string=True)
END
export DEBUGINFOD_URLS=
ulimit -c unlimited 2>/dev/null
timeout 120 gdb -nx -batch -iex "add-auto-load-safe-path $(dirname "$program")" -ex 'set pagination off' \
  -ex "set cwd $folder" -ex 'break look_now' -ex run -ex "source $folder/until_parked.py" \
  -ex 'echo == gs\n' -ex 'leat gs' -ex 'echo == bt\n' -ex 'leat bt watcher' -ex 'echo == busy\n' -ex 'leat bt busy' \
  -ex 'echo == nobody\n' -ex 'leat bt nobody' -ex 'echo == g\n' -ex 'leat g watcher' -ex 'bt' -ex 'leat g' \
  -ex 'echo == back\n' -ex 'bt' -ex 'handle SIGABRT nostop noprint pass' -ex 'signal SIGABRT' "$program" >"$folder/live" 2>&1 </dev/null
if grep -q 'ptrace: Operation not permitted\|Could not trace the inferior' "$folder/live"; then
  echo "gdb may not trace programs here"
  exit 77
fi

part() { awk -v from="== $2" '$0 == from { on = 1; next } /^== / { on = 0 } on' "$folder/$1"; }
has() {
  if ! part "$1" "$2" | grep -Eq -- "$3"; then
    echo "WRONG: '$2' has no line like: $3"
    wrong=$((wrong + 1))
  fi
}

has live gs '^ *G +state +name +where$'
has live gs 'waiting: receive +watcher +plant::(read_level|watch_tanks)'
has live gs 'waiting: sleep +sleeper '
has live gs 'running +busy +on thread [0-9]+'
has live bt "^G [0-9]+ 'watcher', waiting: receive"
has live bt '^#0 '
has live bt 'plant::read_level'
has live bt 'plant::watch_tanks'
has live busy '^Thread [0-9]+'
has live nobody "there is no G 'nobody'"
has live g 'plant::watch_tanks'
has live back 'look_now'
part live back | grep -q watch_tanks && { echo "WRONG: \`leat g\` does not go back"; wrong=$((wrong + 1)); }

# The kernel's core file, not gdb's own (gcore), which ends at the first guard page of a stack.
core=$(find "$folder" -name 'core*' | head -n 1)
if [[ -n $core ]]; then
  timeout 120 gdb -nx -batch -iex "add-auto-load-safe-path $(dirname "$program")" -ex 'set pagination off' \
    -ex 'echo == gs\n' -ex 'leat gs' -ex 'echo == bt\n' -ex 'leat bt watcher' "$program" "$core" \
    >"$folder/dead" 2>&1 </dev/null
  has dead gs 'waiting: receive +watcher +plant::'
  has dead bt 'plant::read_level'
  has dead bt 'plant::watch_tanks'
else
  echo "no core file was looked at: the kernel puts none into the program's folder here"
fi
if ((wrong)); then
  sed 's/^/  live | /' "$folder/live"
  [[ ! -e $folder/dead ]] || sed 's/^/  core | /' "$folder/dead"
fi
exit $((wrong > 0))
