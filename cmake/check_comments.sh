#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# check_comments.sh [ROOT]: a comment that names a file, or an identifier in backticks, must name one that is there. None is
# longer than 130 columns, where a formatter that reflows comments tears what was laid out by hand. And nowhere, in code,
# scripts or documents, stands a word of cmake/words.txt.
#
#   // ... retake_gate.hpp                           a file of the same folder, or of the top level
#   // ... sched/time.hpp, tests/models/wake.pml     a file of ours that ends in that path
#   // ... `in_runtime`, `host::out`, `leat check`   each word of it occurs in code: ours, a script, TOML, CMake
#
# What belongs to others (files of the C library, commands of the system) is listed below.
set -uo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:-$here/..}" || exit 2
others=()
for folder in cmake dev CMakeLists.txt; do [[ -e $folder ]] && others+=("$folder"); done
folders=()
for folder in framework config services examples tests; do [[ -d $folder ]] && folders+=("$folder"); done
((${#folders[@]})) || { echo "check_comments: no source folder in $PWD" >&2; exit 2; }
mapfile -t sources < <(find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.hpp' \) | sort)

# All that people read.
mapfile -t texts < <(find . \( -path ./build -o -path ./.git \) -prune -o -type f \( -name '*.[ch]pp' -o -name '*.md' -o -name '*.pml' \
  -o -name '*.js' -o -name '*.sh' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.toml' -o -name '*.expected' -o -name '*.txt' -o -name '*.1' -o -name dev \) \
  -print | sed 's#^\./##' | sort)

# Names of others, as whole words.
foreign_files='asio\.hpp|doctest\.h|example\.hpp|my_\w+\.(hpp|cpp|toml)'
foreign_words='bti|ulimit|systemd|perf|gdb|make|const|int|auto|void'

work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
# All words of the code itself: what is no comment.
{
  sed -E 's#^[[:space:]]*//.*##; s#[[:space:]]//[^"]*$##' "${sources[@]}"
  find "${folders[@]}" "${others[@]}" -type f ! -name '*.cpp' ! -name '*.hpp' ! -name '*.md' \
    -exec sed -E 's/^[[:space:]]*#.*//' {} +
} | grep -aoE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$work/words"
find . -path ./build -prune -o -path ./.git -prune -o -type f -print | sed 's#^\./##' | sort >"$work/files"

# FILE:LINE:COMMENT
awk 'match($0, /(^|[ \t])\/\/.*/) { print FILENAME ":" FNR ":" substr($0, RSTART) }' "${sources[@]}" >"$work/comments"

status=0
awk -v foreign_files="^(${foreign_files//\\/\\\\})$" -v foreign_words="^(${foreign_words})$" -v words="$work/words" -v files="$work/files" '
  BEGIN {
    while ((getline w < words) > 0) known[w] = 1
    while ((getline f < files) > 0) {
      all[f] = whole[f] = 1
      while (match(f, /\//)) { f = substr(f, RSTART + 1); all[f] = 1 }
    }
  }
  {
    split($0, part, ":")
    at = part[1] ":" part[2]
    text = substr($0, length(at) + 2)
    rest = text
    while (match(rest, /[A-Za-z0-9_.\/<-]+\.(hpp|cpp|pml|cmake|sh|md)/)) {
      name = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
      if (rest ~ /^[A-Za-z0-9_]/ || name ~ /</) continue
      sub(/^\.\//, "", name)
      base = name; sub(/.*\//, "", base)
      folder = part[1]; sub(/[^\/]*$/, "", folder)
      # A bare name is one of the same folder, or of the top level.
      there = base == name ? (folder name) in whole || name in whole : name in all
      if (!there && base !~ foreign_files) { print at ": no such file: " name; bad = 1 }
    }
    rest = text
    while (match(rest, /`[^`]+`/)) {
      quoted = substr(rest, RSTART + 1, RLENGTH - 2)
      rest = substr(rest, RSTART + RLENGTH)
      left = quoted
      while (match(left, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(left, RSTART, RLENGTH)
        left = substr(left, RSTART + RLENGTH)
        if (!(word in known) && word !~ foreign_words) { print at ": no such name: " word " in `" quoted "`"; bad = 1 }
      }
    }
  }
  END { exit bad }' "$work/comments" || { echo "Mend the comment, or list what belongs to others in cmake/check_comments.sh."; status=1; }

awk 'length($0) > 130 && /(^|[ \t])\/\// { print FILENAME ":" FNR ": a comment of " length($0) " columns: break it, by hand"; bad = 1 }
  END { exit bad }' "${sources[@]}" || status=1

words=cmake/words.txt
[[ -f $words ]] || words=$here/words.txt
while read -r pattern rest; do
  [[ -n $pattern && $pattern != '#'* ]] || continue
  instead=$(sed -E 's/ +in .*| +$//' <<<"$rest") right=() except='^(cmake/words.txt|CHANGELOG.md|tests/checks/comments_test.sh):'
  [[ $rest != *' in '* ]] || read -ra right <<<"${rest##* in }"
  for at in "${right[@]}"; do except+="|^$at"; done
  # A word ends at an underscore, too.
  if grep -nHiE "(^|[^A-Za-z])($pattern)([^A-Za-z]|\$)" "${texts[@]}" | grep -vE "$except" >"$work/found"; then
    sed -E "s#^([^:]*:[0-9]+):.*#\1: a word of our own ($pattern): write $instead#" "$work/found"
    status=1
  fi
done <"$words"
exit "$status"
