# SPDX-License-Identifier: BSL-1.0
#
# Sourced by ./dev: finds missing packages and installs them.

build_packages=(g++ cmake ninja-build libboost-context-dev libasio-dev libtomlplusplus-dev doctest-dev)
# The formatter's version is fixed: each major version formats a little differently. Debian 12 and 13 and Ubuntu 24.04
# have this one; where a system has others only, that check is left out, with a line that says so.
formatter=clang-format-19
check_packages=(clang clang-tidy)
# The other compiler that each landing is built with, and the linker that takes a fifth of the time for its sanitizers.
clang_packages=(clang lld)
# Systems with that formatter; on others it may have been installed by hand.
formatter_package() {
  ! command -v "$formatter" >/dev/null || return 0
  case $(. "${LEAT_OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo "$ID ${VERSION_ID:-}") in
    'debian 12' | 'debian 13' | 'ubuntu 24.04') echo "$formatter" ;;
  esac
}
# The counterparts that tests run against; a test says what it lacks and goes on without. Not prometheus, whose
# package starts a server: who has it has its test. That of mosquitto starts one too, which listens on loopback alone.
test_packages=(curl gdb libmodbus-dev libsqlite3-dev zlib1g-dev liblzma-dev libssl-dev mosquitto mosquitto-clients pkg-config socat spin valgrind)

# For the test of the live page, which is skipped without it: Ubuntu has Chromium only as a snap.
browser_package() { [[ $(. /etc/os-release 2>/dev/null && echo "$ID") == debian ]] && echo chromium; }

missing_packages() {
  local package
  declare -A present=()
  while read -r package; do present[$package]=1; done < <(
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p')
  for package in "$@"; do [[ -n ${present[$package]:-} ]] || printf '%s\n' "$package"; done
}

# In the foreground and its terminal's group on purpose: sudo may ask, and dpkg must never be cut off half-way.
apt_get() {
  local log=build/logs/packages.log
  mkdir -p build/logs
  if ((verbose)); then
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 "$@" 2>&1 </dev/null 9>&- | tee -a "$log" >&3
  else
    "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1 </dev/null 9>&-
  fi
}

has_candidates() {
  local package
  for package in "$@"; do
    apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]' || return 1
  done
}

need() {
  local missing begun by_hand how updated=0
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "  no dpkg and apt-get here: going on in the hope that these are installed: $*"
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    say "  all present"
    return 0
  fi
  by_hand="apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  (($(id -u) == 0)) || by_hand=${by_hand//apt-get/sudo apt-get}
  ((may_install)) || die "these packages are missing and --no-install forbids installing them. Run:
  $by_hand"

  how=apt-get as_root=(env DEBIAN_FRONTEND=noninteractive)
  if (($(id -u) != 0)); then
    command -v sudo >/dev/null || die "packages are missing, and this is neither root nor is there sudo. As root, run:
  $by_hand"
    how='sudo apt-get' as_root=(sudo "${as_root[@]}")
  fi
  say "  installing with $how, because \`./dev $verb\` needs them: ${missing[*]}"
  begun=$(now_us)
  mkdir -p build/logs
  : >build/logs/packages.log
  if ! has_candidates "${missing[@]}"; then
    apt_get update && updated=1
  fi
  if ! apt_get install -y --no-install-recommends "${missing[@]}"; then
    # An old package list names files that the mirror has since replaced.
    if ((updated)) || ! { apt_get update && apt_get install -y --no-install-recommends "${missing[@]}"; }; then
      tail -n 40 build/logs/packages.log | sed 's/^/    | /' >&3
      die "the packages could not be installed (log: build/logs/packages.log). Is the network up? By hand:
  $by_hand"
    fi
  fi
  say "  installed in $(seconds_since "$begun")s"
}

# Clang's sanitizer libraries are packaged by version; only an installed clang tells which.
need_clang_runtime() {
  local version
  version=$(clang -dumpversion 2>/dev/null) || return 0
  [[ -n $(missing_packages "libclang-rt-${version%%.*}-dev") ]] || return 0
  need "libclang-rt-${version%%.*}-dev"
}
