#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# What many_ps.sh makes of given times, by a program that tells them: 100 ns with 2 Ps; with 16 Ps `slow` ns in the first
# `rounds` rounds, 100 in the others.
source "$(dirname "$0")/../checks/support.sh"
judge() { # ROUNDS SLOW
  put program "#!/usr/bin/env bash
(( \$3 == 2 )) && { echo '100 ns'; exit; }
echo >>'$tree/asked'
(( \$(wc -l <'$tree/asked') <= $1 )) && echo '$2 ns' || echo '100 ns'"
  chmod +x "$tree/program"
  rm -f "$tree/asked"
  "$root/tests/bench/many_ps.sh" "$tree/program" mutex
}
expect 0 '1.00 of the throughput with 2 (median; 1.00 to 1.00); 0 of 15 rounds below 0.70' judge 0 100
expect 0 '0.83 of the throughput' judge 15 120
expect 1 '0.56 of the throughput with 2 (median; 0.56 to 0.56); 15 of 15 rounds' judge 15 180
expect 0 '11 of 15 rounds below' judge 11 180
expect 1 '12 of 15 rounds below' judge 12 180
put program '#!/usr/bin/env bash
exit 3'
chmod +x "$tree/program"
expect 3 '' "$root/tests/bench/many_ps.sh" "$tree/program" mutex
finish
