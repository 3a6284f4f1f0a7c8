#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# scale.sh PROGRAM: the same farm with 1 P, 2 Ps, ... as many as there are CPUs.
set -euo pipefail
program=$(realpath "${1:?usage: scale.sh PROGRAM}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
board=$(mktemp --suffix=.toml)
trap 'rm -f "$board"' EXIT
for ((p = 1; p <= $(nproc); p++)); do
  printf 'leat = 1\nservices = ["%s/image-farm.toml"]\n[runtime]\nprocs = %d\n' "$here" "$p" >"$board"
  printf '%d P: ' "$p"
  "$program" run "$board" 2>/dev/null | grep '^looked at'
done
