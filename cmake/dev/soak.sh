# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: the long forms of tests that look for what happens once in thousands of times. They share a budget of
# time; each uses what it is given and no more, but for what it has begun. Uses minutes, jobs.

soak_targets=(hang-matrix leat-program test-sched-heap_mark test-services-neighbour)
# Where there is SQLite.
soak_store_targets=(test-services-store_kill test-store-power_cut)

soak_has_stores() { [[ -d build/release/tests/store/CMakeFiles/test-store-power_cut.dir ]]; }

soak_build() {
  build release --target "${soak_targets[@]}" || return 1
  ! soak_has_stores || build release --target "${soak_store_targets[@]}"
}

# Kills of programs with a store, and power cuts, 1000 of each.
soak_stores() {
  soak_has_stores || { note="there is no SQLite" && return 0; }
  step soak-store-kills "its message says how many were lost" \
    env LEAT_STORE_KILLS=1000 LEAT_TEST_TIME_LIMIT=0 build/release/bin/test-services-store_kill || return 1
  step soak-power-cuts "the seed is in its message" \
    env LEAT_POWER_CUTS=1000 LEAT_TEST_TIME_LIMIT=0 build/release/bin/test-store-power_cut || return 1
  passed=$((passed + 2))
  note="1000 kills, 3000 power cuts"
}

# soak_quarantines SECONDS: 100,000 Gs that allocate until they are quarantined; nobody may be stopped inside the allocator.
soak_quarantines() {
  local log=build/logs/soak-quarantines.log
  step soak-quarantines "the child that failed shows what it said" \
    env LEAT_QUARANTINES=100000 "LEAT_SECONDS=$1" build/release/bin/test-sched-heap_mark || return 1
  passed=$((passed + 1))
  note="$(sed -n 's/.*MESSAGE: \([0-9]* quarantined.*\)/\1/p' "$log" | tail -n 1) the allocator"
}

# soak_hangs SECONDS: each kind of hang 50 times with 1, 2 and 4 Ps and with one arena and many, kind by kind, until the time
# is over.
soak_hangs() {
  local until=$((SECONDS + $1)) program=build/release/bin/hang-matrix kinds kind status=0 tried=0
  mapfile -t kinds < <("$program" kinds)
  while ((SECONDS < until)); do
    for kind in "${kinds[@]}"; do
      ((SECONDS < until)) || break
      step "soak-hangs-$kind" "tests/services/hangs/hang_matrix.sh $program 50 1 $kind runs it again" \
        bash tests/services/hangs/hang_matrix.sh "$program" 50 1 "$kind" || status=1
      passed=$((passed + $(grep -c '^well ' "build/logs/soak-hangs-$kind.log")))
      failed=$((failed + $(grep -c '^FAILED ' "build/logs/soak-hangs-$kind.log")))
      tried=$((tried + 1))
    done
  done
  note="$((50 * passed)) hangs; ${#kinds[@]} kinds, $tried turns"
  return "$status"
}

# The whole sweep takes some minutes.
soak_limits() {
  local long=()
  ((minutes < 20)) || long=(--long)
  step soak-limits "each line that says FAILED names the limit" \
    bash tests/services/limits.sh build/release/bin/leat "${long[@]}" || return 1
  passed=$((passed + 1)) note=$(tail -n 1 build/logs/soak-limits.log)
}

soak_neighbours() {
  local long=()
  ((minutes < 20)) || long=(LEAT_LONG=1)
  step soak-neighbours "its bounds are those of a machine that does nothing else" \
    env "${long[@]}" build/release/bin/test-services-neighbour || return 1
  passed=$((passed + 1))
}

# soak_simulations SECONDS: one seed, a thousand times, with faults: the log and the ledger must be the same.
soak_simulations() {
  local program=build/release/bin/leat file=examples/climate/climate.toml
  if [[ -x build/release/bin/plant-gateway ]]; then
    program=build/release/bin/plant-gateway file=examples/plant-gateway/plant-gateway.toml
  fi
  step soak-simulations "tests/services/simulate_same.sh $program $file 1000 runs it again" \
    bash tests/services/simulate_same.sh "$program" "$file" 1000 "$1" || return 1
  passed=$((passed + 1)) note=$(tail -n 1 build/logs/soak-simulations.log)
}

# Ctrl-C: what has been found until then is told.
soak_interrupted() {
  trap '' INT TERM HUP PIPE
  stop_child
  printf '\ndev: interrupted after %d s\n' "$SECONDS" >&2
  summary
  exit 130
}
