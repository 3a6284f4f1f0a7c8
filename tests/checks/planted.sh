#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# planted.sh [NAME...]: plants a fault in a copy of this tree, one after the other, and fails if what `./dev test` would run
# does not see it. Part of `./dev soak`, as each plant is a build; NAME is a regular expression on the names below.
#
# A gate that has been made lighter must still be one: each kind of fault that it is there for has a plant here. A plant is a
# change by sed, which must change something; and the one test, or check, of the gate's share that must then fail.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
jobs=${JOBS:-$(nproc)}
copy=$root/build/planted
log=$copy.log
only=$(IFS='|' && echo "$*")
planted=0 missed=0 line=''

rm -rf "$copy/tree.new"
mkdir -p "$copy"
# As it is, with what is not committed; times are kept, so that the next run compiles what has changed.
(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
  tar -c --null -T - -f -) | (mkdir -p "$copy/tree.new" && cd "$copy/tree.new" && tar -xf -)
for kept in release clang-asan tsan; do
  [[ ! -d $copy/tree/build/$kept ]] || { mkdir -p "$copy/tree.new/build" && mv "$copy/tree/build/$kept" "$copy/tree.new/build/"; }
done
rm -rf "$copy/tree" && mv "$copy/tree.new" "$copy/tree"
cd "$copy/tree" || exit 1
: >"$log"

# built PRESET TARGET...
built() {
  local preset=$1
  shift
  [[ -f build/$preset/build.ninja ]] || cmake --preset "$preset" >>"$log" 2>&1 || return 1
  cmake --build "build/$preset" -j "$jobs" --target "$@" >>"$log" 2>&1
}

# The three ways in which the gate looks. Status 0: it has seen the fault; 1: it has not; 2: it could not look.
# seen_by_test PRESET TEST: the test is part of the gate's share of this build, and fails.
seen_by_test() {
  local preset=$1 test=$2 target=test-${2//\//-} out
  [[ $test != */together ]] || target=tests-${test%/together}
  built "$preset" "$target" || return 2
  out=$(timeout 900 ctest --preset "$preset" -R "^$test\$" -LE '^(beyond|soak|alone)$' --output-on-failure 2>&1)
  echo "$out" >>"$log"
  grep -q "^1/1 Test" <<<"$out" || return 2
  ! grep -q '100% tests passed' <<<"$out" || return 1
  # What it said first, of all that a sanitizer and doctest have to say.
  line=$(grep -m 1 -oE 'ERROR: [A-Za-z]+Sanitizer: [a-z-]+|WARNING: ThreadSanitizer: [a-z ]+|[^ ]*_test\.cpp:[0-9]+: (ERROR|FATAL).*|Timeout' <<<"$out")
}
# seen_by_check NAME: a check of the tree by itself.
seen_by_check() {
  local out
  built release help >/dev/null || return 2
  out=$(ctest --preset release -R "^$1\$" -L '^checks$' --output-on-failure 2>&1)
  echo "$out" >>"$log"
  grep -q "^1/1 Test" <<<"$out" || return 2
  ! grep -q '100% tests passed' <<<"$out" || return 1
  line=$(grep -m 1 -E '^[a-z]+/[^ ]*:[0-9]+' <<<"$out")
}
seen_by_headers() {
  built release help >/dev/null || return 2
  ! built release headers || return 1
  line=$(sed -n '/^---/h; /error:/H; ${x; s/^---[^\n]*\n//; s/\n.*//; p}' "$log")
}

# plant NAME FILE SED HOW WORDS...
plant() {
  local name=$1 file=$2 change=$3 status=0 begun=$SECONDS
  shift 3
  [[ -z $only || $name =~ $only ]] || return 0
  planted=$((planted + 1)) line=''
  cp "$file" "$copy/original"
  sed -i -E "$change" "$file"
  if cmp -s "$file" "$copy/original"; then
    echo "NOT PLANTED  $name: $file has no such line; tests/checks/planted.sh must follow it"
    missed=$((missed + 1))
    return
  fi
  local how="${*:2}"
  how=${how:-the headers by themselves}
  echo "--- $name: $how" >>"$log"
  "$@" || status=$?
  case $status in
    0) echo "seen         $name, by ${how} in $((SECONDS - begun)) s: ${line:-see $log}" ;;
    1) echo "NOT SEEN     $name: ${how} passed" ;;
    *) echo "NOT TRIED    $name: it could not be built or run; see $log" ;;
  esac
  ((status == 0)) || missed=$((missed + 1))
  cp "$copy/original" "$file"
}

plant "a lost wake-up" framework/leat/sched/idle_set.cpp \
  's/if \(idle_ps_.*work_visible\(nullptr, true\)\) return;/return;/' seen_by_test tsan sched/wake
plant "a use after free in a channel" framework/leat/csp/latest_by_key.cpp \
  's/while \(evicted\) delete .*/while (evicted) { delete evicted; evicted = evicted->chain; }/' seen_by_test clang-asan csp/latest_by_key
plant "a data race in the scheduler" framework/leat/sched/g_store.cpp \
  '/^void g_store::give_back\(free_list/,/^}/ s/lock_guard hold\(lock_\);//' seen_by_test tsan sched/stress
plant "a wrong column in an error" config/leat/config/outline.cpp \
  's/return \{file_, line_, column_, 1\};/return {file_, line_, column_ + 1, 1};/' seen_by_test clang-asan config/together
plant "an off-by-one in the ledger" services/leat/services/ledger.cpp \
  's/std::to_string\(s\.received\)/std::to_string(s.received + 1)/' seen_by_test clang-asan services/shutdown
plant "a header that lacks an include" framework/leat/csp/semaphore.hpp \
  's/^#include <leat.csp.wait\.hpp>$//' seen_by_headers
plant "a layer broken" framework/leat/base/clock.cpp \
  '0,/^#include/ s/^#include/#include <leat\/sched\/g.hpp>\n#include/' seen_by_check checks/layers

echo "$planted planted, $missed not seen"
((planted)) || { echo "planted: no plant has a name like $*" >&2; exit 2; }
((missed == 0))
