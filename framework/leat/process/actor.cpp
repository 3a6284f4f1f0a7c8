// SPDX-License-Identifier: BSL-1.0
#include <leat/process/actor.hpp>

namespace leat {

const char* to_string(ask_status s) noexcept {
  switch (s) {
    case ask_status::answered: return "answered";
    case ask_status::failed: return "failed";
    case ask_status::closed: return "closed";
    case ask_status::timeout: return "timeout";
    case ask_status::stopped: return "stopped";
  }
  return "?";
}

void actors::answered_twice() { throw std::logic_error("this request has been answered already"); }

}  // namespace leat
