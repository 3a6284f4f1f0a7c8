// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>

namespace leat {

// What a channel is inside, for those who look at it; the framework does not decide by it. Of a service's channel
// the check of its files says it before there is one (config/graph.hpp).
enum class flavour : std::uint8_t {
  rendezvous,        // no room: they meet
  many,              // any number of Gs: a ring with a lock
  latest,            // one value, the last
  single,            // one writer, one reader: a ring without locks
  broadcast,         // every reader has its own ring
  broadcast_reader,  // such a ring
  ticker,
  merged,         // an end that receives from several channels
  fan,            // an end that sends to several
  keyed,          // an end that sends each value to one of several, by its key
  latest_by_key,  // one value for each key, the last
  gated,          // an end that is looked at (csp/gate.hpp)
  stored,         // in a file, and as far as they fit in memory
  other,
};
const char* to_string(flavour f) noexcept;

}  // namespace leat
