// SPDX-License-Identifier: BSL-1.0
//
// Sleeping and waking: steps b, f and 4 of the protocol in scheduler.hpp, and who watches the clock.
//
// While Ps are idle, one M (the poller) blocks in the poller until the earliest timer of all Ps; the
// others sleep on their events. A timer that is added later with an earlier deadline ends that wait:
//
//   adder                                    poller M
//    1 publishes the heap's earliest (S)      a poll_until_ = its guess of the earliest (S)
//    2 reads poll_until_ (S), and             b computes the earliest again; sooner than the guess:
//      interrupts if it is later                does not sleep
//
// (S) are seq_cst: one of the two sees the other. The adder's own P is busy, so what is added there is
// normally run by its owner; step 2 matters when that owner then computes for long or goes idle.
#include <sched.h>
#include <algorithm>

#include <leat/base/check.hpp>
#include <leat/base/clock.hpp>
#include <leat/base/log.hpp>
#include <leat/sched/pause_point.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/sysmon.hpp>

namespace leat::sched {
namespace {

constexpr std::uint32_t burst = 32;  // Gs in a ring

}  // namespace

void scheduler::push_idle_p_locked(P& p) noexcept {
  // Nobody looks into the run_next of an idle P.
  if (G* g = p.run_next.load(std::memory_order_relaxed)) [[unlikely]] {
    p.run_next.store(nullptr, std::memory_order_relaxed);
    global_.push(g);
    note_global_size_locked();
  }
  end_burst(p);
  busy_ps_.fetch_sub(1, std::memory_order_seq_cst);
  // Asked to retire meanwhile. With Gs in its ring it must be found by an M first, which empties it.
  if (p.retire.load(std::memory_order_relaxed) && p.ring.empty()) {
    p.status.store(p_status::stopped, std::memory_order_relaxed);
    return;
  }
  p.status.store(p_status::idle, std::memory_order_relaxed);
  p.idle_link = idle_p_list_;
  idle_p_list_ = &p;
  idle_ps_.fetch_add(1, std::memory_order_seq_cst);
}

P* scheduler::pop_idle_p_locked(P* preferred) noexcept {
  for (P** at = &idle_p_list_; *at; at = &(*at)->idle_link) {
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

void scheduler::acquire_p(M& m, P& p) noexcept {
  p.status.store(p_status::running, std::memory_order_relaxed);
  p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  m.p.store(&p, std::memory_order_relaxed);
  p.m.store(&m, std::memory_order_release);  // pairs with sysmon and steal_run_next
  // After busy_ps_ + 1 (pop_idle_p_locked); sysmon writes the flag and then reads busy_ps_.
  if (sysmon_deep_.load(std::memory_order_seq_cst)) [[unlikely]]
    sysmon_event_.signal();
}

void scheduler::release_p(M& m) noexcept {
  P& p = *m.p.load(std::memory_order_relaxed);
  p.m.store(nullptr, std::memory_order_relaxed);
  m.p.store(nullptr, std::memory_order_relaxed);
  lock_guard hold(lock_);
  push_idle_p_locked(p);
}

void scheduler::wake_if_needed(int busy_cpu) noexcept {
  full_barrier();
  if (idle_ps_.load(std::memory_order_relaxed) == 0 || searching_.load(std::memory_order_relaxed) != 0)
    return;
  pause_point(pause_place::before_waking);
  wake_one(busy_cpu);
}

void scheduler::wake_after_push(P& p) noexcept {
  if (!p.bursting) {
    if (p.ring.size_for_owner() > burst) {
      p.bursting = true;
      bursting_.fetch_add(1, std::memory_order_seq_cst);
    }
    return wake_if_needed();
  }
  light_barrier();
  if (idle_ps_.load(std::memory_order_relaxed) != 0 && searching_.load(std::memory_order_relaxed) == 0)
    wake_one();
}

void scheduler::end_burst(P& p) noexcept {
  if (!p.bursting) return;
  p.bursting = false;
  bursting_.fetch_sub(1, std::memory_order_seq_cst);
}

void scheduler::barrier_before_look() const noexcept {
  full_barrier();
  if (bursting_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    heavy_barrier();
}

void scheduler::wake_one(int busy_cpu) noexcept {
  // An M that stands back (steal.cpp) has found the queued Gs too short to be fetched, and looks again within
  // a millisecond. Where all CPUs have an M already, each further one would only find out the same. If it
  // then finds a long G elsewhere, what is left here waits for the end of a slice, as it does with fewer Ps.
  if (napping_.load(std::memory_order_relaxed) > 0 &&
      busy_ps_.load(std::memory_order_relaxed) >= CPU_COUNT(&cpus_))
    return;
  for (;;) {
    int none = 0;
    if (!searching_.compare_exchange_strong(none, 1, std::memory_order_seq_cst)) return;
    P* p = nullptr;
    {
      lock_guard hold(lock_);
      p = pop_idle_p_locked();
    }
    if (p) {
      (void)start_m(*p, true, busy_cpu);
      return;
    }
    pause_point(pause_place::searched_in_vain);
    // All Ps are at work. A submitter that saw our 1 in searching_ relied on us in vain, and a P may have
    // become idle since: look again on its behalf.
    searching_.fetch_sub(1, std::memory_order_seq_cst);
    barrier_before_look();
    if (idle_ps_.load(std::memory_order_relaxed) == 0 || !work_visible(nullptr, true)) return;
  }
}

// The M to be woken for a P, if there is one: off its list, the P assigned.
M* scheduler::claim_m_locked(P& p, bool searching, bool& polls) noexcept {
  M* m = idle_m_list_;
  polls = false;
  if (m) {
    idle_m_list_ = m->idle_link;
    m->idle_link = nullptr;
    --idle_ms_;
  } else if (poller_m_ && !poller_m_->next_p) {
    m = poller_m_;
    polls = true;
  }
  if (m) {
    m->next_p = &p;
    m->next_searching = searching;
  }
  return m;
}

// Kernels that see no shared cache (small boards, virtual machines) wake a thread on the CPU where it slept
// even if the waker is busy there and others are idle: it then runs when the waker is done, which is too
// late. So an M that slept on the busy CPU is kept off it for this wake. It sleeps, so nothing has to be
// moved. sysmon, or the M before it sleeps again, undoes it: on the way to the G it would only cost time.
// The busy CPU is the waker's. sysmon sleeps again at once, so its own is as good as any; if it takes the P
// of a G that computes on, the busy one is that G's.
void scheduler::nudge(M& m, int busy_cpu) noexcept {
  if (busy_cpu == own_cpu && !this_is_sysmon) busy_cpu = ::sched_getcpu();
  if (busy_cpu < 0 || m.last_cpu.load(std::memory_order_relaxed) != busy_cpu ||
      !CPU_ISSET(static_cast<unsigned>(busy_cpu), &cpus_))
    return;
  cpu_set_t others = cpus_;
  CPU_CLR(static_cast<unsigned>(busy_cpu), &others);
  if (CPU_COUNT(&others) == 0) return;
  if (::sched_setaffinity(m.tid.load(std::memory_order_relaxed), sizeof others, &others) == 0)
    m.nudged.store(true, std::memory_order_relaxed);
}

void scheduler::undo_nudge(M& m) const noexcept {
  if (m.nudged.load(std::memory_order_relaxed) && m.nudged.exchange(false, std::memory_order_relaxed))
    (void)::sched_setaffinity(m.tid.load(std::memory_order_relaxed), sizeof cpus_, &cpus_);
}

// On its own thread. sysmon notes what it has done after it has done it: a note that this misses is found the
// next time.
void scheduler::be_prompt_again(M& m) noexcept {
  if (!m.unhurried.load(std::memory_order_relaxed)) return;
  m.unhurried.store(false, std::memory_order_relaxed);
  (void)set_promptness(0, promptness::at_once);
}

// Finds or makes an M for the P, which is on no list. With `searching` the caller has counted it in
// searching_. False: there is none to be had; the P is idle, the count undone. Whoever sleeps next looks
// once more (sleep_m).
bool scheduler::start_m(P& p, bool searching, int busy_cpu) noexcept {
  wakes_.fetch_add(1, std::memory_order_relaxed);
  M* m = nullptr;
  bool polls = false;
  {
    lock_guard hold(lock_);
    m = claim_m_locked(p, searching, polls);
  }
  if (!m) {
    if (new_thread(&p, searching, nullptr)) return true;
    lock_guard hold(lock_);
    m = claim_m_locked(p, searching, polls);
    if (!m) {
      push_idle_p_locked(p);
      if (searching) searching_.fetch_sub(1, std::memory_order_seq_cst);
      return false;
    }
  }
  nudge(*m, busy_cpu);
  if (polls) {
    network().interrupt();
  } else {
    m->event.signal();
  }
  return true;
}

// A P whose M cannot use it goes to another one that can, or to the idle list.
void scheduler::hand_off_p(P& p, int busy_cpu) noexcept {
  p.m.store(nullptr, std::memory_order_relaxed);
  if (p.retire.load(std::memory_order_acquire) || !p.ring.empty() ||
      p.run_next.load(std::memory_order_relaxed) || global_size_.load(std::memory_order_relaxed) > 0) {
    (void)start_m(p, false, busy_cpu);
    return;
  }
  {
    lock_guard hold(lock_);
    push_idle_p_locked(p);
  }
  // Steps d and e on behalf of the P; and somebody must watch its timers.
  barrier_before_look();
  if (work_visible(nullptr, true)) wake_if_needed(busy_cpu);
  const std::int64_t due = p.timers.next();
  if (due != timer_heap::no_timer) note_timer(due);
}

void scheduler::note_timer(std::int64_t when) noexcept {
  const std::int64_t until = poll_until_.load(std::memory_order_seq_cst);
  if (until == 0) return;  // nobody polls: the Ms that run will see it, or the one that polls next
  if (when < until) network().interrupt();
}

// The M holds no P. Returns with one, or false when the thread shall end.
bool scheduler::sleep_m(M& m) noexcept {
  for (;;) {
    pause_point(pause_place::before_sleep);
    undo_nudge(m);
    be_prompt_again(m);
    m.last_cpu.store(::sched_getcpu(), std::memory_order_relaxed);
    bool polls = false;
    {
      lock_guard hold(lock_);
      if (done_.load(std::memory_order_acquire)) return false;
      // Somebody may have failed to start a thread for a P with work while this M was on its way here.
      bool work = !global_.empty();
      each_p([&](const P& p) { work |= !p.ring.empty(); });
      if (P* p = work ? pop_idle_p_locked() : nullptr) {
        m.searching = true;
        searching_.fetch_add(1, std::memory_order_seq_cst);
        acquire_p(m, *p);
        return true;
      }
      if (!poller_m_ && idle_ps_.load(std::memory_order_relaxed) > 0) {
        poller_m_ = &m;
        polls = true;
      } else {
        m.idle_link = idle_m_list_;
        idle_m_list_ = &m;
        ++idle_ms_;
      }
    }
    if (polls) {
      wait_as_poller(m);
    } else {
      m.event.wait();
    }
    m.last_cpu.store(::sched_getcpu(), std::memory_order_relaxed);
    P* p = nullptr;
    {
      lock_guard hold(lock_);
      if (polls) poller_m_ = nullptr;
      p = m.next_p;
      m.next_p = nullptr;
      if (p) {
        m.searching = m.next_searching;
      } else if (polls && !done_.load(std::memory_order_relaxed)) {
        p = pop_idle_p_locked();
      } else if (!polls) {
        // A signal without a P: at the end, or a stale one. Off the list again, if still on it.
        for (M** at = &idle_m_list_; *at; at = &(*at)->idle_link) {
          if (*at != &m) continue;
          *at = m.idle_link;
          --idle_ms_;
          break;
        }
      }
      if (p && !m.searching) {
        m.searching = true;
        searching_.fetch_add(1, std::memory_order_seq_cst);
      }
    }
    if (!p) {
      // All Ps are at work, and will find them.
      while (G* const g = m.polled.pop_front()) push_global(g);
      continue;
    }
    acquire_p(m, *p);
    p->events.add(event_kind::woken, 0, 0, m.id);
    begin_stretch(*p);
    (void)take_polled(m, *p);
    return true;
  }
}

void scheduler::wait_as_poller(M& m) noexcept {
  const std::int64_t guess = earliest_timer();
  poll_until_.store(guess, std::memory_order_seq_cst);  // a
  if (earliest_timer() >= guess) {                      // b
    m.collects = true;
    network().wait(guess);
    m.collects = false;
  }
  poll_until_.store(0, std::memory_order_seq_cst);
  coarse_now_.store(now_ns(), std::memory_order_relaxed);
}

// A server with many connections gets Gs from the network in batches and runs each for a few microseconds,
// less than another M takes to wake up. Sharing them out costs a quarter of the throughput and makes single
// requests late; not sharing them leaves some waiting behind one that computes. So a P counts how long its
// Gs run from one look at the network to the next: if that was often long on average, it wakes others for
// what the next looks bring, and for the looking itself. What is queued behind the first long one, sysmon
// sees to.
void scheduler::begin_stretch(P& p) noexcept {
  p.stretch_since = now_ns();
  p.stretch_switches = p.count.parks.load(std::memory_order_relaxed) +
                       p.count.finished.load(std::memory_order_relaxed) +
                       p.count.yields.load(std::memory_order_relaxed);
}

void scheduler::judge_stretch(P& p) noexcept {
  constexpr std::int64_t long_run = 20'000;  // about what a wake costs
  const std::int64_t since = p.stretch_since;
  const std::uint64_t before = p.stretch_switches;
  begin_stretch(p);
  const std::uint64_t ran = std::max<std::uint64_t>(p.stretch_switches - before, 1);
  if (p.long_stretches > 0) --p.long_stretches;
  if (p.stretch_since - since > long_run * static_cast<std::int64_t>(ran))
    p.long_stretches = std::min(p.long_stretches + P::long_stretch, P::most_long_stretches);
}

// On g0, with a P.
void scheduler::poll(M& m) noexcept {
  last_poll_.store(coarse_now(), std::memory_order_relaxed);
  judge_stretch(*m.p.load(std::memory_order_relaxed));
  m.collects = true;
  network().poll();
  m.collects = false;
}

// What polling has readied goes to the ring of the P that the M holds by now. False: nothing.
bool scheduler::take_polled(M& m, P& p) noexcept {
  G* g = m.polled.pop_front();
  if (!g) return false;
  bool more = false;
  for (; g; g = m.polled.pop_front()) {
    bump(p.count.readies);
    p.events.add(event_kind::readied, g->id);
    more |= !m.polled.empty();
    if (!p.ring.push(g)) push_local(p, g, queued_as::woken);  // by way of the global queue
  }
  if (more && p.shares_polled() && p.shared.load(std::memory_order_relaxed)) wake_if_needed();
  return true;
}

}  // namespace leat::sched
