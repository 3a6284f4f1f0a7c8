#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# run.sh [JOBS [KIND]]: installs Leat, moves its prefix to another place, and builds the program here against it by
# find_package and by pkg-config, a plug-in, and a project that `leat new` makes. Prints `ok NAME` or `not ok NAME` for each way.
# KIND: static, which `./dev test` has, or shared, which `./dev soak` has; both unless told.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/consumer
jobs=${1:-2}
kinds=${2:-static shared}
compiler=${CXX:-g++}
expected='250ms 64K 42'
failed=0

attempt() {
  local name=$1
  shift
  echo "--- $name"
  # No `if` around it: there, set -e would do nothing.
  (set -e; "$@")
  if [[ $? == 0 ]]; then echo "ok $name"; else echo "not ok $name"; failed=1; fi
}

same() {
  local got
  got=$("$@") || { echo "$1 ended with status $?"; return 1; }
  [[ $got == "$expected" ]] || { echo "printed \`$got\`, expected \`$expected\`"; return 1; }
}

# Leat as users build it. `release` is the static one already; only the shared one is built here, and not optimized:
# it is about what is installed and linked, and takes half the time.
install_static() {
  cmake --build "$root/build/release" -j "$jobs"
  install_from "$root/build/release" static
}

install_shared() {
  [[ -f $work/shared/build/build.ninja ]] ||
    cmake -S "$root" -B "$work/shared/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 \
      -DBUILD_SHARED_LIBS=ON -DLEAT_TESTS=OFF -DLEAT_EXAMPLES=OFF -DLEAT_UNITY=ON
  cmake --build "$work/shared/build" -j "$jobs"
  install_from "$work/shared/build" shared
}

install_from() {
  rm -rf "$work/$2/as-installed" "$work/$2/prefix"
  cmake --install "$1" --prefix "$work/$2/as-installed" >"$work/$2.install.log"
  all_below "$work/$2/as-installed" "$1/install_manifest.txt"
  mv "$work/$2/as-installed" "$work/$2/prefix"
}

# all_below FOLDER MANIFEST: nothing was installed elsewhere.
all_below() {
  local outside
  [[ -s $2 ]]
  outside=$(grep -v "^$1/" "$2") || return 0
  echo "installed outside of $1: $outside"
  return 1
}

# The documents are installed, and none of their links leads nowhere, but those to the tests, which are not.
documents() {
  local doc=$work/$1/prefix/share/doc/leat broken
  [[ -f $doc/README.md && -f $doc/docs/tutorial.md && -f $doc/LICENSE ]]
  broken=$({ bash "$root/cmake/check_documents.sh" "$doc" || true; } | sed -n '/leads nowhere/{/tests\//!p}')
  [[ -z $broken ]] && return 0
  echo "$broken"
  return 1
}

# One sentence first, not a thousand errors.
older_standard() {
  local said
  for header in leat.hpp main.hpp net.hpp stock.hpp supervisor.hpp testing.hpp; do
    said=$(echo "#include <leat/$header>" |
      "$compiler" -std=c++17 -I"$work/$1/prefix/include" -fsyntax-only -x c++ - 2>&1) && return 1
    [[ $(grep -m 1 'error' <<<"$said") == *"Leat needs C++20"* ]] || { head -n 3 <<<"$said"; return 1; }
  done
}

# Every header that a public one includes must have been installed with it.
headers_complete() {
  local prefix=$work/$1/prefix header missing=0
  while read -r header; do
    [[ -f $prefix/include/$header ]] || { echo "<$header> is included but not installed"; missing=1; }
  done < <(grep -rhoE '^[ \t]*#[ \t]*include[ \t]*<leat/[^>]+>' "$prefix/include" | sed 's/.*<\(.*\)>/\1/' | sort -u)
  [[ -d $prefix/include/leat ]] && ((missing == 0))
}

by_cmake() {
  local build=$work/$1/by-cmake
  rm -rf "$build"
  cmake -S "$here" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/$1/prefix"
  # The name of the prefix it was installed to must not be left in any file.
  if grep -rIl -e "$work/$1/as-installed" -e "$root/framework" "$work/$1/prefix/lib"; then
    echo "these files name a folder of the build machine"
    return 1
  fi
  cmake --build "$build"
  same "$build/consumer"
}

by_plugin() {
  local build=$work/$1/by-cmake
  same "$build/consumer-host" run --quiet "$build/plugin.toml"
  same "$work/$1/prefix/bin/leat" run --quiet "$build/plugin.toml"
}

by_pkg_config() {
  local pc flags=() libdir
  pc=$(find "$work/$1/prefix" -name leat.pc)
  libdir=$(dirname "$(dirname "$pc")")
  export PKG_CONFIG_PATH=$libdir/pkgconfig
  pkg-config --print-errors --exists 'leat >= 0.1'
  [[ $1 == static ]] || flags=("-Wl,-rpath,$libdir")
  # Word splitting is what pkg-config's output is for.
  # shellcheck disable=SC2046
  "$compiler" -Wall -Werror "$here/main.cpp" -o "$work/$1/by-pkg-config" \
    $(pkg-config --cflags --libs leat) "${flags[@]}"
  same "$work/$1/by-pkg-config"
}

# What `leat new` says is to be typed next, to the letter.
by_leat_new() {
  local place=$work/$1/new said steps step
  rm -rf "$place"
  mkdir -p "$place"
  cd "$place"
  said=$("$work/$1/prefix/bin/leat" new demo)
  mapfile -t steps < <(sed -n '1,/^next:$/d; s/^  //p' <<<"$said")
  [[ ${#steps[@]} == 5 && ${steps[4]} == 'build/demo run demo.toml' ]] || { echo "other steps: $said"; return 1; }
  export CXX=$compiler
  for step in "${steps[@]:0:4}"; do
    echo "\$ $step"
    eval "$step"
  done
  build/demo check demo.toml
  # The service as it is, but short.
  sed 's/period = "1s"/period = "10ms", count = 3/' demo.toml >short.toml
  timeout 60 build/demo run short.toml 2>run.log
  grep -q 'heart: beat 3$' run.log || { cat run.log; return 1; }
  # Without an end of its own it is stopped by a signal, and that is no failure.
  : >signal.log
  build/demo run demo.toml 2>>signal.log &
  for ((i = 0; i < 600; i++)); do grep -q 'beat 1$' signal.log && break; sleep 0.1; done
  kill -INT $!
  wait $!
  DESTDIR=$place/root cmake --install build --prefix /usr/local >install.log
  cd "$place/root/usr/local"
  grep -q '^ExecStart="/usr/local/bin/demo" run' lib/systemd/system/demo.service
  [[ -x bin/demo && -f etc/demo/demo.toml ]]
  # With another prefix than it was configured for, all of it is there, and the unit says so.
  cd "$place/demo"
  cmake --install build --prefix "$place/elsewhere" >install.log
  all_below "$place/elsewhere" build/install_manifest.txt
  grep -q "^ExecStart=\"$place/elsewhere/bin/demo\" run --quiet \"$place/elsewhere/etc/demo/demo.toml\"" \
    "$place/elsewhere/lib/systemd/system/demo.service"
}

tutorial() {
  CXX=$compiler bash "$here/tutorial.sh" "$root/docs/tutorial.md" "$work/static/prefix" "$work/static/tutorial"
}

all_of() {
  local kind=$1
  attempt "$kind/install" "install_$kind"
  attempt "$kind/headers" headers_complete "$kind"
  attempt "$kind/documents" documents "$kind"
  attempt "$kind/older standard" older_standard "$kind"
  attempt "$kind/find_package" by_cmake "$kind"
  attempt "$kind/plug-in" by_plugin "$kind"
  attempt "$kind/pkg-config" by_pkg_config "$kind"
  attempt "$kind/new" by_leat_new "$kind"
  [[ $kind == shared ]] || attempt tutorial tutorial
  return "$failed"
}

# Both at once: most of it is one compiler at a time. No `||` after all_of, as above.
beside=''
if [[ $kinds == 'static shared' ]]; then
  mkdir -p "$work/shared"
  all_of shared >"$work/shared.log" 2>&1 &
  beside=$! kinds=static
fi
mkdir -p "$work/$kinds"
all_of "$kinds"
if [[ -n $beside ]]; then
  wait "$beside" || failed=1
  cat "$work/shared.log"
fi
exit "$failed"
