# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: what `./dev check` looks at besides the tests.

sources() {
  local folder
  for folder in framework config services examples tests; do
    [[ -d $folder ]] && find "$folder" -type f \( -name '*.cpp' -o -name '*.hpp' \)
  done | sort
}

format_check() { sources | xargs -r clang-format-14 --dry-run -Werror; }

# A file is looked at again only when it, any header, or the rules have changed since it was found clean.
tidy_check() {
  local base key file todo=() stamps=build/clang/tidy
  mkdir -p "$stamps"
  base=$({ clang-tidy --version; cat .clang-tidy; sources | grep '\.hpp$' | xargs -r cat; } | sha256sum)
  while read -r file; do
    key=$({ echo "$base"; cat "$file"; } | sha256sum)
    [[ -e $stamps/${key%% *} ]] || todo+=("$file" "$stamps/${key%% *}")
  done < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/clang/compile_commands.json |
    sed -n "s#^$PWD/##p" | grep -E '^(framework|config|services|examples)/' | sort -u)
  echo "$((${#todo[@]} / 2)) files have changed"
  ((${#todo[@]})) || return 0
  printf '%s\n' "${todo[@]}" | xargs -n 2 -P "$jobs" bash -c \
    'echo "$1"; clang-tidy --quiet -p build/clang "$1" 2>&1 || exit 1; : >"$2"' tidy
}

# Begins with that in the time which the steps before it leave to a processor, as tests do that wait. Whatever it
# finds clean is not looked at again; the rest, and all faults, are left to the step itself.
tidy_ahead() {
  configure clang || return 0  # which the step will say again
  set -m
  {
    chrt --idle --pid 0 "$BASHPID" || renice -n 19 "$BASHPID"
    tidy_check
  } >build/logs/tidy-ahead.log 2>&1 </dev/null 3>&- 9>&- &
  ahead=$!
  set +m
}
tidy_ahead_ends() {
  [[ -n $ahead ]] || return 0
  kill -TERM -- "-$ahead" 2>/dev/null
  wait "$ahead" 2>/dev/null
  ahead=''
}

counted() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi; }

checks() {
  local ok=1
  configure release || return 1
  rm -f build/release/Testing/Temporary/LastTest.log
  step layers-documents "the lines above name file and line" ctest --preset release -j "$jobs" -L '^checks$' || ok=0
  count_tests build/release
  ((fast)) && return $((!ok))
  counted step format "./dev format" format_check
  tidy_ahead_ends
  if configure clang; then
    counted step tidy "correct the code, or with a reason in a comment: NOLINTNEXTLINE(name-of-the-check)" tidy_check
  else
    failed=$((failed + 1))
  fi
  counted step headers "the header named above does not include all that it uses" \
    cmake --build build/release -j "$jobs" --target all_verify_interface_header_sets
  ((ok && failed == 0))
}

consumer() {
  local status=0
  build release || return 1
  step consumer "read tests/consumer/run.sh; it may be run by hand" bash tests/consumer/run.sh "$jobs" || status=1
  passed=$(grep -c '^ok ' build/logs/consumer.log) failed=$(grep -c '^not ok ' build/logs/consumer.log)
  return "$status"
}
