// SPDX-License-Identifier: BSL-1.0
//
// The life of an M, and what makes it lose its P: blocking calls, retaking, threads of their own.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <leat/base/check.hpp>
#include <leat/base/clock.hpp>
#include <leat/base/log.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::sched {

namespace {

// What f throws, or bad_alloc when there is no memory for it.
template <class F>
std::exception_ptr failure_of(F f) noexcept {
  try {
    f();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

// The runtime was left without the G on this thread; what it refers to may be gone. It never runs again.
[[noreturn]] void wait_for_the_end() noexcept {
  for (;;) ::pause();
}

}  // namespace

// Starts a thread for the P, or for the locked G with the P. Null: at the limit, or the system refused.
M* scheduler::new_thread(P* p, bool searching, G* locked) noexcept {
  // Made first: under the spinlock nothing is allocated. The list has room for all.
  auto fresh = std::unique_ptr<M>(new (std::nothrow) M(*this));
  if (!fresh || !fresh->locks) return nullptr;
  M* m = nullptr;
  pthread_t old{};
  {
    lock_guard hold(lock_);
    if (done_.load(std::memory_order_relaxed)) return nullptr;
    if (live_ms_ >= options_.max_threads) {
      std::int64_t never = 0;
      (void)thread_limit_hit_.compare_exchange_strong(never, coarse_now(), std::memory_order_relaxed);
    } else {
      ++live_ms_;
      if ((m = ended_m_list_)) {
        ended_m_list_ = m->idle_link;
      } else {
        m = fresh.get();
        m->id = static_cast<unsigned>(ms_.size());
        ms_.push_back(std::move(fresh));
        n_ms_.store(static_cast<unsigned>(ms_.size()), std::memory_order_release);  // pairs with each_m
      }
      // From here on shut_down_threads waits for it.
      m->exited.store(false, std::memory_order_relaxed);
      old = m->handle.exchange(pthread_t{}, std::memory_order_relaxed);
    }
  }
  if (!m) return nullptr;
  if (old != pthread_t{}) (void)::pthread_join(old, nullptr);
  m->idle_link = nullptr;
  m->asked.under_way.store(0, std::memory_order_relaxed);  // one for the thread before has gone with it
  m->unhurried.store(false, std::memory_order_relaxed);
  m->picked = locked;
  m->next_p = p;
  m->next_searching = searching;
  m->locked_g = locked;
  m->locked_over = false;
  if (locked) locked->locked_m = m;
  m->random = m->id * 2654435761u + 1;
  try {
    m->loot.resize(options_.run_queue);
  } catch (const std::bad_alloc&) {
    m->loot.clear();
  }
  pthread_t handle{};
  const int e = m->loot.empty() ? ENOMEM : ::pthread_create(&handle, nullptr, thread_main, m);
  if (e == 0) return m;  // it notes its handle itself, and may have ended by now
  if (locked) locked->locked_m = nullptr;
  thread_ended(*m);
  log_error("sched", "no new thread for a P: {}", std::strerror(e));
  return nullptr;
}

void scheduler::thread_ended(M& m) noexcept {
  lock_guard hold(lock_);
  m.exited.store(true, std::memory_order_release);  // with the count: whom stats leaves out has made room
  m.idle_link = ended_m_list_;
  ended_m_list_ = &m;
  --live_ms_;
}

void* scheduler::thread_main(void* arg) {
  M& m = *static_cast<M*>(arg);
  m.handle.store(::pthread_self(), std::memory_order_relaxed);
  scheduler& s = m.sched;
  m.attach();
  fiber::thread_slot::store(&m);
  fiber::signal_stack alternate;
  unblock_quarantine_signal();
  m.tid.store(static_cast<pid_t>(::syscall(SYS_gettid)), std::memory_order_relaxed);
  char name[16];
  std::snprintf(name, sizeof name, "leat-m");
  (void)::pthread_setname_np(::pthread_self(), name);
  // Sleeps end when asked, not up to 50 us later.
  (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  (void)make_prompt();  // whoever started it may be unhurried
  if (!s.options_.cpus.empty()) {
    if (const int e = ::pthread_setaffinity_np(::pthread_self(), sizeof s.cpus_, &s.cpus_))
      log_warning("sched", "cpus: the kernel refused the affinity: {}", std::strerror(e));
  }
  if (m.locked_g) s.apply_own_thread(*m.locked_g);
  P* const p = m.next_p;
  m.next_p = nullptr;
  m.searching = m.next_searching;
  m.last_cpu.store(::sched_getcpu(), std::memory_order_relaxed);
  s.acquire_p(m, *p);
  s.g0_loop(m);
  fiber::thread_slot::store(nullptr);
  s.thread_ended(m);
  return nullptr;
}

void scheduler::g0_loop(M& m) noexcept {
  for (;;) {
    if (!m.p.load(std::memory_order_relaxed)) {
      if (m.locked_g) {
        wait_locked(m);
        if (!m.p.load(std::memory_order_relaxed)) return;
      } else if (!sleep_m(m)) {
        return;
      }
    }
    G* g = m.locked_g;
    if (g) {
      // The locked G parked or ended: the P is of no use here until it is ready again.
      if (m.locked_over || m.picked != g) {
        P& p = *m.p.load(std::memory_order_relaxed);
        m.p.store(nullptr, std::memory_order_relaxed);
        hand_off_p(p);
        if (m.locked_over) return;
        continue;
      }
      m.picked = nullptr;
    } else {
      g = find_runnable(m);
      if (!g) continue;
      if (g->wants_own_thread()) {
        start_locked(m, g);
        continue;
      }
    }
    run_g(m, g);
  }
}

void scheduler::run_g(M& m, G* g) noexcept {
  if (!g->ctx.stack && !give_stack(m, *g)) {
    // Asked again for the reason; it may work by now, which is as good.
    fiber::stack_error error;
    P& p = *m.p.load(std::memory_order_relaxed);
    fiber::stack* const s = stack_for(p, *g, error);
    if (!s) return fail_to_start(m, *g, failure_of([&] { throw fiber::out_of_stacks(error); }));
    s->region().give(s, s, 1);
    return run_g(m, g);
  }
  P* const p = m.p.load(std::memory_order_relaxed);
  g->become(g_status::running);
  p->events.add(event_kind::run, g->id);
  m.cur.store(g, std::memory_order_relaxed);
  fiber::switch_to(m, m.self, g->ctx);
  while (m.call.fn) run_call(m);
}

fiber::stack* scheduler::stack_for(P& p, const G& g, fiber::stack_error& error) noexcept {
  return g.stack_pages == 0 ? p.stacks.acquire(error)
                            : fiber::stack_pool::process_wide().acquire(g.stack_pages * stack_page, error);
}

// A G's stack is chosen at its first run, so that many spawned Gs share few warm stacks. False: there is
// none; nothing has changed.
bool scheduler::give_stack(M& m, G& g) noexcept {
  fiber::stack_error error;
  fiber::stack* const s = stack_for(*m.p.load(std::memory_order_relaxed), g, error);
  if (!s) return false;
  if (options_.stack_census) fiber::census::begin(*s);
  s->set_label(g.label());
  fiber::prepare(g.ctx, *s, g_main, &g, g.ctx.fp);
  return true;
}

// --- Blocking calls ---------------------------------------------------------------------------------

M* scheduler::call_blocking(M* m, void (*fn)(void*), void* arg) noexcept {
  G& g = *m->cur.load(std::memory_order_relaxed);
  g.since.store(coarse_now(), std::memory_order_relaxed);
  g.become(g_status::syscall);
  m->call = {fn, arg};
  fiber::switch_to(*m, g.ctx, m->self);
  return static_cast<M*>(g.ctx.on);
}

// On g0, for the G in m.cur, which waits for it.
void scheduler::run_call(M& m) noexcept {
  const g0_call call = m.call;
  m.call = {};
  G* const g = m.cur.load(std::memory_order_relaxed);
  P* p = m.p.load(std::memory_order_relaxed);
  const bool others = !p->ring.empty() || p->run_next.load(std::memory_order_relaxed) ||
                      global_size_.load(std::memory_order_relaxed) > 0;
  without_p_.fetch_add(1, std::memory_order_relaxed);
  m.old_p = p;
  if (others) {
    // Scenario 10, declared: the P goes at once.
    p->events.add(event_kind::handed_off, g->id);
    m.p.store(nullptr, std::memory_order_relaxed);
    hand_off_p(*p);
  } else {
    // sysmon takes it after a tick, through the gate.
    p->status.store(p_status::syscall, std::memory_order_relaxed);
  }
  m.caller.store(g, std::memory_order_relaxed);
  m.cur.store(nullptr, std::memory_order_relaxed);  // in there no G is current: Leat's calls block the thread
  m.gate.leave();
  call.fn(call.arg);
  if (!m.gate.enter() && m.gate.enter_slow() == retake_gate::entry::lost) p = nullptr;
  m.caller.store(nullptr, std::memory_order_relaxed);
  m.cur.store(g, std::memory_order_relaxed);
  if (done_.load(std::memory_order_acquire)) {
    m.p.store(nullptr, std::memory_order_relaxed);  // nobody need take it from us (take_last_p)
    wait_for_the_end();
  }
  if (m.p.load(std::memory_order_relaxed)) {
    p->status.store(p_status::running, std::memory_order_relaxed);
    p->turn.store(p->turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    without_p_.fetch_sub(1, std::memory_order_seq_cst);
  } else {
    // Scenario 11: the old P, else any idle one, else the G queues and the M sleeps.
    P* q = nullptr;
    {
      lock_guard hold(lock_);
      q = pop_idle_p_locked(m.old_p);
      if (!q) q = pop_idle_p_locked();
    }
    if (!q) {
      m.cur.store(nullptr, std::memory_order_relaxed);
      g->become(g_status::runnable);
      push_global(g);
      without_p_.fetch_sub(1, std::memory_order_seq_cst);
      return;
    }
    acquire_p(m, *q);
    without_p_.fetch_sub(1, std::memory_order_seq_cst);
  }
  g->become(g_status::running);
  fiber::switch_to(m, m.self, g->ctx);
}

// A G comes back into the runtime and its P is gone (scenario 11 for the undeclared call).
M* scheduler::rejoin(M* m) noexcept {
  m->yield_asked.store(false, std::memory_order_relaxed);
  be_prompt_again(*m);
  if (done_.load(std::memory_order_acquire)) {
    // main itself, which computed for long before it returned: it ends without a P.
    if (m->cur.load(std::memory_order_relaxed) != main_g_) wait_for_the_end();
    without_p_.fetch_sub(1, std::memory_order_seq_cst);
    return m;
  }
  P* q = nullptr;
  {
    lock_guard hold(lock_);
    q = pop_idle_p_locked(m->old_p);
    if (!q) q = pop_idle_p_locked();
  }
  if (q) {
    acquire_p(*m, *q);
    without_p_.fetch_sub(1, std::memory_order_seq_cst);
    return m;
  }
  return requeue(m);  // takes itself out of without_p_ when it is queued
}

// --- A thread of its own ----------------------------------------------------------------------------

void scheduler::apply_own_thread(const G& g) const noexcept {
  if (g.own.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(g.own.cpu), &set);
    if (const int e = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set))
      log_warning("sched", "'{}' cannot be pinned to CPU {}: {}", g.name, g.own.cpu, std::strerror(e));
  }
  if (g.own.priority > 0) {
    sched_param param{};
    param.sched_priority = g.own.priority;
    if (const int e = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &param))
      log_warning("sched",
                  "'{}' runs without real-time priority {}: {}; it needs CAP_SYS_NICE or a higher "
                  "RLIMIT_RTPRIO (LimitRTPRIO= under systemd)",
                  g.name, g.own.priority, std::strerror(e));
  }
}

// `m` has picked a G that runs on another thread: the P goes there, and this M sleeps.
void scheduler::start_locked(M& m, G* g) noexcept {
  P& p = *m.p.load(std::memory_order_relaxed);
  m.p.store(nullptr, std::memory_order_relaxed);
  p.m.store(nullptr, std::memory_order_relaxed);
  p.events.add(event_kind::handed_off, g->id);
  M* own = g->locked_m;
  if (own) {
    {
      lock_guard hold(lock_);
      own->next_p = &p;
    }
    own->event.signal();
    return;
  }
  own = new_thread(&p, false, g);
  if (own) return;
  // No thread for it: it ends as a failed G would, and the P stays here.
  acquire_p(m, p);
  fail_to_start(
      m, *g, failure_of([] {
        throw spawn_error("no thread of its own: max_threads is reached, or the system refused one");
      }));
}

// The M of a locked G, without a P: waits until the G is picked somewhere and a P comes along.
void scheduler::wait_locked(M& m) noexcept {
  for (;;) {
    {
      lock_guard hold(lock_);
      if (done_.load(std::memory_order_relaxed)) return;
      if (P* p = m.next_p) {
        m.next_p = nullptr;
        m.picked = m.locked_g;
        acquire_p(m, *p);
        return;
      }
    }
    be_prompt_again(m);
    m.event.wait();
  }
}

}  // namespace leat::sched
