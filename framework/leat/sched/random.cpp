// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/random.hpp>

#include <sys/random.h>

#include <leat/base/clock.hpp>
#include <leat/sched/world.hpp>

namespace leat {
namespace {

// splitmix64, a state for each thread. No switch of Gs in here.
[[gnu::noinline]] std::uint64_t of_thread() noexcept {
  static thread_local std::uint64_t state = 0;
  if (state == 0) {
    if (::getrandom(&state, sizeof state, GRND_NONBLOCK) != sizeof state)
      state = static_cast<std::uint64_t>(real_now_ns()) ^ reinterpret_cast<std::uintptr_t>(&state);
    state |= 1;
  }
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t random() noexcept {
  if (detail::world_time.load(std::memory_order_relaxed) != 0) [[unlikely]]
    if (sched::world* const w = sched::world::here()) return std::uint64_t{w->draw()} << 32 | w->draw();
  return of_thread();
}

}  // namespace leat
