// SPDX-License-Identifier: BSL-1.0
//
// Says in the log where a quarantined process stood, by the names of functions.
//
// To look one up takes the loader's lock and allocates, and a process that hangs in the constructor of a
// library holds that lock for good. So it is done afterwards, on a guarded G that may hang itself: then there
// are no names any more, and whoever wants some does not notice.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <leat/csp/channel.hpp>

namespace leat::services {

class trace_names {
 public:
  trace_names() = default;
  ~trace_names();
  trace_names(const trace_names&) = delete;
  trace_names& operator=(const trace_names&) = delete;

  // On a G, before the first is told of. `whose`: as in the log, by their numbers.
  void start(std::vector<std::string> whose);
  // Never waits, and needs no heap: if too many are being looked up, this one is not.
  void tell(std::size_t who, std::span<void* const> trace) noexcept;

 private:
  struct request {
    std::size_t who = 0;
    std::array<void*, 24> pcs = {};
    std::size_t count = 0;
  };
  static void look_up(const channel<request>& wanted, const std::vector<std::string>& whose);

  std::optional<channel<request>> wanted_;  // from start on
};

}  // namespace leat::services
