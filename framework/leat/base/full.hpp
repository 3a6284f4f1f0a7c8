// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>

namespace leat {

// What a send does when there is no room.
enum class full : std::uint8_t {
  block,        // waits
  drop_newest,  // drops the value it was to send
  drop_oldest,  // drops the value that has waited longest
  latest,       // keeps one value, the last sent
  fail,         // returns send_status::full
};

}  // namespace leat
