// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/poller.hpp>

#include <leat/sched/futex.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

std::atomic<poller*> installed{nullptr};

}  // namespace

// use_poller writes `installed` and then reads who is current; a beginning runtime makes itself current and
// then reads `installed`. All seq_cst: one of the two sees the other.
void use_poller(poller& p) noexcept {
  installed.store(&p, std::memory_order_seq_cst);
  const entered in;
  if (scheduler* const s = scheduler::current()) s->polls().use(p);
}

void use_installed_poller(scheduler& s) noexcept {
  if (poller* const p = installed.load(std::memory_order_seq_cst)) s.polls().use(*p);
}

std::uint64_t scheduler::io_waits() const noexcept {
  // Ends before beginnings, as in live().
  std::uint64_t ended = 0, begun = 0;
  ps_.each([&](const P& p) { ended += p.count.io_ended.load(std::memory_order_acquire); });
  ps_.each([&](const P& p) { begun += p.count.io_begun.load(std::memory_order_relaxed); });
  return (begun > ended ? begun - ended : 0) + plain_io_waits.load(std::memory_order_relaxed);
}

void sleep_poller::wait(std::int64_t until) noexcept {
  // Acquire pairs with interrupt.
  if (woken_.exchange(0, std::memory_order_acquire) != 0) return;
  futex_wait(woken_, 0, until);
  (void)woken_.exchange(0, std::memory_order_acquire);
}

void sleep_poller::interrupt() noexcept {
  if (woken_.exchange(1, std::memory_order_release) == 0) futex_wake(woken_);
}

}  // namespace leat::sched
