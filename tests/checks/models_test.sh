#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# A model is taken as proved only while it, its variants and the protocol it is of are what they were. A spin that always
# fails shows who wants to prove it again.
source "$(dirname "$0")/support.sh"
check() { PATH="$tree/bin:$PATH" "$tree/tests/models/check.sh" "$@"; }

copy() {
  fresh
  put bin/spin '#!/bin/sh
echo "this spin cannot"
exit 1'
  chmod +x "$tree/bin/spin"
  mkdir -p "$tree/tests" "$tree/framework/leat"
  cp -r "$root/tests/models" "$tree/tests/"
  cp -r "$root/framework/leat/sched" "$root/framework/leat/csp" "$tree/framework/leat/"
  # As if all had just been proved.
  : >"$tree/tests/models/proved.txt"
  (
    cd "$tree/tests/models" || exit 1
    sed -e '/^all_bad=0/,$d' check.sh >record.sh
    echo 'for m in $models; do record "$m"; done' >>record.sh
    PATH="$tree/bin:$PATH" sh ./record.sh >/dev/null
  )
}

copy
expect 0 'proved   fence' check --unless-proved fence
expect 0 'proved   wake' check --unless-proved
expect 1 'could not be built' check fence

copy
echo '// one more line' >>"$tree/tests/models/fence.pml"
expect 1 'changed since it was proved: fence; when it holds' check --unless-proved fence
expect 0 'proved   wait' check --unless-proved wait

copy
echo '// one more line' >>"$tree/framework/leat/sched/sysmon.cpp"
expect 1 'changed since it was proved: sysmon; when it holds' check --unless-proved
expect 0 'proved   fence' check --unless-proved fence

copy
sed -i 's/NO_WAIT COME_IN_FALLS/COME_IN_FALLS/' "$tree/tests/models/check.sh"
expect 1 'changed since it was proved: fence; when it holds' check --unless-proved

copy
: >"$tree/tests/models/proved.txt"
expect 1 'changed since it was proved: retake' check --unless-proved

copy
expect 2 'no such model: nothing' check nothing
expect 2 'Usage' check --what
finish
