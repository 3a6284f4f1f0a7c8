// SPDX-License-Identifier: BSL-1.0
//
// Timers of Gs that wait: a sleep, and the deadline of a wait that others may end as well.
#include <cerrno>
#include <ctime>

#include <leat/base/clock.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/time.hpp>

namespace leat {
namespace sched {
namespace {

struct nap_wait : interruptible {
  timer* t;
};

// On the far side: only now may the timer fire.
void arm_nap(void* arg) noexcept {
  G& g = *static_cast<G*>(arg);
  auto& on = *static_cast<M*>(g.ctx.on);
  on.sched.arm_timer(on, g);
}

}  // namespace

void scheduler::arm_timer(M& m, G& g) noexcept {
  const std::int64_t when = g.nap.when;
  timer_heap& heap = *g.nap.home;
  bool armed = false;
  {
    lock_guard hold(heap.lock());
    // A stop that looked for the timer under this lock before it was there withdrew nothing.
    if (g.stop.load(std::memory_order_relaxed) == stop_level::none) {
      heap.add_locked(g.nap);
      armed = true;
    }
  }
  // Armed, the G may be running elsewhere by now.
  if (armed) {
    polls_.note_timer(when);
  } else {
    ready(&m, &g);
  }
}

void scheduler::arm_claim(M& m, G& g, std::int64_t when, bool (*claim)(void*) noexcept, void* arg) noexcept {
  g.nap.when = when;
  g.nap.g = &g;
  g.nap.home = &m.p.load(std::memory_order_relaxed)->timers;
  g.nap.claim = claim;
  g.nap.claim_arg = arg;
  {
    lock_guard hold(g.nap.home->lock());
    g.nap.home->add_locked(g.nap);
  }
  polls_.note_timer(when);
}

void scheduler::disarm(G& g) noexcept {
  lock_guard hold(g.nap.home->lock());
  (void)g.nap.home->remove_locked(g.nap);
}

bool scheduler::sleep_until(std::int64_t when) {
  M* m = enter(current_m());
  G& g = *m->cur.load(std::memory_order_relaxed);
  nap_wait w;
  w.t = &g.nap;
  w.withdraw = [](interruptible& self) noexcept {
    timer& t = *static_cast<nap_wait&>(self).t;
    lock_guard hold(t.home->lock());
    return t.home->remove_locked(t);
  };
  g.nap.when = when;
  g.nap.g = &g;
  g.nap.home = &m->p.load(std::memory_order_relaxed)->timers;
  g.nap.claim = nullptr;
  if (begin_wait(m->gate, g, w)) m = park(m, wait_reason::sleep, arm_nap, &g);
  end_wait(m->gate, g);
  leave(m);
  throw_if_insisted(g);
  return g.stop.load(std::memory_order_relaxed) == stop_level::none;
}

}  // namespace sched

sleep_result sleep_until(deadline when) {
  const std::int64_t at = to_ns(when.at());
  sched::M* const m = sched::current_m();
  if (m && m->cur.load(std::memory_order_relaxed))
    return m->sched.sleep_until(at) ? sleep_result::elapsed : sleep_result::stopped;
  timespec t{};
  t.tv_sec = static_cast<time_t>(at / 1'000'000'000);
  t.tv_nsec = static_cast<long>(at % 1'000'000'000);
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
  return sleep_result::elapsed;
}

}  // namespace leat
