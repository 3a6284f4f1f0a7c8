#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# expect.sh REGEX PROGRAM ARGS...: the program must end with status 0, and its output must match; `.` is a line's end too.
regex=$1
shift
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
((status == 0)) || { echo "expect.sh: status $status, wanted 0"; exit 1; }
[[ $output =~ $regex ]] || { echo "expect.sh: the output does not match: $regex"; exit 1; }
