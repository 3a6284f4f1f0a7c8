// SPDX-License-Identifier: BSL-1.0
// error: member .*'dept' in 'limits_of_tls'|'dept' is not a member of 'limits_of_tls'
// within: 10 of 120
#include <leat/leat.hpp>

struct limits_of_tls {
  int depth = 3;
};
LEAT_SETTINGS(limits_of_tls, (dept, leat::between(1, 9)));
