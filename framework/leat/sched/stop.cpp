// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/stop.hpp>

#include <leat/base/list.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/stop_state.hpp>

namespace leat {
namespace sched {

void raise_stop(G& g, stop_level level) noexcept {
  stop_level now = g.stop.load(std::memory_order_relaxed);
  while (now < level && !g.stop.compare_exchange_weak(now, level, std::memory_order_relaxed)) {
  }
}

void scheduler::stop(M* m, G* g, stop_level level) noexcept {
  // Between withdraw and ready the G is in no queue and no heap: that must not look like a deadlock.
  if (!m) without_p_.fetch_add(1, std::memory_order_seq_cst);
  raise_stop(*g, level);  // a
  for (int turns = 0; g->interrupting.exchange(1, std::memory_order_acquire) != 0; ++turns)
    back_off(turns);                                                       // b
  heavy_barrier();                                                         // c
  interruptible* const w = g->waiting_on.load(std::memory_order_acquire);  // d
  const bool won = w && w->withdraw(*w);
  g->interrupting.store(0, std::memory_order_release);  // e
  if (won) ready(m, g);                                 // f
  if (!m) without_p_.fetch_sub(1, std::memory_order_seq_cst);
}

void stop_state::add(G& g) noexcept {
  lock_guard hold(lock_);
  members_.push_back(&g);
  raise_stop(g, level_.load(std::memory_order_relaxed));
}

void stop_state::remove(G& g) noexcept {
  lock_guard hold(lock_);
  members_.remove(&g);
}

void stop_state::raise(stop_level level) noexcept {
  M* const self = current_m();
  M* const m = self && self->cur.load(std::memory_order_relaxed) ? scheduler::enter(self) : nullptr;
  if (!m) scheduler::plain_thread_enters();
  {
    // A member cannot end while the lock is held: leaving takes it too. ready() is called under it, which
    // is the one exception to the rule; it takes only locks of higher rank and runs no user code.
    lock_guard hold(lock_);
    if (level_.load(std::memory_order_relaxed) < level) level_.store(level, std::memory_order_relaxed);
    for (G& g : members_)
      if (g.home == scheduler::current()) g.home->stop(m, &g, level);
  }
  if (m) {
    scheduler::leave(m);
  } else {
    scheduler::plain_thread_leaves();
  }
}

void leave_stop_source(G& g) noexcept {
  g.stop_with->remove(g);
  g.stop_with.reset();
  g.extras &= static_cast<std::uint8_t>(~g_has_stop_source);
}

}  // namespace sched

stop_source::stop_source() : state_(std::make_shared<sched::stop_state>()) {}
void stop_source::request_stop() noexcept { state_->raise(sched::stop_level::asked); }
void stop_source::insist() noexcept { state_->raise(sched::stop_level::insisted); }
bool stop_source::stop_requested() const noexcept { return state_->level() != sched::stop_level::none; }

bool stop_requested() noexcept {
  sched::M* const m = sched::current_m();
  sched::G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  return g && g->stop.load(std::memory_order_relaxed) != sched::stop_level::none;
}

void checkpoint() {
  sched::M* const m = sched::current_m();
  if (!m || !m->cur.load(std::memory_order_relaxed)) return;
  sched::scheduler::leave(sched::scheduler::enter(m));
  if (stop_requested()) throw stopped{};
}

}  // namespace leat
