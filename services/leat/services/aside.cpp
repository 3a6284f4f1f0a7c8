// SPDX-License-Identifier: BSL-1.0
#include <leat/services/aside.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/csp/channel.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::services {

using namespace std::chrono_literals;

namespace {

class silent_guard final : public overrun_guard {
 public:
  silent_guard() noexcept : overrun_guard(2s, 200ms) {}
  void overran(const overrun_news&) noexcept override {}
};

}  // namespace

std::shared_ptr<overrun_guard> guard_aside() { return std::make_shared<silent_guard>(); }

bool run_aside(std::function<void()> work) {
  const channel<bool> over(1);
  try {
    go({.name = "aside", .guard = guard_aside()}, [over, work = std::move(work)]() mutable {
      bool good = false;
      try {
        work();
        work = nullptr;
        good = true;
      } catch (const std::exception& e) {
        log_error("services", "a value's own code failed: {}", e.what());
      } catch (...) {
        log_error("services", "a value's own code failed, with what is no std::exception");
      }
      (void)over.try_send(good);
    });
  } catch (const std::exception& e) {
    log_error("services", "{}", e.what());
    return false;
  }
  return over.recv_until(deadline(1s)).value_or(false);
}

}  // namespace leat::services
