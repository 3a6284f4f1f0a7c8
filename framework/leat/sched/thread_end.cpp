// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/thread_end.hpp>

#include <unistd.h>
#include <atomic>
#include <cerrno>

#include <leat/base/clock.hpp>
#include <leat/sched/m.hpp>

namespace leat::sched {
namespace {

constexpr std::uintptr_t second_round = 1;  // an M lies at a multiple of 64

struct key {
  key() noexcept : made(::pthread_key_create(&id, &ends) == 0) {}
  static void ends(void* value) noexcept;

  pthread_key_t id{};
  const bool made;
};
key& the_key() noexcept {
  static key one;
  return one;
}

std::atomic<void (*)(M&) noexcept> to_call{nullptr};

void key::ends(void* value) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(value);
  if ((at & second_round) == 0 &&
      ::pthread_setspecific(the_key().id, reinterpret_cast<void*>(at | second_round)) == 0)
    return;
  to_call.load(std::memory_order_relaxed)(*reinterpret_cast<M*>(at & ~second_round));
}

}  // namespace

bool call_at_end_of_thread(M& m, void (*over)(M&) noexcept) noexcept {
  to_call.store(over, std::memory_order_relaxed);  // there is one such function
  return the_key().made && ::pthread_setspecific(the_key().id, &m) == 0;
}

void join_within(pthread_t thread, std::int64_t ns) noexcept {
  const std::int64_t until = real_now_ns() + ns;
  while (::pthread_tryjoin_np(thread, nullptr) == EBUSY) {
    if (real_now_ns() > until) {
      (void)::pthread_detach(thread);
      return;
    }
    ::usleep(20);
  }
}

}  // namespace leat::sched
