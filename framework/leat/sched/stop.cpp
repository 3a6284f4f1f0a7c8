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
  if (!m) gs_alive_.add_without_p();
  raise_stop(*g, level);  // a
  for (int turns = 0; g->interrupting.exchange(1, std::memory_order_acquire) != 0; ++turns)
    back_off(turns);                                                       // b
  heavy_barrier();                                                         // c
  interruptible* const w = g->waiting_on.load(std::memory_order_acquire);  // d
  const bool won = w && w->withdraw(*w);
  g->interrupting.store(0, std::memory_order_release);  // e
  if (won) ready(m, g);                                 // f
  if (!m) leave_without_p();
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

// A G wherever it is, or the thread if there is none.
namespace {
bool is_caller(const stop_node& n) noexcept {
  const G* const g = current_g();
  return n.caller == g && (g || ::pthread_equal(n.thread, ::pthread_self()) != 0);
}
}  // namespace

bool stop_state::enlist(stop_node& n) noexcept {
  const no_quarantine unbroken;
  lock_guard hold(lock_);
  if (level_.load(std::memory_order_relaxed) != stop_level::none) return false;
  callbacks_.push_back(&n);
  n.at.store(stop_node::state::linked, std::memory_order_relaxed);
  return true;
}

void stop_state::delist(stop_node& n) noexcept {
  using state = stop_node::state;
  {
    const no_quarantine unbroken;
    lock_guard hold(lock_);
    if (n.at.load(std::memory_order_relaxed) == state::linked) {  // a
      callbacks_.remove(&n);
      return;
    }
  }
  if (n.at.load(std::memory_order_acquire) == state::done) return;  // b
  if (is_caller(n)) {                                               // c
    *n.gone = true;
    return;
  }
  for (int turns = 0; n.at.load(std::memory_order_acquire) != state::done; ++turns) back_off(turns);  // d
}

void stop_state::call_all() noexcept {
  using state = stop_node::state;
  for (;;) {
    bool gone = false;
    stop_node* n = nullptr;
    {
      const no_quarantine unbroken;
      lock_guard hold(lock_);
      n = callbacks_.pop_front();  // 2
      if (!n) return;
      n->gone = &gone;
      n->caller = current_g();
      n->thread = ::pthread_self();
      n->at.store(state::calling, std::memory_order_relaxed);
    }
    n->call(*n);                                                     // 3
    if (!gone) n->at.store(state::done, std::memory_order_release);  // 4
  }
}

void stop_node::begin(stop_state* s) noexcept {
  if (s && !s->enlist(*this)) call(*this);
}
void stop_node::end(stop_state* s, stop_node& n) noexcept {
  if (s) s->delist(n);
}

void stop_state::raise(stop_level level, stop_reason why) noexcept {
  M* const self = current_m();
  M* const m = self && self->cur.load(std::memory_order_relaxed) ? scheduler::enter(self) : nullptr;
  if (!m) current_scheduler::plain_thread_enters();
  {
    // A member cannot end while the lock is held: leaving takes it too. ready() is called under it, which
    // is the one exception to the rule; it takes only locks of higher rank and runs no user code.
    lock_guard hold(lock_);
    if (why_.load(std::memory_order_relaxed) == stop_reason::none) why_.store(why, std::memory_order_relaxed);
    if (level_.load(std::memory_order_relaxed) < level) level_.store(level, std::memory_order_relaxed);  // 1
    for (G& g : members_)
      if (g.home == scheduler::current()) g.home->stop(m, &g, level);
  }
  if (m) {
    scheduler::leave(m);
  } else {
    current_scheduler::plain_thread_leaves();
  }
  call_all();
}

void leave_stop_source(G& g) noexcept {
  g.more.stop_with->remove(g);
  g.more.stop_key.store(nullptr, std::memory_order_relaxed);
  g.more.stop_with.reset();
  g.extras &= static_cast<std::uint8_t>(~g_has_stop_source);
}

}  // namespace sched

stop_source::stop_source() : state_(std::make_shared<sched::stop_state>()) {}
// By a handle of their own: a callback may end the source.
void stop_source::request_stop() noexcept {
  const auto s = state_;
  s->raise(sched::stop_level::asked);
}
void stop_source::insist() noexcept {
  const auto s = state_;
  s->raise(sched::stop_level::insisted);
}
bool stop_source::stop_requested() const noexcept { return state_->level() != sched::stop_level::none; }

stop_reason stop_token::why() const noexcept { return state_ ? state_->why() : stop_reason::none; }
deadline stop_token::until() const noexcept { return state_ ? state_->until : deadline::never(); }

const char* to_string(stop_reason r) noexcept {
  switch (r) {
    case stop_reason::none: return "none";
    case stop_reason::requested: return "requested";
    case stop_reason::deadline: return "deadline";
  }
  return "?";
}

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
