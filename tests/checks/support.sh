# SPDX-License-Identifier: BSL-1.0
#
# Sourced by the *_test.sh files here. `tree` is an empty temporary folder that `put FILE TEXT` fills.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cases=0
wrong=0

put() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '%s\n' "$2" >"$tree/$1"
}

fresh() {
  rm -rf "$tree"
  mkdir -p "$tree"
}

# expect STATUS TEXT COMMAND...: the command must end with STATUS and its output must hold TEXT.
expect() {
  local status=$1 text=$2 output got=0
  shift 2
  output=$("$@" 2>&1) || got=$?
  cases=$((cases + 1))
  if [[ $got != "$status" || $output != *"$text"* ]]; then
    wrong=$((wrong + 1))
    printf 'WRONG %s:%s: status %s (wanted %s), wanted text: %s\noutput:\n%s\n' \
      "$(basename "${BASH_SOURCE[1]}")" "${BASH_LINENO[0]}" "$got" "$status" "$text" "$output"
  fi
}

finish() {
  echo "$((cases - wrong)) of $cases cases are right"
  exit $((wrong > 0))
}
