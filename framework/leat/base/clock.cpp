// SPDX-License-Identifier: BSL-1.0
#include <leat/base/clock.hpp>

#include <leat/base/system_time.hpp>

namespace leat {

namespace {

class system_source final : public clock_source {
 public:
  time_point now() const noexcept override { return leat::now(); }
};

constinit const system_source the_system_source;

}  // namespace

std::int64_t system_now_ns() noexcept {
  if (const std::int64_t t = detail::world_time.load(std::memory_order_relaxed)) [[unlikely]]
    return t + detail::world_date.load(std::memory_order_relaxed);
  timespec t;
  ::clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(t.tv_nsec);
}

const clock_source& system_clock_source() noexcept { return the_system_source; }

time_point manual_clock::now() const noexcept { return from_ns(now_.load(std::memory_order_acquire)); }

void manual_clock::advance(nanoseconds d) noexcept {
  std::int64_t old = now_.load(std::memory_order_relaxed);
  while (!now_.compare_exchange_weak(old, to_ns(saturating_add(from_ns(old), d)), std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
  }
}

void manual_clock::set(time_point t) noexcept { now_.store(to_ns(t), std::memory_order_release); }

}  // namespace leat
