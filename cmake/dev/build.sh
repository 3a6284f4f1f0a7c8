# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: configure, build and test one preset, plain or sanitized.

# Ninja itself notices changed CMake files. The stamp says that a configuration came to its end, with which presets and in
# which folder; without it CMake starts afresh. All verbs configure alike, so that none compiles again what another has:
# warnings are errors with the compilers that we know, and with no other.
configure() {
  local preset=$1 stamp=build/$1/.configured key has=''
  key="$PWD $(cksum <CMakePresets.json)"
  [[ ! -f $stamp || ! -f build/$preset/build.ninja ]] || has=$(<"$stamp")
  [[ $has != "$key" ]] || return 0
  rm -f "$stamp"
  step "configure-$preset" "read the first error above; \`./dev clean\` starts afresh" \
    cmake --preset "$preset" --fresh -DLEAT_WERROR=KNOWN || return 1
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
  again="ctest --preset $preset -R NAME runs one of them again; build/$preset/bin holds the programs"
  rm -f "build/$preset/Testing/Temporary/LastTest.log"
  step "test-$preset" "$again" "${runner[@]}" ctest --preset "$preset" -j "$jobs" "${filter[@]}" || status=1
  count_tests "build/$preset"
  ((status == 0)) || note_failures "$preset"
  return "$status"
}

# targets_of PRESET NAMES...: what to build for the tests with these names; all of them if one is no program of its own.
targets_of() {
  local preset=$1 test target
  shift
  configure "$preset" >&2 || return 1
  while read -r test; do
    target=test-${test//\//-}
    target=${target%-soak}
    if ! grep -q "^build $target: phony" "build/$preset/build.ninja"; then
      echo every-test all
      return 0
    fi
    echo "$target"
  done < <(ctest --preset "$preset" -N -R "$(IFS='|' && echo "$*")" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p')
}

# Sets targets, which is the caller's. A name may well be one of another build alone.
matched=0
named_targets() {
  read -r -d '' -a targets < <(targets_of "$@")
  if ((${#targets[@]} == 0)); then
    note="no such test in this build"
    return 77
  fi
  matched=1
}

# plain_tests PRESET SHARE NAMES...: SHARE is `gate`, what `./dev test` has of this build, or `whole`. Named tests run
# whether or not they are part of it.
plain_tests() {
  local preset=$1 share=$2 without='checks|soak' targets=(all)
  shift 2
  ((fast)) && without+='|slow'
  if (($#)); then
    named_targets "$preset" "$@" || return $?
  elif [[ $share == gate ]]; then
    without+='|beyond'
  else
    targets=(every-test all)
  fi
  build "$preset" --target "${targets[@]}" && ctest_step "$preset" "$without" "$@"
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

# sanitized_tests PRESET COMPILER SANITIZER SHARE NAMES...
sanitized_tests() {
  local preset=$1 compiler=$2 sanitizer=$3 share=$4 targets=(every-test all)
  shift 4
  sanitizer_runner "$compiler" "$sanitizer" || return $?
  local without='checks|models|soak'  # no sanitizer sees the first two
  ((fast)) && without+='|slow'
  # Named tests run one by one; a whole run has many of them in one process.
  if (($#)); then
    without+='|together'
    named_targets "$preset" "$@" || return $?
  else
    without+='|alone'
  fi
  if (($# == 0)) && [[ $share == gate ]]; then
    without+='|beyond'
    targets=(gate)
    runner+=(env LSAN_OPTIONS=detect_leaks=0)  # but for those that say otherwise (LeatGate.cmake)
  fi
  build "$preset" --target "${targets[@]}" && ctest_step "$preset" "$without" "$@"
  local status=$?
  runner=()
  return "$status"
}

# The gate's share of AddressSanitizer: in Clang's build (cmake/LeatGate.cmake says why), or in GCC's where Clang's does not work.
gate_asan() {
  if command -v clang++ >/dev/null && (sanitizer_runner clang++ address) >/dev/null 2>&1; then
    sanitized_tests clang-asan clang++ address gate "$@"
  else
    say "  GCC's: there is no clang++ with its sanitizer here"
    sanitized_tests asan g++ address gate "$@"
  fi
}

# fuzz SECONDS NAMES...: the fuzzers of tests/fuzz, or those named, in so many seconds altogether, two at a time if there
# are as many processors. Each begins with the inputs of the tests. What it finds new is kept in build/fuzz/corpus, and is where
# the next run goes on; what breaks it is kept in build/fuzz/found.
fuzz() {
  local seconds=$1 workers=$((jobs > 1 ? 2 : 1)) names=() name status
  shift
  for name in tests/fuzz/*.cpp; do
    name=$(basename "$name" .cpp)
    [[ $name == seeds_test ]] || names+=("$name")
  done
  for name in "$@"; do
    [[ " ${names[*]} " == *" $name "* ]] || { say "  there is no fuzzer '$name'; there are ${names[*]}"; return 1; }
  done
  (($# == 0)) || names=("$@")
  if ! command -v clang++ >/dev/null; then
    note="there is no clang++, and no other compiler has libFuzzer"
    return 77
  fi
  sanitizer_runner clang++ address || return $?
  build fuzz --target "${names[@]/#/fuzz-}" || return 1
  ((workers <= ${#names[@]})) || workers=${#names[@]}
  local each=$((seconds * workers / ${#names[@]}))
  step fuzz "what broke it is in build/fuzz/found; build/fuzz/bin/fuzz-NAME FILE runs it again; keep it in tests/fuzz/finds/NAME" \
    "${runner[@]}" bash cmake/dev/fuzz.sh "$workers" "$((each > 0 ? each : 1))" "${names[@]}"
  status=$?
  passed=$((passed + $(grep -c '^ok ' build/logs/fuzz.log))) failed=$((failed + $(grep -c '^FAILED ' build/logs/fuzz.log)))
  note=$(awk '/^ok / { n += $3 } END { print n + 0, "inputs" }' build/logs/fuzz.log)
  runner=()
  return "$status"
}
