#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# Checks the Promela models: the true ones must have no error, each broken variant must have one.
# Usage: check.sh [--unless-proved | --record] [retake] [fence] [wake] [timer_poll] [wait] [many] [single] [biased] [mutex]
#                 [stop] [sysmon]
# All of them without names.
#
# proved.txt holds, for each model, the hash under which it was proved last: of the model, of its variants here, and of the
# files whose protocol it is (those that it names, and the .cpp of each).
#   --unless-proved   a model whose hash stands there is not proved again; any other is
#   --record          writes the hashes of what holds there
#
# Needs spin and a C compiler. Without spin: exit code 77, which ctest takes for "skipped".
set -u
here=$(cd "${0%/*}" && pwd) || exit 1
root=$here/../..
table=$here/proved.txt
cc=${CC:-cc}
mode=prove
case ${1:-} in
  --unless-proved | --record) mode=${1#--}; shift ;;
  -*) sed -n '/^# Usage/,/^# All/s/^# //p' "$0"; [ "$1" = --help ] && exit 0; exit 2 ;;
esac
models='retake fence wake timer_poll wait many single biased mutex stop sysmon'
for m in "$@"; do
  case " $models " in *" $m "*) ;; *) echo "no such model: $m; there are $models"; exit 2 ;; esac
done

# hash_of MODEL
hash_of() {
  function=$1
  [ "$1" = wait ] && function=waits
  {
    sed -n "/^one() {/,/^}/p; /^$function() {/,/^}/p" "$here/check.sh"
    cat "$here/$1.pml" || return
    for file in $(grep -oE '(framework|config|services)/leat/[a-z_/]+\.[hc]pp' "$here/$1.pml" | sort -u); do
      cat "$root/$file" || return
      [ ! -f "$root/${file%.hpp}.cpp" ] || cat "$root/${file%.hpp}.cpp"
    done
  } | sha256sum | cut -d' ' -f1
}

record() {  # MODEL
  line="$1 $(hash_of "$1")"
  { grep -v "^$1 " "$table" 2>/dev/null; echo "$line"; } | sort >"$table.new" && mv "$table.new" "$table"
}
is_proved() { grep -qxF "$1 $(hash_of "$1")" "$table" 2>/dev/null; }

if [ $mode = unless-proved ]; then
  left=''
  for m in ${*:-$models}; do
    if is_proved "$m"; then echo "proved   $m, as it is now, and written down in tests/models/proved.txt"; else left="$left $m"; fi
  done
  [ -n "$left" ] || exit 0
  echo "changed since it was proved:$left; when it holds, tests/models/check.sh --record$left writes that down"
  set -- $left
fi

command -v spin >/dev/null 2>&1 || { echo "skipped: spin is not installed (Debian: apt install spin)"; exit 77; }
command -v "${cc%% *}" >/dev/null 2>&1 || { echo "no C compiler: '$cc' not found; set CC"; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
bad=0

# The compiler takes longer than most searches, so only the long ones are optimised.
optimise=-O0

# one MODEL good|broken safety|liveness [-DNAME...]
one() {
  model=$1 expect=$2 kind=$3
  shift 3
  what="$model $*"
  work=$dir/run
  rm -rf "$work" && mkdir "$work" && cd "$work" || exit 1
  if [ "$kind" = liveness ]; then defs='-DNFAIR=3' args='-a -f'; else defs='-DSAFETY' args=''; fi
  cp "$here/$model.pml" . &&
    spin "$@" -a "$model.pml" >spin.out 2>&1 &&
    $cc $optimise -w -DMEMLIM=3000 $defs -o pan pan.c >cc.out 2>&1 ||
    { echo "FAILED   $what: the model could not be built"; cat spin.out cc.out 2>/dev/null; bad=1; return; }
  ./pan -m100000 $args >pan.out 2>&1
  errors=$(sed -n 's/.*errors: \([0-9][0-9]*\).*/\1/p' pan.out)
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
  seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds.*/\1/p' pan.out)
  figures="${states:-?} states, ${seconds:-?} s"
  first=$(sed -n 's/^pan:1: //p' pan.out)
  # A search that was cut short proves nothing.
  cut_short='Search not completed|max search depth too small|out of memory'
  if [ -z "$errors" ] || { [ "$errors" = 0 ] && grep -Eq "$cut_short" pan.out; }; then
    echo "FAILED   $what: the search was not completed ($figures)"
    cat pan.out
    bad=1
  elif [ "$expect" = good ] && [ "$errors" != 0 ]; then
    echo "FAILED   $what: $first ($figures); the trail:"
    spin "$@" -t -p -g "$model.pml" 2>&1 | tail -n 150
    bad=1
  elif [ "$expect" = broken ] && [ "$errors" = 0 ]; then
    echo "FAILED   $what: this broken variant was not caught ($figures)"
    bad=1
  elif [ "$expect" = broken ]; then
    echo "caught   $what: ${first%% (at depth*} ($figures)"
  else
    echo "holds    $what ($figures)"
  fi
}

retake() {
  one retake good safety
  one retake good liveness -DLIVENESS
  one retake good safety -DFENCED
  one retake broken safety -DFENCED -DNO_OWNER_BARRIER
  for v in NO_HEAVY_BARRIER NO_ASKING_LOCK ASKER_WRITES_QUIET DENY_RELAXED LEAVE_RELAXED PASS_WRITES_QUIET; do
    one retake broken safety -D$v
  done
}

fence() {
  one fence good safety
  for v in NO_WAIT COME_IN_FALLS COUNT_BEHIND_GATE COUNT_UNSEEN DONE_OUTSIDE COUNT_LATE; do
    one fence broken safety -D$v
  done
}

wake() {
  for spin_limit in 0 1 2; do
    one wake good safety -DSPIN=$spin_limit -DMS=2
  done
  one wake good safety -DSPIN=1 -DMS=2 -DFOREIGN=1 -DRETURNER=1
  optimise=-O2
  one wake good safety -DSPIN=1 -DMS=3 -DFOREIGN=1
  one wake good safety -DSPIN=1 -DMS=3 -DLOCAL=0
  optimise=-O0
  for v in NO_SUBMIT_BARRIER NO_IDLE_BARRIER NO_IDLE_RECHECK NO_PASS_ON LAST_BY_LOAD NO_SECOND_LOOK \
    GLOBAL_LOAD_RELAXED; do
    one wake broken safety -DSPIN=1 -DMS=2 -D$v
  done
  one wake good safety -DSPIN=1 -DMS=2 -DBURST -DLOCAL=2 -DFOREIGN=1
  one wake broken safety -DSPIN=1 -DMS=2 -DBURST -DLOCAL=2 -DFOREIGN=1 -DNO_HEAVY_BARRIER
  one wake good safety -DSPIN=1 -DMS=2 -DLIMITED
  one wake broken safety -DSPIN=1 -DMS=2 -DLIMITED -DNO_LOOK_BEFORE_SLEEP
  one wake broken safety -DSPIN=1 -DMS=2 -DLIMITED -DUNDO_OUTSIDE_LOCK
}

timer_poll() {
  one timer_poll good safety
  for v in NO_RECHECK NO_INTERRUPT ADDER_RELAXED POLLER_RELAXED; do
    one timer_poll broken safety -D$v
  done
}

waits() {  # `wait` is a builtin
  one wait good safety
  optimise=-O2
  one wait good safety -DTHIRD
  optimise=-O0
  for v in READY_WHILE_ENROLLING NO_CAS NO_START_OVER NO_SELF_CLAIM NO_DISARM NO_WITHDRAW PARK_REGARDLESS; do
    one wait broken safety -D$v
  done
}

many() {
  for capacity in 0 1 2; do
    one many good safety -DCAP=$capacity
  done
  for v in LOOK_OUTSIDE UNLOCK_BEFORE_PARK NO_REFILL RING_FIRST WAKE_FIRST; do
    one many broken safety -DCAP=1 -D$v
  done
  one many broken safety -DCAP=0 -DCLOSE_FORGETS_SENDERS
}

single() {
  for capacity in 1 2; do
    one single good safety -DCAP=$capacity
    for v in NO_HEAVY_BARRIER ANNOUNCES_LATE NO_RECHECK NO_FULL_BARRIER; do
      one single broken safety -DCAP=$capacity -D$v
    done
  done
}

biased() {
  one biased good safety
  one biased good safety -DBORN_BIASED
  for v in NO_HEAVY_BARRIER NO_SECOND_LOOK NO_WAIT ONE_FLAG; do
    one biased broken safety -D$v
  done
}

mutex() {
  one mutex good safety -DROUNDS=3
  one mutex good safety -DTHREADS=3 -DROUNDS=1
  optimise=-O2
  one mutex good safety -DTHREADS=3
  optimise=-O0
  for v in NO_HEAVY_BARRIER NO_FULL_BARRIER LOOKS_BEFORE CALM_REGARDLESS; do
    one mutex broken safety -DTHREADS=3 -D$v
  done
}

stop() {
  one stop good safety
  for v in WAITER_ENDS NO_HEAVY_BARRIER NO_WAIT NO_SECOND_LOOK; do
    one stop broken safety -D$v
  done
}

sysmon() {
  one sysmon good safety
  for v in NO_RECHECK NO_TURNS BUSY_AT_LOOK NO_CALL TAKER_RELAXED SYSMON_RELAXED; do
    one sysmon broken safety -D$v
  done
}

all_bad=0
for m in ${*:-$models}; do
  bad=0
  if [ "$m" = wait ]; then waits; else $m; fi
  [ $mode != record ] || [ $bad != 0 ] || record "$m"
  [ $bad = 0 ] || all_bad=1
done
exit $all_bad
