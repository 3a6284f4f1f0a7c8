// SPDX-License-Identifier: BSL-1.0
//
// What comes from outside has no place in a simulated world: its moments are not the world's.
#pragma once

namespace leat::net {

// In a world without .real_io: throws std::logic_error that names it ("a child process") and what to do instead.
void require_real_io(const char* what);

}  // namespace leat::net
