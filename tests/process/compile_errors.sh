#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# compile_errors.sh COMPILER OPTION...: what a user reads who has made a mistake. Each file of compile_errors/ says in its
# second line the error it must give, as an extended regular expression for grep, and in its third by which line of the
# output that must be there, and how many lines there may be in all. One that says `compiles` must compile. Lines of the
# source that a compiler shows ("  12 | ...") do not count: the newer it is, the more it shows.
set -euo pipefail
folder=$(dirname "$0")/compile_errors
wrong=0 count=0
fail() { # FILE WHAT
  echo "WRONG $1: $2"
  sed -n 1,40p <<<"$output"
  wrong=$((wrong + 1))
}
for file in "$folder"/*.cpp; do
  count=$((count + 1))
  name=$(basename "$file")
  status=0
  output=$(LC_ALL=C "$@" -fsyntax-only "$file" 2>&1) || status=$?
  output=$(grep -vE '^ *[0-9]* \|' <<<"$output" || true)
  if [[ $(sed -n 2p "$file") == '// compiles' ]]; then
    [[ $status == 0 ]] || fail "$name" "does not compile"
    continue
  fi
  text=$(sed -n '2s|^// error: ||p' "$file")
  read -r by most < <(sed -n '3s|^// within: \([0-9]*\) of \([0-9]*\)$|\1 \2|p' "$file")
  at=$(grep -n -m1 -E "error: .*($text)" <<<"$output" | cut -d: -f1 || true)
  lines=$(wc -l <<<"$output")
  if [[ $status == 0 ]]; then
    fail "$name" "compiles"
  elif [[ -z $at ]]; then
    fail "$name" "does not say '$text'"
  elif ((at > by)); then
    fail "$name" "says it in line $at, not within $by"
  elif [[ $(grep -c 'error: ' <<<"$(head -n "$at" <<<"$output")") != 1 ]]; then
    fail "$name" "says something else before"
  elif ((lines > most)); then
    fail "$name" "says $lines lines, more than $most"
  else
    echo "$name: line $at of $lines"
  fi
done
((count > 1)) || { echo "no files in $folder"; exit 1; }
echo "$((count - wrong)) of $count cases are right"
exit $((wrong > 0))
