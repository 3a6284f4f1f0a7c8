#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# bare-system.sh [COMMAND...]: proves that the two commands of the README work on a system that has only git and bash.
#
# Not part of `./dev test`: it needs root, debootstrap (apt-get install debootstrap), the network and about 3 GB under
# ${TMPDIR:-/tmp}, and takes up to an hour. It makes a minimal Debian 12 with this machine's package mirror and
# network settings, puts a clone of this repository (with uncommitted files) in it, and runs there, in a chroot,
#   ./dev run, until its page is there
#   ./dev test
# or each COMMAND given, as one word: bare-system.sh './dev test --fast'. KEEP=1 leaves the system for a look; SUITE=trixie makes
# a Debian 13 of it, SUITE=noble on a machine with an Ubuntu mirror an Ubuntu 24.04.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
suite=${SUITE:-bookworm}
commands=("$@")
# SIGTERM, since what bash runs in the background ignores SIGINT.
until_it_serves='{ ./dev run & run=$!
  until (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null; do kill -0 $run || exit 1; sleep 1; done
  kill -TERM $run; wait $run; }'
(($#)) || commands=("$until_it_serves" './dev test')

[[ $(id -u) == 0 ]] || { echo "bare-system: debootstrap and chroot need root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "bare-system: first: apt-get install debootstrap" >&2; exit 2; }

# The mirror that has a suite's main archive: first URI of the deb822 files, else of the one-line files.
mirror_of() {
  local found
  found=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null |
    awk -v suite="$1" '/^URIs:/ { uri = $2 } /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) { print uri; exit } }')
  [[ -n $found ]] || found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    awk -v suite="$1" '$1 == "deb" { for (i = 2; i < NF; i++) if ($(i + 1) == suite) { print $i; exit } }')
  echo "$found"
}
# A suite that this machine has not, such as the next Debian: from where its own comes.
here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
listed=$suite
mirror=$(mirror_of "$suite")
if [[ -z $mirror && -n $here ]]; then
  listed=$here
  mirror=$(mirror_of "$here")
fi
[[ -n $mirror ]] || { echo "bare-system: this machine's apt sources have neither $suite nor $here; set SUITE" >&2; exit 2; }
[[ -e /usr/share/debootstrap/scripts/$suite ]] || { echo "bare-system: debootstrap knows no suite $suite" >&2; exit 2; }

system=$(mktemp -d "${TMPDIR:-/tmp}/leat-bare.XXXXXX")
chmod 755 "$system"  # the root of a system: others than root live there too
mounted=()
clean_up() {
  local i
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount "${mounted[i]}" || umount -l "${mounted[i]}"; done
  if [[ ${KEEP:-0} == 1 ]]; then
    echo "bare-system: kept in $system"
  elif ! grep -q " $system/" /proc/mounts; then
    rm -rf --one-file-system "$system"
  fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

begun=$SECONDS
note() { echo "bare-system: $* (+$((SECONDS - begun))s)"; }

note "$suite with git and bash, in $system"
debootstrap --variant=minbase --include=git,bash "$suite" "$system" "$mirror" >"$system.log" 2>&1 ||
  { tail -n 20 "$system.log"; echo "bare-system: debootstrap failed; log: $system.log"; exit 1; }
rm -f "$system.log"

# As this machine reaches its mirror; passwords in auth.conf stay where they are.
for part in sources.list sources.list.d apt.conf apt.conf.d preferences.d keyrings trusted.gpg.d; do
  [[ -e /etc/apt/$part ]] || continue
  rm -rf "${system:?}/etc/apt/$part"
  cp -a "/etc/apt/$part" "$system/etc/apt/"
done
# The same lists, of this suite.
[[ $listed == "$suite" ]] || find "$system/etc/apt/" \( -name '*.list' -o -name '*.sources' \) \
  -exec sed -i "/^deb\|^Suites:/ s/\<$listed\>/$suite/g" {} +
# Without a list of its own beside the copied ones.
[[ -e /etc/apt/sources.list ]] || rm -f "$system/etc/apt/sources.list"
cp -aL /usr/share/keyrings/. "$system/usr/share/keyrings/"
cp -L /etc/resolv.conf /etc/hosts "$system/etc/"
proxies=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  [[ -z ${!name:-} ]] || proxies+=("$name=${!name}")
done
rm -rf "$system/var/lib/apt/lists"
mkdir -p "$system/var/lib/apt/lists/partial"

for folder in proc dev dev/pts; do
  mount --bind "/$folder" "$system/$folder"
  mounted+=("$system/$folder")
done

# A clone, so that nothing that git ignores comes along, and then the files not yet committed.
mkdir -p "$system/home/leat"
git -C "$root" rev-parse -q --verify HEAD >/dev/null && git clone -q "$root" "$system/home/leat"
(cd "$root" && git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
  tar --null -T - -cf -) | tar -xf - -C "$system/home/leat"

inside() { chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "${proxies[@]}" "$@"; }
for tool in g++ cmake ninja python3 clang make; do
  if inside bash -c "command -v $tool" >/dev/null; then note "not bare: it has $tool"; exit 1; fi
done

for command in "${commands[@]}"; do
  note "$command"
  inside bash -c "cd /home/leat && $command </dev/null" || { note "FAILED: $command"; exit 1; }
done
note "all commands work on a bare $suite"
