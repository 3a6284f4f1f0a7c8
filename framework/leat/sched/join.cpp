// SPDX-License-Identifier: BSL-1.0
//
// How a G, or a plain thread, waits for the end of a G.
#include <limits>
#include <string>

#include <leat/base/format.hpp>
#include <leat/sched/barrier.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/overrun_watch.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop_state.hpp>
#include <leat/sched/thread_event.hpp>

namespace leat::sched {

namespace {

constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

struct join_wait : interruptible {
  G* joined;
  G* waiter;
  bool may_stop;
  timer_heap* timers;  // null: no deadline

  // Takes the waiter out of the word, if it is there: then the caller readies it.
  bool take_back() const noexcept {
    auto mine = reinterpret_cast<std::uintptr_t>(waiter);
    return joined->join.compare_exchange_strong(mine, join_running, std::memory_order_acq_rel);
  }
};

void wait_as_thread(G& g, std::int64_t until) noexcept {
  thread_event done;
  std::uintptr_t running = join_running;
  auto mine = reinterpret_cast<std::uintptr_t>(&done) | 1;
  if (!g.join.compare_exchange_strong(running, mine, std::memory_order_acq_rel, std::memory_order_acquire))
    return;
  while (!done.wait(until)) {
    if (until == no_end || now_ns() < until) continue;
    if (g.join.compare_exchange_strong(mine, join_running, std::memory_order_acq_rel)) return;
    until = no_end;  // the end has come: the signal is on its way
  }
}

// May also return for nothing, when it may be stopped or has a deadline: see the tails below.
void wait_for_end(G& g, bool may_stop, std::int64_t until) {
  if (is_done(g)) return;
  M* const here = current_m();
  if (!here || !here->cur.load(std::memory_order_relaxed)) return wait_as_thread(g, until);
  M* m = scheduler::enter(here);
  G& me = *m->cur.load(std::memory_order_relaxed);
  join_wait w;
  w.joined = &g;
  w.waiter = &me;
  w.may_stop = may_stop;
  w.timers = nullptr;
  w.withdraw = [](interruptible& self) noexcept { return static_cast<join_wait&>(self).take_back(); };
  const bool timed = until != no_end;
  if (timed) {
    // It may be due before the word is set: then it takes nothing back, and the far side sees to it.
    m->sched.arm_claim(
        *m, me, until, [](void* arg) noexcept { return static_cast<join_wait*>(arg)->take_back(); }, &w);
    w.timers = me.nap.home;
  }
  if (!may_stop || begin_wait(m->gate, me, w)) {
    m = m->sched.park(
        m, wait_reason::join,
        [](void* arg) noexcept {
          const join_wait j = *static_cast<join_wait*>(arg);
          auto* const on = static_cast<M*>(j.waiter->ctx.on);
          std::uintptr_t running = join_running;
          auto mine = reinterpret_cast<std::uintptr_t>(j.waiter);
          // Release: the waiter is parked. Once it is in the word, it may run, and its frame be gone.
          if (j.joined->join.compare_exchange_strong(running, mine, std::memory_order_acq_rel,
                                                     std::memory_order_acquire)) {
            // A stop that came before the word was set withdrew nothing, nor did a timer. Settle it here: the
            // word decides.
            bool over = false;
            if (j.timers) {
              lock_guard hold(j.timers->lock());
              over = j.waiter->nap.armed.load(std::memory_order_relaxed) == 0;
            }
            if (j.may_stop) {
              light_barrier();
              over |= j.waiter->stop.load(std::memory_order_relaxed) != stop_level::none;
            }
            if (!over || !j.take_back()) return;
          }
          on->sched.ready(on, j.waiter);
        },
        &w);
  }
  if (may_stop) end_wait(m->gate, me);
  if (timed) m->sched.disarm(me);
  scheduler::leave(m);
}

}  // namespace

join_result join_g(G& g, bool may_stop, deadline until) {
  const std::int64_t at = to_ns(until.at());
  for (;;) {
    wait_for_end(g, may_stop, at);
    if (is_done(g)) return join_result::ended;
    const G* const me = current_g();
    if (may_stop && me && me->stop.load(std::memory_order_relaxed) != stop_level::none) {
      throw_if_insisted(*me);
      return join_result::stopped;
    }
    if (at != no_end && now_ns() >= at) return join_result::timeout;
    // Else it was woken by the tail of an earlier join of the same caller.
  }
}

void rethrow_failure(G& g) {
  if (g.status.load(std::memory_order_relaxed) != g_status::quarantined)
    std::rethrow_exception(g.more.failure);
  fixed_text<160> why;
  const overrun_watch& w = *g.watch.load(std::memory_order_relaxed);
  why.format("G {} '{}' was quarantined: it ", g.id, g.name);
  if (w.guard->out_wanted()) {
    why.append("went on after it had been asked to stop");
  } else {
    why.append("had run for ");
    append_elapsed(why, w.ran);
    why.append(" without entering the runtime");
  }
  throw quarantined(std::string(why.view()));
}

}  // namespace leat::sched
