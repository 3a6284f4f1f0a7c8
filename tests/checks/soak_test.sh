#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# ./dev soak on a copy of it without sources, with a ctest that has three tests that measure: what its table says, and that
# the next run goes on where the last one stopped.
source "$(dirname "$0")/support.sh"

mkdir -p "$tree/cmake" "$tree/bin"
cp "$root/dev" "$tree/dev"
cp -r "$root/cmake/dev" "$tree/cmake/dev"
cp "$root/CMakePresets.json" "$tree/"
dev() { (cd / && "$tree/dev" "$@" </dev/null); }
cat >"$tree/bin/dpkg-query" <<'END'
#!/bin/sh
shift 3
for package; do echo "installed $package"; done
END
cat >"$tree/bin/cmake" <<'END'
#!/bin/sh
for preset in release asan clang-asan tsan ubsan; do mkdir -p build/$preset && : >build/$preset/build.ninja; done
END
# Each test says its figure, from the file of its name; a tenth of a second each, and a minute if `slow` says so.
cat >"$tree/bin/ctest" <<'END'
#!/usr/bin/env bash
case " $* " in
  *' -N '*'^soak$'*) printf '  Test #%d: %s\n' 1 bench/one 2 bench/two 3 sched/idle/soak; exit 0 ;;
  *' -N '*) exit 0 ;;
esac
only=''
while (($#)); do
  [[ $1 != -R ]] || only=$2
  shift
done
name=${only#^} name=${name%\$}
echo "$name" >>ran
cat "figures-${name//\//-}" 2>/dev/null || true
[[ ! -e fails-${name//\//-} ]]
END
chmod +x "$tree"/bin/*
export PATH=$tree/bin:$PATH

put figures-bench-one 'figure: one with 16 Ps = 0.83 of 2, at least 0.7'
put figures-bench-two '7: figure: two = 41.5 ns, at most 40'
put figures-sched-idle-soak 'figure: wake-ups of an idle program = 0 1/s, at most 0
figure: a figure without a bar = 12 bytes
figure: a share of a core = 0.001 , at most 0.002'
put fails-bench-two ''
expect 1 'MISSED' dev soak 1 figures/
expect 0 'bench/one
bench/two
sched/idle/soak' cat "$tree/ran"
rm "$tree/ran" "$tree/fails-bench-two"

# What was missed, by how much, and what it was the last time.
put figures-bench-two 'figure: two = 39.5 ns, at most 40'
table() { dev soak 1 "$@" | tr -s ' '; }
expect 0 'two 39.5 ns at most 40 ok 41.5' table figures/
expect 0 'one with 16 Ps 0.83 of 2 at least 0.7 ok 0.83' table bench/one
expect 0 'wake-ups of an idle program 0 1/s at most 0 ok 0' table idle
expect 0 'a figure without a bar 12 bytes - 12' table idle
expect 0 'a share of a core 0.001 at most 0.002 ok 0.001' table idle
seconds_as_n() { table "$@" | sed -E 's/ ok [0-9]+ / ok N /'; }
expect 0 'figures/bench/two ok N last time: ok' seconds_as_n two
expect 0 '3 passed, 0 failed, 0 skipped' table figures/
expect 0 'the last one: build/soak/2' table figures/
expect 2 'nothing in the list has a name like nonsense' dev soak 1 nonsense

# The one that was run longest ago is the first.
printf '%s\n' 'figures/bench/one 300 1 ok' 'figures/bench/two 100 1 ok' 'figures/sched/idle/soak 200 1 FAILED' \
  >"$tree/build/soak/state"
rm -f "$tree/ran"
expect 0 'last time: FAILED' table figures/
expect 0 'bench/two
sched/idle/soak
bench/one' cat "$tree/ran"

# Time is over after the first: what is left comes first the next time.
sed -i 's/((SECONDS - begun >= all))/((n == 1))/' "$tree/cmake/dev/soak.sh"
rm -f "$tree/ran"
printf '%s\n' 'figures/bench/one 300 1 ok' 'figures/bench/two 100 1 ok' >"$tree/build/soak/state"
expect 0 '2 of the list are left; the next ./dev soak begins with them' table figures/
expect 0 'bench/two' table figures/
expect 0 'sched/idle/soak
bench/two' cat "$tree/ran"
finish
