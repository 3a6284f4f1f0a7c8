#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# tls.sh PROGRAM DOCUMENT: makes the authority that docs/tls.md shows, as it shows it, and runs its C++ program with that.
set -euo pipefail
program=$1 document=$2
command -v openssl >/dev/null || { echo 'skipped: there is no openssl'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on && !/^curl /' "$document" >make-authority.sh
bash -e make-authority.sh 2>log || { cat log; exit 1; }
output=$("$program" ca.pem server.pem server.key)
printf '%s\n' "$output"
[[ $output == *'hello over TLSv1.3'* ]]
