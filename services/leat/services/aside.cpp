// SPDX-License-Identifier: BSL-1.0
#include <leat/services/aside.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/csp/channel.hpp>
#include <leat/sched/overrun.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::services {

using namespace std::chrono_literals;

namespace {

// Whoever waits says what it means that it hangs.
class silent_guard final : public overrun_guard {
 public:
  silent_guard() noexcept : overrun_guard(2s, 200ms) {}
  void overran(const overrun_news&) noexcept override {}
};

}  // namespace

bool run_aside(std::function<void()> work) {
  const channel<bool> over(1);
  try {
    go({.name = "aside", .guard = std::make_shared<silent_guard>()},
       [over, work = std::move(work)]() mutable {
         try {
           work();
           work = nullptr;
         } catch (const std::exception& e) {
           log_error("services", "a value's own code failed: {}", e.what());
         }
         (void)over.try_send(true);
       });
  } catch (const std::exception& e) {
    log_error("services", "{}", e.what());
    return false;
  }
  return over.recv_until(deadline(1s)).has_value();
}

}  // namespace leat::services
