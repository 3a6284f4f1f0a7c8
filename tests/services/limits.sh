#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# limits.sh PROGRAM HANGING [--long]
#
# Runs services under small limits: threads (RLIMIT_NPROC, as a user whom nobody else is; needs root), address space
# (RLIMIT_AS), open files (RLIMIT_NOFILE). At each point a service must either do all its work and answer SIGTERM, or end
# at once with a line that says what to raise. It never stands still, never dies by a signal, never fills the log.
# One whose process hangs again and again (HANGING is hang-matrix) may also come to the last thread, and stops by its
# `on_limit` then, with one line that says so.
# Without --long: chosen points, in some seconds. With it: threads 1 to 10, address space each 20 MB from 40 to 600, open
# files 4 to 16, and the climate example as a larger program.
set -uo pipefail
# Whoever called may have left descriptors open, which would count.
for inherited in /proc/$BASHPID/fd/*; do
  n=${inherited##*/}
  # 255 is the script itself.
  if ((n > 2 && n != 255)); then eval "exec $n>&-"; fi
done
program=$(realpath "$1") && hanging=$(realpath "$2") && long=${3:-}
examples=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../examples")
dir=$(mktemp -d) && chmod 755 "$dir" && trap '[[ $BASHPID != "$$" ]] || rm -rf "$dir"' EXIT
cp "$program" "$dir/leat" && cp "$hanging" "$dir/hanging" && cd "$dir" || exit 1
# Another user cannot read what stands beside it.
mapfile -t libraries < <(ldd hanging | awk '$3 ~ /libhang-/ { print $3 }')
cp "${libraries[@]}" . && export LD_LIBRARY_PATH=$dir || exit 1
points=0 failures=0 refused=0 limited=0 users=0
patience=20 # seconds until a point counts as standing still

cat >short.toml <<'END'
leat = 1
[process.tick]
use    = "ticker"
config = { period = "2ms", count = 20 }
out    = { ticks = "ticks" }
[process.show]
use    = "line-writer"
config = { to = "stdout", format = "json" }
in     = { values = "ticks" }
[channel.ticks]
capacity = 8
END
sed 's/, count = 20//' short.toml >endless.toml
# One that sleeps for ever takes a thread along for good, one that loops in a library of somebody runs on behind its fence.
hangs=5
for where in sleep vendor; do
  cat >"$where.toml" <<END
leat = 1
[supervisor]
host_hang = "3s"
hang = "60ms"
grace = "20ms"
restart = { burst = 1000, backoff = ["1ms", "1ms"] }
[process.source]
use = "counts"
hang = "5s"
out = { to = "raw" }
[process.victim]
use = "hangs"
config = { where = "$where", times = $hangs }
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
done
cp "$examples/climate/climate.toml" climate.toml
export CLIMATE_LISTEN=127.0.0.1:0 CLIMATE_CONTROL=127.0.0.1:0

fail() {
  echo "FAILED: $point: $1"
  sed 's/^/    /' err | head -5
  failures=$((failures + 1))
}

# The limit as a prefix of a command line, in $limit.
limit_to() {
  case $1 in
    threads) users=$((users + 1)) && user=$((1500000000 + $$ % 100000 * 1000 + users))
      limit=(prlimit "--nproc=$2:$2" setpriv --reuid "$user" --regid "$user" --clear-groups) ;;
    megabytes) limit=(prlimit "--as=$(($2 * 1048576))") ;;
    files) limit=(prlimit "--nofile=$2:$2") ;;
  esac
}

# It has ended by itself with $status: was that fair?
is_clear_refusal() {
  if ((status == 0)); then fail "it ended too early"; return; fi
  if ((status > 127)); then fail "it died by signal $((status - 128))"; return; fi
  (($(wc -l <err) <= 2)) || fail "more than one line says why it ended"
  grep -Eq 'ulimit|TasksMax' err || fail "no line says what to raise"
  refused=$((refused + 1))
}

# It works: one warning may say that it does so with less than it wants, and on a machine without time some more may tell
# of slow ends.
log_is_short() {
  local told all
  told=$(grep -c 'no further thread' err)
  all=$(grep -Ec ' (warning|error) ' err)
  ((told <= 1 && all <= 6)) || fail "$told lines about threads, $all warnings in all"
}

# A service that ends when its work is done.
try_short() {
  points=$((points + 1))
  timeout -s KILL "$patience" "${limit[@]}" ./leat run short.toml >out 2>err </dev/null
  status=$?
  if ((status == 137)); then fail "a service that has an end stands still"; return; fi
  if ((status != 0)); then is_clear_refusal; return; fi
  (($(wc -l <out) == 20)) || fail "$(wc -l <out) of 20 records came through"
  log_is_short
}

# A service without an end, $1 its file.
try_endless() {
  points=$((points + 1))
  local records="records$points" i
  mkdir -m 777 "$records"
  : >out
  CLIMATE_RECORDS=$records "${limit[@]}" ./leat run "$1" >out 2>err </dev/null &
  local pid=$!
  for ((i = 0; i < patience * 50; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    [[ $1 == climate.toml ]] && compgen -G "$records/*" >/dev/null && break
    [[ $1 != climate.toml && -s out ]] && break
    sleep 0.02
  done
  if ((i == patience * 50)); then
    fail "$1 stands still"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    return
  fi
  kill -TERM "$pid" 2>/dev/null
  local stopped=$?
  for ((i = 0; i < patience * 50; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.02; done
  if ((i == patience * 50)); then
    fail "$1 does not answer SIGTERM"
    kill -KILL "$pid"
  fi
  wait "$pid" 2>/dev/null
  status=$?
  if ((stopped != 0)); then is_clear_refusal; return; fi
  if ((status == 143)); then fail "SIGTERM was not taken: $1 died of it"; return; fi
  # It may have been about to end by itself when the signal came.
  if ((status != 0)); then is_clear_refusal; return; fi
  log_is_short
}

# Each channel in the ledger: nothing has gone without being counted.
is_balanced() {
  awk '/^channel / && /sent/ { n++; for (i = 1; i < NF; i++) at[$i] = $(i + 1)
      if (at["sent"] != at["received"] + at["dropped"] + at["left"]) wrong++ }
    END { exit !(n == 2 && !wrong) }' err
}

# A service whose process hangs in $1, $hangs times: all are replaced and it answers SIGTERM; or `on_limit` ends it before the
# last thread is gone, and one line says why; or there was but one, and host_hang ends it.
try_hanging() {
  points=$((points + 1))
  : >out
  "${limit[@]}" ./hanging run "$1.toml" >out 2>err </dev/null &
  local pid=$! i told
  for ((i = 0; i < patience * 50; i++)); do
    kill -0 "$pid" 2>/dev/null || break
    if grep -q 'all have hung' out; then kill -TERM "$pid" 2>/dev/null; break; fi
    sleep 0.02
  done
  for ((; i < 2 * patience * 50; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.02; done
  if ((i == 2 * patience * 50)); then
    fail "a service with hangs in $1 stands still"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    return
  fi
  wait "$pid" 2>/dev/null
  status=$?
  told=$(grep -c 'warning sched: no further thread' err)
  ((told <= 1)) || fail "$told lines about threads"
  case $status in
    0)
      grep -Eq ', 0 lost, [0-9]+ twice, 0 stopped inside' out || fail "hangs in $1: $(tail -n 1 out)"
      is_balanced || fail "hangs in $1: the ledger is not in balance" ;;
    70)
      grep -q 'every thread is busy, .* raise TasksMax=' err || fail "hangs in $1: no line says what to raise"
      limited=$((limited + 1)) ;;
    *)
      if [[ $status != 1 || ! -s out ]]; then is_clear_refusal; return; fi
      told=$(grep -Ec 'its service .* stops' err)
      ((told == 1)) || fail "hangs in $1: $told lines tell of the limit"
      grep -Eq ', 0 stopped inside' out || fail "hangs in $1: $(tail -n 1 out)"
      is_balanced || fail "hangs in $1: the ledger is not in balance"
      limited=$((limited + 1)) ;;
  esac
}

sweep() {
  local kind=$1 n
  shift
  for n; do
    point="$kind = $n"
    limit_to "$kind" "$n" && try_short
    limit_to "$kind" "$n" && try_endless endless.toml
    if [[ $long && $kind != files ]]; then limit_to "$kind" "$n" && try_endless climate.toml; fi
    if [[ $long || $kind == threads ]]; then limit_to "$kind" "$n" && try_hanging sleep; fi
    if [[ $long ]]; then limit_to "$kind" "$n" && try_hanging vendor; fi
  done
}

if [[ $long ]]; then
  ((EUID != 0)) || sweep threads {1..10}
  sweep megabytes {40..600..20}
  sweep files {4..16}
else
  ((EUID != 0)) || sweep threads 1 2 3 4
  sweep megabytes 40 100 220 400
  sweep files 4 7 8
fi
((EUID == 0)) || echo "not root: limits on threads were not tried"
echo "$points runs, $refused ended at once with a reason, $limited by their limit of hangs, $failures wrong"
((failures == 0))
