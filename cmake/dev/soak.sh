# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: what measures, sweeps or takes long, and looks for what happens once in thousands of times.
#
# It is a list of items, each some minutes at most. A run takes them in the order in which they were run last, those that
# never were first, until its time is over; so the next run goes on where this one stopped. What has begun is finished.
# Nothing is repeated: a figure that is missed now and then is missed.
#
#   build/soak/state     NAME TIME SECONDS VERDICT   the last of each item
#   build/soak/figures   NAME TAB VALUE              the last of each figure
#   build/soak/TIME.txt  the table of each run
#
# A test says what it has measured in lines `figure: NAME = VALUE UNIT, at most LIMIT` (`at least LIMIT`, or without a bar):
# tests/support/figure.hpp.
soak_dir=build/soak

# soak_tests_with PRESET LABEL: the names of the tests with it.
soak_tests_with() {
  ctest --preset "$1" -N -L "^$2\$" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p'
}

# One name a line. What needs the program of the hangs, or SQLite, is there if these are.
soak_list() {
  local preset name
  soak_tests_with release soak | sed 's/^/figures\//'
  for preset in release clang-asan tsan ubsan; do
    [[ -f build/$preset/build.ninja ]] || continue
    soak_tests_with "$preset" beyond | sed "s/\/.*//; s/^/$preset\//" | uniq
  done | awk '!seen[$0]++'
  # All of them by GCC's AddressSanitizer, and with a look for leaks at the end of each program.
  ctest --preset asan -N -LE '^(alone|soak|checks|models)$' 2>/dev/null |
    sed -n 's/^ *Test *#[0-9]*: \([^\/]*\)\/.*/asan\/\1/p' | uniq | awk '!seen[$0]++'
  printf 'long/%s\n' quarantines neighbours
  echo long/limits
  echo long/simulations
  [[ ! -d build/release/tests/store/CMakeFiles/test-store-power_cut.dir ]] || printf 'long/%s\n' store-kills power-cuts
  ! command -v clang++ >/dev/null || for name in tests/fuzz/*.cpp; do
    name=$(basename "$name" .cpp)
    [[ $name == seeds_test || ! -f tests/fuzz/$name.cpp ]] || echo "fuzz/$name"
  done
  [[ ! -x build/release/bin/hang-matrix ]] || for name in kinds left-out; do
    build/release/bin/hang-matrix "$name" | sed 's/^/hangs\//'
  done
  echo consumer/shared
  echo checks/planted
  ! command -v clang-tidy >/dev/null || echo checks/tidy
}

# soak_order: of the names on its input, those that were never run, then the others, the longest ago first.
soak_order() {
  touch "$soak_dir/state"
  awk 'FILENAME != "-" { at[$1] = $2; next } { printf "%d %d %s\n", at[$1], ++n, $1 }' "$soak_dir/state" - |
    sort -n -k1,1 -k2,2 | cut -d' ' -f3
}

# soak_programs: of the names on its input, the programs of those that measure. What has none of its own is part of `all`.
soak_programs() {
  local target
  sed -n 's/^figures\///p' | while read -r target; do
    target=test-${target//\//-}
    target=${target%-soak}
    ! grep -q "^build $target: phony" build/release/build.ninja || echo "$target"
  done
}

# soak_folder PRESET FOLDER: the tests of a folder that `./dev test` does not run in this build.
soak_folder() {
  local preset=$1 folder=$2 targets=() status=0 without='alone|soak' only=(-L '^beyond$') log="soak-$1-$2"
  if [[ $preset == asan ]]; then
    without+='|checks|models' only=()
    sanitizer_runner g++ address || return $?
  fi
  [[ $preset != clang-asan ]] || sanitizer_runner clang++ address || return $?
  [[ $preset != tsan ]] || sanitizer_runner g++ thread || return $?
  [[ $preset != ubsan ]] || sanitizer_runner g++ undefined || return $?
  read -r -d '' -a targets < <(targets_of "$preset" "^$folder/")
  build "$preset" --target "${targets[@]}" || return 1
  step "$log" "ctest --preset $preset -R NAME runs one of them again" \
    "${runner[@]}" ctest --preset "$preset" -j "$jobs" "${only[@]}" -LE "^($without)\$" -R "^$folder/" || status=1
  runner=()
  return "$status"
}

# soak_one NAME SECONDS: a share of the time for those who can use any.
soak_one() {
  local name=$1 seconds=$2 what=${1#*/} log long=() rounds=1
  log=soak-${name//\//-}
  case $name in
    figures/*)
      step "$log" "a figure that is missed may be the machine's: look at the log, and run it on a quiet one" \
        ctest --preset release -j 1 -V -R "^${what//./\\.}\$" ;;
    release/* | asan/* | clang-asan/* | tsan/* | ubsan/*) soak_folder "${name%/*}" "$what" ;;
    hangs/*)
      if build/release/bin/hang-matrix left-out | grep -qxF -- "$what"; then
        note='its library was not there at the build'
        return 77
      fi
      # What loops and allocates in a library of somebody is what once took whole programs along.
      [[ $what != vendor || $minutes -lt 20 ]] || rounds=20
      step "$log" "tests/services/hangs/hang_matrix.sh build/release/bin/hang-matrix 50 $rounds $what runs it again" \
        bash tests/services/hangs/hang_matrix.sh build/release/bin/hang-matrix 50 "$rounds" "$what" ;;
    fuzz/*)
      sanitizer_runner clang++ address || return $?
      build fuzz --target "fuzz-$what" || return 1
      step "$log" "what broke it is in build/fuzz/found; build/fuzz/bin/fuzz-$what FILE runs it again; keep it in tests/fuzz/finds/$what" \
        "${runner[@]}" bash cmake/dev/fuzz.sh 1 "$seconds" "$what" || return 1
      runner=() ;;
    # Gs that allocate until they are quarantined; nobody may be stopped inside the allocator. 80 a second on two cores: its
    # bar of 10,000 takes two minutes.
    long/quarantines)
      build release --target test-sched-heap_mark || return 1
      step "$log" "the child that failed shows what it said" \
        env LEAT_QUARANTINES=100000 "LEAT_SECONDS=$((seconds < 150 ? 600 : 4 * seconds))" LEAT_TEST_TIME_LIMIT=0 \
        build/release/bin/test-sched-heap_mark ;;
    # How late messages come beside hangs: four runs with them, four without, of a minute each, so that the ten hangs that
    # end behind a fence at the start weigh little.
    long/neighbours)
      build release --target test-services-neighbour || return 1
      step "$log" "a figure that is missed may be the machine's: run it on one that does nothing else" \
        env LEAT_LONG=60 LEAT_TEST_TIME_LIMIT=0 build/release/bin/test-services-neighbour ;;
    long/store-kills)
      build release --target test-services-store_kill || return 1
      step "$log" "its message says how many were lost" \
        env LEAT_STORE_KILLS=1000 LEAT_TEST_TIME_LIMIT=0 build/release/bin/test-services-store_kill ;;
    long/power-cuts)
      build release --target test-store-power_cut || return 1
      step "$log" "the seed is in its message" \
        env LEAT_POWER_CUTS=1000 LEAT_TEST_TIME_LIMIT=0 build/release/bin/test-store-power_cut ;;
    long/limits)
      ((minutes < 20)) || long=(--long)
      step "$log" "each line that says FAILED names the limit" \
        bash tests/services/limits.sh build/release/bin/leat build/release/bin/hang-matrix "${long[@]}" ;;
    long/simulations)  # one seed, a thousand times, with faults: the log and the ledger must be the same
      local program=build/release/bin/leat file=examples/climate/climate.toml
      if [[ -x build/release/bin/plant-gateway ]]; then
        program=build/release/bin/plant-gateway file=examples/plant-gateway/plant-gateway.toml
      fi
      step "$log" "tests/services/simulate_same.sh $program $file 1000 runs it again" \
        bash tests/services/simulate_same.sh "$program" "$file" 1000 "$((4 * seconds))" ;;
    consumer/*) consumer "$what" ;;
    checks/tidy) tidy ;;
    checks/planted)
      step "$log" "what is NOT SEEN is a fault that \`./dev test\` would let pass" env "JOBS=$jobs" bash tests/checks/planted.sh ;;
    *) die "soak: there is no item $name" ;;
  esac
}

# soak_figures LOG: the figures in it, NAME|VALUE|UNIT|BAR|VERDICT; of these UNIT and BAR may be empty.
soak_figures() {
  [[ -f $1 ]] || return 0
  sed -nE 's/^([0-9]+: )?figure: //p' "$1" | awk -F' = ' '
    NF == 2 {
      name = $1; rest = $2; bar = ""; verdict = "-"
      if (match(rest, /, at (most|least) [-+.0-9e]+$/)) {
        bar = substr(rest, RSTART + 2); rest = substr(rest, 1, RSTART - 1)
        split(bar, b, " ")
        verdict = (b[2] == "most" ? rest + 0 <= b[3] + 0 : rest + 0 >= b[3] + 0) ? "ok" : "MISSED"
      }
      value = rest; sub(/ .*/, "", value)
      unit = rest; sub(/^[^ ]* ?/, "", unit)
      printf "%s|%s|%s|%s|%s\n", name, value, unit, bar, verdict
    }'
}

# soak_keep FILE NAME LINE: the line is now that of NAME, the first word or what is before a TAB.
soak_keep() {
  local file=$1 name=$2 line=$3
  touch "$file"
  { awk -F'[\t]' -v name="$name" '$1 != name' "$file"; printf '%s\n' "$line"; } >"$file.new" && mv "$file.new" "$file"
}

soak_rows=() soak_figure_rows=() soak_failed=0 soak_passed=0 soak_skipped=0 soak_left=0 soak_begun_at=''

soak_record() {  # NAME SECONDS STATUS
  local name=$1 seconds=$2 status=$3 verdict=ok line before
  case $status in 0) soak_passed=$((soak_passed + 1)) ;; 77) verdict=skipped soak_skipped=$((soak_skipped + 1)) ;;
    *) verdict=FAILED soak_failed=$((soak_failed + 1)) ;; esac
  before=$(awk -v name="$name" '$1 == name { print $4 }' "$soak_dir/state")
  soak_rows+=("$(printf '%-40s %-8s %7d  %s' "$name" "$verdict" "$seconds" "${note:-${before:+last time: $before}}")")
  awk -v name="$name" '$1 != name' "$soak_dir/state" >"$soak_dir/state.new"
  printf '%s %d %d %s\n' "$name" "$(date +%s)" "$seconds" "$verdict" >>"$soak_dir/state.new"
  mv "$soak_dir/state.new" "$soak_dir/state"
  while IFS='|' read -r name value unit bar verdict; do
    before=$(awk -F'\t' -v name="$name" '$1 == name { print $2 }' "$soak_dir/figures" 2>/dev/null)
    soak_figure_rows+=("$(printf '%-62s %12s %-6s %-16s %-7s %s' "$name" "$value" "$unit" "$bar" "$verdict" "$before")")
    soak_keep "$soak_dir/figures" "$name" "$name"$'\t'"$value"
  done < <(soak_figures "build/logs/soak-${1//\//-}.log")
}

# The table: on the terminal, and in a file that can be compared with the last one.
soak_table() {
  local file="$soak_dir/$soak_begun_at.txt" last
  last=$(find "$soak_dir" -maxdepth 1 -name '2*.txt' ! -path "$file" | sort | tail -n 1)
  {
    printf '\n%-40s %-8s %7s\n' item verdict seconds
    ((${#soak_rows[@]} == 0)) || printf '%s\n' "${soak_rows[@]}"
    if ((${#soak_figure_rows[@]})); then
      printf '\n%-62s %12s %-6s %-16s %-7s %s\n' figure value '' bar verdict 'last time'
      printf '%s\n' "${soak_figure_rows[@]}"
    fi
    ((soak_left == 0)) || printf '\n%d of the list are left; the next ./dev soak begins with them\n' "$soak_left"
    printf '\n%d passed, %d failed, %d skipped\n' "$soak_passed" "$soak_failed" "$soak_skipped"
  } | tee "$file"
  printf 'table: %s%s\n' "$file" "${last:+; the last one: $last}"
  ((soak_failed == 0))
}

# Ctrl-C: what has been found until then is told; what was running begins anew the next time.
soak_interrupted() {
  trap '' INT TERM HUP PIPE
  stop_child
  printf '\ndev: interrupted; the next run goes on from here\n' >&2
  soak_table
  exit 130
}

# soak SECONDS NAMES...
soak() {
  local all=$1 begun name status at pattern='' list programs total n=0 share left
  shift
  mkdir -p "$soak_dir"
  soak_begun_at=$(date +%Y-%m-%dT%H.%M.%S.%N)
  soak_begun_at=${soak_begun_at%??????}
  trap soak_interrupted INT TERM HUP PIPE
  (($# == 0)) || pattern=$(IFS='|' && echo "$*")
  configure release && configure asan && configure tsan && configure ubsan || return 1
  ! command -v clang++ >/dev/null || configure clang-asan || return 1
  heading "build"
  build release --target all || return 1
  mapfile -t list < <(soak_list | grep -E -- "${pattern:-.}" | soak_order)
  total=${#list[@]}
  ((total)) || die "nothing in the list has a name like $*; build/soak/state names what has run" 2
  mapfile -t programs < <(printf '%s\n' "${list[@]}" | soak_programs)
  ((${#programs[@]} == 0)) || build release --target "${programs[@]}" || return 1
  share=$((all / 60 > 10 ? all / 60 : 10))
  begun=$SECONDS  # the time is for the items: what the build takes is not theirs
  for name in "${list[@]}"; do
    if ((SECONDS - begun >= all)); then
      soak_left=$((total - n))
      break
    fi
    n=$((n + 1)) note='' status=0 at=$SECONDS
    left=$((all - (SECONDS - begun)))
    say "${bold}[$n/$total] $name$plain, $((left / 60)) min $((left % 60)) s left"
    soak_one "$name" "$share" || status=$?
    soak_record "$name" $((SECONDS - at)) "$status"
  done
  soak_table
}
