# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: tests that failed are run again, each by itself, when all the rest is done. A gate says whether this
# change broke something; what passes alone was hurt by the load of the others, or by chance. It counts as passed, and
# is named as flaky, so that somebody looks at it. What fails three times is broken.

again_limit=20  # with more than this many the cause is no chance, and nothing is run again
again_stage=() again_preset=() again_runner=() again_test=() again_case=() again_count=()
flaky=()

# failures LOG: a line for each test of ctest's LastTest.log that failed: its name, how many cases failed, and the
# failing case if it is one program of many that came to its end (then a line for each case), with tabs between. What a
# sanitizer has found there belongs to no case: then it is the whole program.
failures() {
  awk '
    function close_test(  i) {
      if (open && !passed) {
        if (name ~ /\/together$/ && ended && cases > 0 && !sanitizer)
          for (i = 1; i <= cases; i++) printf "%s\t1\t%s\n", name, failing[i]
        else printf "%s\t%d\t\n", name, (counted > 0 ? counted : 1)
      }
      open = 0
    }
    function begin_test() { open = 1; passed = ended = cases = counted = sanitizer = 0; current = ""; split("", seen) }
    /^[0-9]+\/[0-9]+ Testing: / { close_test(); begin_test(); name = $0; sub(/^[0-9]+\/[0-9]+ Testing: /, "", name) }
    /^==[0-9]+==ERROR: |^SUMMARY: / { sanitizer = 1 }
    /^TEST CASE: / { current = $0; sub(/^TEST CASE: +/, "", current) }
    / ERROR: / && current != "" && !(current in seen) { seen[current] = 1; failing[++cases] = current }
    /^\[doctest\] test cases:/ {
      line = $0; gsub(/\033\[[0-9;]*m/, "", line)
      split(line, part, "|"); split(part[3], p3, " ")
      counted = p3[1] + 0; ended = 1
    }
    /^Test Passed\.$/ || /^Test Pass Reason:/ { passed = 1 }
    END { close_test() }' "$1"
}

# note_failures PRESET: remembers what to run again. The runner is that of the stage which is under way.
note_failures() {
  local preset=$1 log=build/$1/Testing/Temporary/LastTest.log name count one all
  [[ -f $log ]] || return 0
  all=$(failures "$log")
  [[ -n $all ]] || return 0
  if (($(wc -l <<<"$all") > again_limit)); then
    say "  too many failed to be run again one by one"
    return 0
  fi
  while IFS=$'\t' read -r name count one; do
    again_stage+=("${#stages[@]}") again_preset+=("$preset") again_runner+=("${runner[*]}")
    again_test+=("$name") again_count+=("$count") again_case+=("$one")
  done <<<"$all"
}

# By itself, with a fresh log. Where it is one case of a program, the program is told which (tests/support/main.cpp).
run_one_again() {
  local i=$1 try=$2 label
  label=again-${again_preset[i]}-${again_test[i]//\//-}
  [[ -z ${again_case[i]} ]] || label+=-case$i
  again_log=build/logs/$label-$try.log
  # shellcheck disable=SC2086  # a runner is words
  step "$label-$try" '' ${again_runner[i]} env LEAT_TEST_CASE="${again_case[i]}" \
    ctest --preset "${again_preset[i]}" -j 1 -R "^${again_test[i]}\$"
}

run_again() {
  ((${#again_test[@]} > 0)) || return 0
  local i try at what again_log
  heading_total=$((heading_total + 1))
  heading "run again, alone: ${#again_test[@]} that failed"
  for i in "${!again_test[@]}"; do
    at=${again_stage[i]} what=${again_test[i]}
    [[ -z ${again_case[i]} ]] || what+=" \"${again_case[i]}\""
    for try in 2 3; do
      run_one_again "$i" "$try" || continue
      passes[at]=$((passes[at] + again_count[i])) fails[at]=$((fails[at] - again_count[i]))
      flaky+=("$what in ${stages[at]} ($([[ $try == 2 ]] && echo 2nd || echo 3rd) try), log $again_log")
      break
    done
  done
  for at in "${!stages[@]}"; do
    if [[ ${results[at]} == FAILED ]] && ((fails[at] == 0)); then
      results[at]=ok notes[at]="${notes[at]:+${notes[at]}; }flaky"
    fi
  done
}
