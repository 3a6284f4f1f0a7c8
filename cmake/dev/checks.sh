# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: what `./dev check` looks at besides the tests.

sources() {
  local folder
  for folder in framework config services examples tests; do
    [[ -d $folder ]] && find "$folder" -type f \( -name '*.cpp' -o -name '*.hpp' \)
  done | sort
}

format_check() { sources | xargs -r "$formatter" --dry-run -Werror; }

# For `./dev check` and soak: clang-tidy takes longer than all other checks together.
# A file is looked at again only when it, any header, or the rules have changed since it was found clean. Most of the
# time goes into the headers, so the files of a folder are looked at several at once.
tidy_check() {
  local base key file folder last='' alone count=0 batch=0 todo=0 at_once=8 stamps=build/clang/tidy
  mkdir -p "$stamps"
  rm -rf "$stamps"/batch-*
  base=$({ clang-tidy --version; cat .clang-tidy; sources | grep '^[^t].*\.hpp$' | xargs -r cat; } | sha256sum)
  alone=" $(sed -n 's/^ *ALONE //p' ./*/CMakeLists.txt | tr '\n' ' ') "
  while read -r file; do
    key=$({ echo "$base"; cat "$file"; } | sha256sum)
    [[ -e $stamps/${key%% *} ]] && continue
    folder=${file%/*}
    [[ $alone == *" ${file#*/} "* ]] && folder=$file
    if [[ $folder != "$last" ]] || ((count == at_once)); then
      batch=$((batch + 1)) count=0 last=$folder
    fi
    echo "$file $stamps/${key%% *}" >>"$stamps/batch-$batch.list"
    count=$((count + 1)) todo=$((todo + 1))
  done < <(sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/clang/compile_commands.json |
    sed -n "s#^$PWD/##p" | grep -E '^(framework|config|services|examples)/' | sort -u)
  echo "$todo files have changed"
  ((todo)) || return 0
  export -f tidy_batch tidy_at_once
  find "$stamps" -name 'batch-*.list' | sort -V | xargs -n 1 -P "$jobs" bash -c 'tidy_batch "$1"' tidy
}

# Where they cannot be one, or are not clean, half of them and then the others: in the end one by one, which says what
# is wrong in which file.
tidy_batch() {
  local list=$1 size status=0
  size=$(wc -l <"$list")
  if ((size == 1)); then
    clang-tidy --quiet -p build/clang "$(cut -d' ' -f1 "$list")" 2>&1 || return 1
  elif ! tidy_at_once "$list" >"$list.log" 2>&1; then
    head -n $((size / 2)) "$list" >"${list%.list}a.list"
    tail -n +$((size / 2 + 1)) "$list" >"${list%.list}b.list"
    tidy_batch "${list%.list}a.list" || status=1
    tidy_batch "${list%.list}b.list" || status=1
    return "$status"
  fi
  cut -d' ' -f1 "$list"
  cut -d' ' -f2 "$list" | xargs touch
}

# With the flags of the first; the warnings of the compiler are not wanted here, and local names may be those of
# another file.
tidy_at_once() {
  local list=$1 first all=${1%.list}
  first=$PWD/$(head -n 1 "$list" | cut -d' ' -f1)
  mkdir -p "$all"
  sed "s#^\([^ ]*\) .*#\#include \"$PWD/\1\"  // NOLINT#" "$list" >"$all/all.cpp"
  { echo '[{'; grep -m 1 -B 2 -F "\"file\": \"$first\"" build/clang/compile_commands.json |
    sed "s#$first#$PWD/$all/all.cpp#g; s#\(\"command\": .*\)\",#\1 -w\",#; \$s#,\$##"; echo '}]'; } >"$all/compile_commands.json"
  clang-tidy --quiet -p "$all" "$PWD/$all/all.cpp"
}

tidy() {
  configure clang &&
    step tidy "correct the code, or with a reason in a comment: NOLINTNEXTLINE(name-of-the-check)" tidy_check
}

counted() { if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi; }

# checks [tidy]
checks() {
  local ok=1
  configure release || return 1
  rm -f build/release/Testing/Temporary/LastTest.log
  step layers-documents "the lines above name file and line" ctest --preset release -j "$jobs" -L '^checks$' || ok=0
  count_tests build/release
  ((ok)) || note_failures release
  ((fast)) && return $((!ok))
  if command -v "$formatter" >/dev/null; then
    counted step format "./dev format" format_check
  else
    say "  format left out: $formatter is not here"
  fi
  [[ ${1:-} != tidy ]] || counted tidy
  counted step headers "the header named above does not include all that it uses" \
    cmake --build build/release -j "$jobs" --target headers
  ((ok && failed == 0))
}

# consumer KIND: static or shared
consumer() {
  local status=0
  build release || return 1
  step "consumer-$1" "read tests/consumer/run.sh; it may be run by hand" bash tests/consumer/run.sh "$jobs" "$1" || status=1
  passed=$(grep -c '^ok ' "build/logs/consumer-$1.log") failed=$(grep -c '^not ok ' "build/logs/consumer-$1.log")
  return "$status"
}
