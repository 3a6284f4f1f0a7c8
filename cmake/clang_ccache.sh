#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# clang_ccache.sh CCACHE COMPILER ARGUMENT...: a compiler launcher, so that what Clang has compiled in one clone is found in
# another although it includes a precompiled header, which has the paths of its clone in it.
#
# Such a header is compiled, not cached, and gets a sum of all that is in it beside it (NAME.pch.sum). Whoever includes it is
# looked up by that sum (CCACHE_PCH_EXTSUM), and by paths that begin at the build folder.
set -uo pipefail
ccache=$1
shift
if [[ " $* " != *" -emit-pch "* ]]; then
  export CCACHE_PCH_EXTSUM=1
  exec "$ccache" "${@//$PWD\//}"
fi
"$@" || exit
for ((i = 1; i < $#; i++)); do
  [[ ${!i} != -o ]] || { next=$((i + 1)); header=${!next}; }
  [[ ${!i} != -MF ]] || { next=$((i + 1)); made_of=${!next}; }
done
# TARGET: NAME NAME \ ...
sed '1s/^[^:]*://; s/\\$//' "$made_of" | tr -s ' ' '\n' | sed '/^$/d' | xargs cat | sha256sum >"$header.sum" ||
  rm -f "$header.sum"  # then the header itself counts, with its paths
