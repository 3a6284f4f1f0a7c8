// SPDX-License-Identifier: BSL-1.0
//
// Standard input and output as streams.
#pragma once
#include <leat/net/stream.hpp>

namespace leat::net {

enum class standard : std::uint8_t { input = 0, output = 1 };

// Where it can be, a descriptor of its own for the same terminal or pipe, so that nobody else who uses it
// finds it non-blocking; a socket is shared. Closing it leaves the program's own open. Throws
// std::system_error; for regular files and what else cannot be waited for it is
// std::errc::operation_not_permitted. So it is for output in a simulated world: write to it as to a file.
stream open_standard(standard which);

}  // namespace leat::net
