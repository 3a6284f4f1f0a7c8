// SPDX-License-Identifier: BSL-1.0
// error: member .*'seen' in 'sample'|'seen' is not a member of 'sample'
// within: 10 of 120
#include <leat/leat.hpp>

struct sample {
  double celsius;
  int at;
};
LEAT_MESSAGE(sample, celsius, seen);
