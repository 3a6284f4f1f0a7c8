# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: configure, build and test one preset, plain or sanitized.

# Ninja itself notices changed CMake files. The stamp says that a configuration came to its end, with which presets
# and in which folder; without it CMake starts afresh.
configure() {
  local preset=$1 stamp=build/$1/.configured key
  key="$PWD $(cksum <CMakePresets.json)"
  [[ -f $stamp && -f build/$preset/build.ninja && $(<"$stamp") == "$key" ]] && return 0
  rm -f "$stamp"
  step "configure-$preset" "read the first error above; \`./dev clean\` starts afresh" \
    cmake --preset "$preset" --fresh || return 1
  printf '%s' "$key" >"$stamp"
}

build() {
  local preset=$1
  shift
  configure "$preset" || return 1
  step "build-$preset" "correct the first error above and run the same command again" \
    env NINJA_STATUS='[%f/%t] ' cmake --build "build/$preset" -j "$jobs" "$@"
}

# Test cases as doctest counts them; a program that is no doctest program, or died early, counts as one.
count_tests() {
  local counts
  counts=$(awk '
    function close_test() {
      if (!open) return
      p = cases_passed; f = cases_failed
      if (!passed && f == 0) f = 1
      if (passed && p + f == 0) p = 1
      all_passed += p; all_failed += f
      open = 0
    }
    /^[0-9]+\/[0-9]+ Testing: / { close_test(); open = 1; passed = cases_passed = cases_failed = 0 }
    /^\[doctest\] test cases:/ {
      line = $0; gsub(/\033\[[0-9;]*m/, "", line)
      split(line, part, "|"); split(part[2], p2, " "); split(part[3], p3, " ")
      cases_passed = p2[1] + 0; cases_failed = p3[1] + 0
    }
    /^Test Passed\.$/ || /^Test Pass Reason:/ { passed = 1 }
    END { close_test(); print all_passed + 0, all_failed + 0 }' "$1/Testing/Temporary/LastTest.log" 2>/dev/null) ||
    counts='0 0'
  passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
}

# ctest_step PRESET LABELS_LEFT_OUT NAMES... ; `runner` may hold a command to run it under.
runner=()
ctest_step() {
  local preset=$1 without=$2 status=0 filter=() again
  shift 2
  (($# == 0)) || filter=(-R "$(IFS='|' && echo "$*")")
  # All in one expression, and none in the presets: of several, a label must match each to be left out.
  [[ -z $without ]] || filter+=(-LE "^($without)\$")
  # More than there are processors: many tests mostly wait.
  local at_once=$((jobs > 1 ? jobs + (jobs + 1) / 2 : 1))
  again="ctest --preset $preset -R NAME runs one of them again; build/$preset/bin holds the programs"
  rm -f "build/$preset/Testing/Temporary/LastTest.log"
  step "test-$preset" "$again" "${runner[@]}" ctest --preset "$preset" -j "$at_once" "${filter[@]}" || status=1
  count_tests "build/$preset"
  ((status == 0)) || note_failures "$preset"
  return "$status"
}

plain_tests() {
  local preset=$1 without='checks|soak'
  shift
  ((fast)) && without+='|slow'
  build "$preset" && ctest_step "$preset" "$without" "$@"
}

# What `./dev test` leaves out, one after the other, and never again: a figure that is missed now and then is missed.
soak_tests() {
  local status=0 filter=()
  (($# == 0)) || filter=(-R "$(IFS='|' && echo "$*")")
  build release || return 1
  rm -f build/release/Testing/Temporary/LastTest.log
  step soak "a figure that is missed may be the machine's: look at the log, and run it on a quiet one" \
    ctest --preset release -j 1 -L '^soak$' "${filter[@]}" || status=1
  count_tests build/release
  return "$status"
}

# The sanitizers lay out memory at fixed places; a kernel that spreads mappings too widely (a large
# vm.mmap_rnd_bits) kills even an empty program, now and then or always, unless setarch turns that off.
sanitizer_runner() {
  local compiler=$1 sanitizer=$2 bits program=build/probe/$1-$2 i fixed=(setarch "$(uname -m)" -R)
  runner=()
  mkdir -p build/probe
  if [[ ! -x $program ]]; then
    echo 'int main() {}' >"$program.cpp"
    if ! "$compiler" "-fsanitize=$sanitizer" "$program.cpp" -o "$program" >"$program.log" 2>&1; then
      note="$compiler has no $sanitizer sanitizer on $(uname -m); see $program.log"
      return 77
    fi
  fi
  # Without the leak check: on AArch64 that alone takes seconds.
  probe() {
    for ((i = 0; i < 10; i++)); do ASAN_OPTIONS=detect_leaks=0 "$@" "$program" >"$program.log" 2>&1 || return 1; done
  }
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)
  if ((bits <= 28)) && probe; then return 0; fi
  if "${fixed[@]}" true 2>/dev/null && probe "${fixed[@]}"; then
    runner=("${fixed[@]}")
    say "  under \`${fixed[*]}\`: this kernel's address randomization ($bits bits) is too wide for it"
    return 0
  fi
  if probe; then return 0; fi
  note="it cannot start here: see what to do"
  say "  a program built with -fsanitize=$sanitizer does not even start (log: $program.log)"
  "${fixed[@]}" true 2>/dev/null || say "  and \`setarch -R\` is not permitted, as in a container with a seccomp filter"
  say "  what to do: sudo sysctl vm.mmap_rnd_bits=28, or allow personality(2) in the container"
  return 1
}

sanitized_tests() {
  local preset=$1 compiler=$2 sanitizer=$3
  shift 3
  sanitizer_runner "$compiler" "$sanitizer" || return $?
  local without='checks|models|soak'  # no sanitizer sees the first two
  ((fast)) && without+='|slow'
  # Named tests run one by one; a whole run has many of them in one process.
  if (($#)); then without+='|together'; else without+='|alone'; fi
  build "$preset" && ctest_step "$preset" "$without" "$@"
  local status=$?
  runner=()
  return "$status"
}

# fuzz SECONDS: bytes of all kinds for the reader of TOML, beginning with the files of its tests, on two processors if
# there are. What it finds new is kept, and is where the next run goes on.
fuzz() {
  local seconds=$1 workers=$((jobs > 1 ? 2 : 1)) here=$PWD
  if ! command -v clang++ >/dev/null; then
    note="there is no clang++, and no other compiler has libFuzzer"
    return 77
  fi
  sanitizer_runner clang++ address || return $?
  build fuzz --target fuzz-config || return 1
  mkdir -p build/fuzz/corpus build/fuzz/found
  # It leaves the logs of its workers where it is.
  counted step fuzz-config "build/fuzz/bin/fuzz-config FILE runs it on the file that is named above" \
    env -C build/fuzz "${runner[@]}" bin/fuzz-config -detect_leaks=0 "-max_total_time=$seconds" -timeout=10 \
    "-jobs=$workers" "-workers=$workers" "-dict=$here/tests/config/fuzz.dict" "-artifact_prefix=$here/build/fuzz/found/" \
    corpus "$here/tests/config/broken" "$here/tests/config/good"
  note=$(awk '/^Done [0-9]+ runs/ { n += $2 } END { print n + 0, "inputs" }' build/logs/fuzz-config.log)
  runner=()
  ((failed == 0))
}
