#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds the peers' programs into build/bench/peers (or the folder given). A peer whose tools are missing is
# left out with a message; exit code 1 only if a build fails.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-$here/../../../build/bench/peers}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# stale PROGRAM SOURCE...: is a source newer than the program, or the program missing?
stale() {
  local program=$1 source
  shift
  [[ -x $program ]] || return 0
  for source in "$@"; do
    [[ $source -nt $program ]] && return 0
  done
  return 1
}

if ! command -v go >/dev/null; then
  echo "peers: Go is not installed, so it is left out (Debian, Ubuntu: apt install golang-go)" >&2
elif stale "$out/leat-peer-go" "$here"/go/*.go "$here/build.sh"; then
  echo "peers: building leat-peer-go with $(go version | cut -d' ' -f3)" >&2
  GO111MODULE=off GOFLAGS='' GOCACHE=${GOCACHE:-$out/../go-cache} go build -o "$out/leat-peer-go" "$here"/go/*.go
fi

cxx=${CXX:-g++}
if command -v "$cxx" >/dev/null && stale "$out/leat-echo-client" "$here"/echo_client.[ch]pp "$here/build.sh"; then
  "$cxx" -std=c++20 -O2 -Wall -Wextra -o "$out/leat-echo-client" "$here/echo_client.cpp"
fi
# server NAME FLAGS...: leat-peer-NAME, a server for tcp_echo
server() {
  local name=$1
  shift
  stale "$out/leat-peer-$name" "$here/servers/main.cpp" "$here/servers/$name.cpp" "$here"/echo_*.hpp "$here/build.sh" || return 0
  echo "peers: building leat-peer-$name" >&2
  "$cxx" -std=c++20 -O2 -DNDEBUG -Wall -Wextra "$@" -o "$out/leat-peer-$name" "$here/servers/main.cpp" \
    "$here/servers/$name.cpp" -pthread
}
if command -v "$cxx" >/dev/null; then
  server epoll
  if "$cxx" -std=c++20 -E -x c++ - <<<'#include <asio.hpp>' >/dev/null 2>&1; then
    server asio -DASIO_STANDALONE
  else
    echo "peers: Asio is not installed, so it is left out (Debian, Ubuntu: apt install libasio-dev)" >&2
  fi
fi
probe=$'#include <boost/fiber/all.hpp>\nint main() { boost::this_fiber::yield(); }'
boost_libs=(-lboost_fiber -lboost_context -pthread)
if stale "$out/leat-peer-boost" "$here"/boost/*.[ch]pp "$here/build.sh"; then
  if ! "$cxx" -std=c++20 -x c++ - -o "$out/.probe" "${boost_libs[@]}" <<<"$probe" 2>/dev/null; then
    echo "peers: Boost.Fiber or $cxx is not installed, so it is left out (Debian, Ubuntu: apt install g++ libboost-fiber-dev)" >&2
  else
    echo "peers: building leat-peer-boost with $("$cxx" --version | head -n1)" >&2
    "$cxx" -std=c++20 -O2 -DNDEBUG -Wall -Wextra -o "$out/leat-peer-boost" "$here"/boost/*.cpp "${boost_libs[@]}"
  fi
  rm -f "$out/.probe"
fi
