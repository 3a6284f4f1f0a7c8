#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# figures.sh BENCH NAME...: runs these workloads of leat-bench, and says each that has a bound as a figure for ./dev soak.
# Fails if one is missed.
set -uo pipefail
bench=$1
shift
json=$(mktemp) && trap 'rm -f "$json"' EXIT
only=()
for name; do only+=(--only "$name"); done
"$bench" "${only[@]}" --check --json "$json"
status=$?
sed -nE 's/^\{"name":"([^"]*)".*"bounds":\[\{"bound":"(<=|>=) ([0-9.]+) ?([^"]*)","value":([-+.0-9e]+).*/\1|\2|\3|\4|\5/p' "$json" |
  awk -F'|' '{ printf "figure: %s = %s %s, at %s %s\n", $1, $5, $4, $2 == "<=" ? "most" : "least", $3; n++ } END { exit !n }' ||
  { echo "figures.sh: no figure with a bound"; exit 1; }
exit "$status"
