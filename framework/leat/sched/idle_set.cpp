// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/idle_set.hpp>

#include <sched.h>
#include <algorithm>
#include <optional>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/sched/barrier.hpp>
#include <leat/sched/pause_point.hpp>
#include <leat/sched/policy/fetch.hpp>
#include <leat/sched/policy/nudge.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/sysmon.hpp>

namespace leat::sched {

idle_set::idle_set(scheduler& home, const std::vector<unsigned>& cpus) : home_(home), threads_from_(cpus) {}

// --- Gs ---------------------------------------------------------------------------------------------

void idle_set::push(G* g) noexcept {
  {
    lock_guard hold(lock_);
    global_.push(g);
    note_size();
  }
  wake_if_needed();
}

void idle_set::push_batch(g_queue&& batch, from what) noexcept {
  lock_guard hold(lock_);
  if (what == from::spawns) {
    global_.spill(std::move(batch));
  } else {
    global_.append(std::move(batch));
  }
  note_size();
}

G* idle_set::take(P& p, std::size_t most, bool fairly, std::int64_t now, std::uint32_t& n) noexcept {
  lock_guard hold(lock_);
  const std::size_t len = global_.size();
  if (len == 0) return nullptr;
  const std::size_t want = std::max<std::size_t>(std::min({len / home_.procs() + 1, most, len}), 1);
  G* const first = fairly ? global_.pop_fairly(now) : global_.pop();
  // A G is out of the queue before it is in the ring: there thieves may take it, and its link changes
  // hands. The ring is empty as a rule; after a round for timers it need not be.
  for (n = 1; n < want && p.ring.size() < p.ring.capacity(); ++n) (void)p.ring.push(global_.pop());
  note_size();
  return first;
}

void idle_set::push_due(g_queue&& due, P* p) noexcept {
  lock_guard hold(lock_);
  global_.append_due(std::move(due));
  while (p && global_.size_due() > 0 && p->ring.size() < p->ring.capacity())
    (void)p->ring.push(global_.pop_due());
  note_size();
}

void idle_set::drop_all() noexcept {
  lock_guard hold(lock_);
  while (global_.pop()) {
  }
  note_size();
}

// --- Ps ---------------------------------------------------------------------------------------------

void idle_set::push_p(P& p) noexcept {
  // Nobody looks into the run_next of an idle P.
  if (G* g = p.run_next.load(std::memory_order_relaxed)) [[unlikely]] {
    p.run_next.store(nullptr, std::memory_order_relaxed);
    global_.push(g);
    note_size();
  }
  end_burst(p);
  busy_ps_.fetch_sub(1, std::memory_order_seq_cst);
  // Asked to retire meanwhile. With Gs in its ring it must be found by an M first, which empties it.
  if (p.retire.load(std::memory_order_relaxed) && p.ring.seen().empty()) {
    p.status.store(p_status::stopped, std::memory_order_relaxed);
    return;
  }
  p.status.store(p_status::idle, std::memory_order_relaxed);
  p.idle_link = p_list_;
  p_list_ = &p;
  idle_ps_.fetch_add(1, std::memory_order_seq_cst);
}

P* idle_set::pop_p(P* preferred) noexcept {
  for (P** at = &p_list_; *at; at = &(*at)->idle_link) {
    if (preferred && *at != preferred) continue;
    P* const p = *at;
    *at = p->idle_link;
    p->idle_link = nullptr;
    idle_ps_.fetch_sub(1, std::memory_order_seq_cst);
    busy_ps_.fetch_add(1, std::memory_order_seq_cst);
    return p;
  }
  return nullptr;
}

void idle_set::add_p(P& p) noexcept {
  lock_guard hold(lock_);
  busy_ps_.fetch_add(1, std::memory_order_seq_cst);
  push_p(p);
}

P* idle_set::take_p(P* preferred) noexcept {
  lock_guard hold(lock_);
  P* const p = preferred ? pop_p(preferred) : nullptr;
  return p ? p : pop_p();
}

bool idle_set::give_up_p(M& m, P& p) noexcept {
  lock_guard hold(lock_);
  if (!global_.empty() || p.attention.load(std::memory_order_relaxed)) return false;
  p.m.store(nullptr, std::memory_order_relaxed);
  m.p.store(nullptr, std::memory_order_relaxed);
  push_p(p);
  return true;
}

void idle_set::release_p(M& m) noexcept {
  P& p = *m.p.load(std::memory_order_relaxed);
  p.m.store(nullptr, std::memory_order_relaxed);
  m.p.store(nullptr, std::memory_order_relaxed);
  lock_guard hold(lock_);
  push_p(p);
}

void idle_set::hand_off_p(P& p, int busy_cpu) noexcept {
  p.m.store(nullptr, std::memory_order_relaxed);
  if (p.retire.load(std::memory_order_acquire) || !p.ring.seen().empty() ||
      p.run_next.load(std::memory_order_relaxed) || queued() > 0) {
    (void)start_m(p, false, busy_cpu);
    return;
  }
  {
    lock_guard hold(lock_);
    push_p(p);
  }
  // Steps d and e on behalf of the P; and somebody must watch its timers.
  barrier_before_look();
  if (work_visible()) wake_if_needed(busy_cpu);
  const std::int64_t due = p.timers.next();
  if (due != timer_heap::no_timer) home_.polls().note_timer(due);
}

bool idle_set::retire(M& m, P& p, g_queue&& left) noexcept {
  lock_guard hold(lock_);
  global_.append(std::move(left));
  note_size();
  if (!p.retire.load(std::memory_order_relaxed)) return false;
  m.p.store(nullptr, std::memory_order_relaxed);
  p.m.store(nullptr, std::memory_order_relaxed);
  p.status.store(p_status::stopped, std::memory_order_relaxed);
  busy_ps_.fetch_sub(1, std::memory_order_seq_cst);
  return true;
}

void idle_set::resize(P& p, unsigned n) noexcept {
  lock_guard hold(lock_);
  const p_status status = p.status.load(std::memory_order_relaxed);
  p.retire.store(p.id >= n, std::memory_order_relaxed);
  if (p.id < n && status == p_status::stopped) {
    busy_ps_.fetch_add(1, std::memory_order_seq_cst);
    push_p(p);
    return;
  }
  if (pop_p(&p)) {
    // Nobody owns it: thieves can be let in, or it can stop, right here.
    if (n > 1 && !p.shared.load(std::memory_order_relaxed)) {
      p.ring.let_thieves_in();
      p.shared.store(true, std::memory_order_release);
    }
    push_p(p);
    return;
  }
  // Running, or on its way to an M: seen to in its next round, or after sysmon's retake.
  p.attention.store(true, std::memory_order_release);  // pairs with find_runnable
}

// --- Ms ---------------------------------------------------------------------------------------------

unsigned idle_set::idle_ms() const noexcept {
  lock_guard hold(lock_);
  return n_ms_ + (poller_ ? 1 : 0);
}

bool idle_set::any_m_sleeps() const noexcept {
  lock_guard hold(lock_);
  return n_ms_ > 0;
}

void idle_set::give_p(M& m, P& p) noexcept {
  {
    lock_guard hold(lock_);
    m.rest.next_p = &p;
  }
  m.rest.event.signal();
}

P* idle_set::given_p(M& m) noexcept {
  lock_guard hold(lock_);
  return std::exchange(m.rest.next_p, nullptr);
}

P* idle_set::sleep(M& m) noexcept {
  for (;;) {
    pause_point(pause_site::before_sleep);
    undo_nudge(m);
    be_prompt_again(m);
    m.rest.last_cpu.store(::sched_getcpu(), std::memory_order_relaxed);
    bool polls = false;
    {
      lock_guard hold(lock_);
      if (home_.is_done()) return nullptr;
      // Somebody may have failed to start a thread for a P with work while this M was on its way here.
      bool work = !global_.empty();
      home_.ps().each([&](const P& p) { work |= !p.ring.seen().empty(); });
      if (P* p = work ? pop_p() : nullptr) {
        begin_search(m);
        return p;
      }
      if (!poller_ && idle_ps() > 0) {
        poller_ = &m;
        polls = true;
      } else {
        m.rest.link = m_list_;
        m_list_ = &m;
        ++n_ms_;
      }
    }
    if (polls) {
      round::wait_as_poller(m);
    } else {
      m.rest.event.wait();
    }
    m.rest.last_cpu.store(::sched_getcpu(), std::memory_order_relaxed);
    P* p = nullptr;
    {
      lock_guard hold(lock_);
      if (polls) poller_ = nullptr;
      p = m.rest.next_p;
      m.rest.next_p = nullptr;
      if (p) {
        m.searching = m.rest.next_searching;
      } else if (polls && !home_.is_done()) {
        p = pop_p();
      } else if (!polls) {
        // A signal without a P: at the end, or a stale one. Off the list again, if still on it.
        for (M** at = &m_list_; *at; at = &(*at)->rest.link) {
          if (*at != &m) continue;
          *at = m.rest.link;
          --n_ms_;
          break;
        }
      }
      if (p && !m.searching) begin_search(m);
    }
    if (p) return p;
    // All Ps are at work, and will find them.
    if (!m.polled.empty()) {
      push_batch(std::move(m.polled), from::wakes);
      wake_if_needed();
    }
  }
}

// --- Waking -----------------------------------------------------------------------------------------

void idle_set::wake_if_needed(int busy_cpu) noexcept {
  full_barrier();
  if (idle_ps_.load(std::memory_order_relaxed) == 0 || searching_.load(std::memory_order_relaxed) != 0)
    return;
  pause_point(pause_site::before_waking);
  wake_one(busy_cpu);
}

void idle_set::wake_after_push(P& p) noexcept {
  if (!p.burst.is_on()) {
    if (p.burst.begins(p.ring.size())) bursting_.fetch_add(1, std::memory_order_seq_cst);
    return wake_if_needed();
  }
  light_barrier();
  if (idle_ps_.load(std::memory_order_relaxed) != 0 && searching_.load(std::memory_order_relaxed) == 0)
    wake_one();
}

void idle_set::end_burst(P& p) noexcept {
  if (p.burst.end()) bursting_.fetch_sub(1, std::memory_order_seq_cst);
}

void idle_set::barrier_before_look() const noexcept {
  full_barrier();
  if (bursting_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    heavy_barrier();
}

void idle_set::wake_one(int busy_cpu) noexcept {
  if (fetch_policy::puts_off_wake(napping_.load(std::memory_order_relaxed), busy_ps(),
                                  threads_from_.cpu_count()))
    return;
  for (;;) {
    int none = 0;
    if (!searching_.compare_exchange_strong(none, 1, std::memory_order_seq_cst)) return;
    P* p = nullptr;
    {
      lock_guard hold(lock_);
      p = pop_p();
    }
    if (p) {
      (void)start_m(*p, true, busy_cpu);
      return;
    }
    pause_point(pause_site::searched_in_vain);
    // All Ps are at work. A submitter that saw our 1 in searching_ relied on us in vain, and a P may have
    // become idle since: look again on its behalf.
    searching_.fetch_sub(1, std::memory_order_seq_cst);
    barrier_before_look();
    if (idle_ps_.load(std::memory_order_relaxed) == 0 || !work_visible()) return;
  }
}

// The M to be woken for a P, if there is one: off its list, the P assigned.
M* idle_set::claim_m(P& p, bool searching, bool& polls) noexcept {
  M* m = m_list_;
  polls = false;
  if (m) {
    m_list_ = m->rest.link;
    m->rest.link = nullptr;
    --n_ms_;
  } else if (poller_ && !poller_->rest.next_p) {
    m = poller_;
    polls = true;
  }
  if (m) {
    m->rest.next_p = &p;
    m->rest.next_searching = searching;
  }
  return m;
}

// policy/nudge.hpp says what for. sysmon, or the M before it sleeps again, undoes it: on the way to the G it would
// only cost time. The busy CPU is the waker's. sysmon sleeps again at once, so its own is as good as any; if it
// takes the P of a G that computes on, the busy one is that G's.
void idle_set::nudge(M& m, int busy_cpu) noexcept {
  if (busy_cpu == own_cpu && !this_is_sysmon) busy_cpu = ::sched_getcpu();
  const int slept_on = m.rest.last_cpu.load(std::memory_order_relaxed);
  if (busy_cpu < 0 || busy_cpu != slept_on) return;  // as a rule, and the kernel need not be asked
  const std::optional<cpu_set_t> all = threads_from_.cpus();
  const auto others = all ? kept_off(busy_cpu, slept_on, *all) : std::nullopt;
  if (others && ::sched_setaffinity(m.tid.load(std::memory_order_relaxed), sizeof *others, &*others) == 0)
    m.rest.nudged.store(true, std::memory_order_relaxed);
}

void idle_set::undo_nudge(M& m) const noexcept {
  if (!m.rest.nudged.load(std::memory_order_relaxed) ||
      !m.rest.nudged.exchange(false, std::memory_order_relaxed))
    return;
  if (const std::optional<cpu_set_t> all = threads_from_.cpus())
    (void)::sched_setaffinity(m.tid.load(std::memory_order_relaxed), sizeof *all, &*all);
}

// On its own thread. sysmon notes what it has done after it has done it: a note that this misses is found the
// next time.
void idle_set::be_prompt_again(M& m) noexcept {
  if (!m.rest.unhurried.load(std::memory_order_relaxed)) return;
  m.rest.unhurried.store(false, std::memory_order_relaxed);
  (void)set_promptness(0, promptness::at_once);
}

bool idle_set::start_m(P& p, bool searching, int busy_cpu) noexcept {
  wakes_.fetch_add(1, std::memory_order_relaxed);
  M* m = nullptr;
  bool polls = false;
  {
    lock_guard hold(lock_);
    m = claim_m(p, searching, polls);
    // That was the last one: another is to be made ready, by an M and not by sysmon (keep_spare).
    if (n_ms_ == 0 && home_.quarantine().any_guarded()) home_.threads().want_spare();
  }
  if (!m) {
    // At the limit, whoever is left over is asked again below.
    if (home_.new_thread(&p, searching, nullptr)) return true;
    lock_guard hold(lock_);
    m = claim_m(p, searching, polls);
    if (!m) {
      push_p(p);
      if (searching) searching_.fetch_sub(1, std::memory_order_seq_cst);
      return false;
    }
  }
  nudge(*m, busy_cpu);
  if (polls) {
    home_.polls().interrupt();
  } else {
    m->rest.event.signal();
  }
  return true;
}

// --- Searching --------------------------------------------------------------------------------------

bool idle_set::try_spin(M& m, int limit) noexcept {
  if (m.spinning) return true;
  int now = spinning();
  do {
    if (now >= limit) return false;
  } while (!spinning_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed));
  int most = most_spinning();
  while (now + 1 > most && !most_spinning_.compare_exchange_weak(most, now + 1, std::memory_order_relaxed)) {
  }
  m.spinning = true;
  if (!m.searching) begin_search(m);
  return true;
}

bool idle_set::stop_searching(M& m) noexcept {
  if (m.spinning) {
    m.spinning = false;
    spinning_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!m.searching) return false;
  m.searching = false;
  return searching_.fetch_sub(1, std::memory_order_seq_cst) == 1;
}

bool idle_set::any_queued() const noexcept {
  bool seen = queued_before_look() > 0;  // before the rings; pairs with note_size
  home_.ps().each([&](const P& p) { seen |= !p.ring.seen().empty(); });
  return seen;
}

bool idle_set::work_visible() const noexcept {
  return any_queued() || home_.ps().earliest_timer() != timer_heap::no_timer || home_.io_expected();
}

namespace {

// sysmon might come too late for it (h of polling.hpp).
bool due_before_next_watch(scheduler& s, std::int64_t timer) noexcept {
  return timer != timer_heap::no_timer &&
         timer <= now_ns() + 2 * sysmon_lag(s);  // without one no look at the clock
}

}  // namespace

void idle_set::pass_on(M& m) noexcept {
  if (!stop_searching(m)) return;
  barrier_before_look();
  const P* const own = m.p.load(std::memory_order_relaxed);
  std::int64_t timer = timer_heap::no_timer;
  home_.ps().each([&](const P& p) {
    if (&p != own) timer = std::min(timer, p.timers.next());
  });
  if (any_queued() || (own->network.shares() && home_.io_expected()) || due_before_next_watch(home_, timer))
    wake_one();
}

void idle_set::watch_the_rest(bool long_run) noexcept {
  if (idle_ps() == 0 || busy_ps() == 0 || home_.polls().waited_in()) return;
  std::int64_t first = timer_heap::no_timer;
  home_.ps().each([&](const P& p) {
    if (p.status.load(std::memory_order_relaxed) == p_status::idle) first = std::min(first, p.timers.next());
  });
  if (due_before_next_watch(home_, first) || (long_run && home_.io_expected())) wake_if_needed();
}

P* idle_set::last_look(M& m) noexcept {
  pause_point(pause_site::before_uncounting);
  stop_searching(m);
  barrier_before_look();
  if (!any_queued() && home_.ps().earliest_timer() > now_ns()) return nullptr;
  P* const back = take_p();
  if (back) begin_search(m);
  return back;
}

bool idle_set::begin_nap() noexcept {
  int others = napping_.load(std::memory_order_relaxed);
  do {
    if (!fetch_policy::may_nap(others, busy_ps())) return false;
  } while (!napping_.compare_exchange_weak(others, others + 1, std::memory_order_relaxed));
  return true;
}

}  // namespace leat::sched
