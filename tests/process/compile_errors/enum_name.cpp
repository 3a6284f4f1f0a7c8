// SPDX-License-Identifier: BSL-1.0
// error: 'later' is not a member of 'missed'|no member named 'later' in 'missed'
// within: 10 of 120
#include <leat/leat.hpp>

enum class missed { skip, burst };
LEAT_ENUM(missed, skip, later);
