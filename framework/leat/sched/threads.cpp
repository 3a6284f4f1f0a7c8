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
#include <leat/sched/fence.hpp>
#include <leat/sched/life.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/sysmon.hpp>
#include <leat/sched/thread_end.hpp>

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

// --- A G with a thread of its own ----------------------------------------------------------------------------

namespace {

void apply_own_thread(const G& g) noexcept {
  if (g.more.own.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(g.more.own.cpu), &set);
    if (const int e = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set))
      log_warning("sched", "'{}' cannot be pinned to CPU {}: {}", g.name, g.more.own.cpu, std::strerror(e));
  }
  if (g.more.own.priority > 0) {
    sched_param param{};
    param.sched_priority = g.more.own.priority;
    if (const int e = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &param))
      log_warning("sched",
                  "'{}' runs without real-time priority {}: {}; it needs CAP_SYS_NICE or a higher "
                  "RLIMIT_RTPRIO (LimitRTPRIO= under systemd)",
                  g.name, g.more.own.priority, std::strerror(e));
  }
}

// `m` has picked a G that runs on another thread: the P goes there, and this M sleeps.
void start_locked(M& m, G* g) noexcept {
  scheduler& s = m.sched;
  P& p = *m.p.load(std::memory_order_relaxed);
  m.p.store(nullptr, std::memory_order_relaxed);
  p.m.store(nullptr, std::memory_order_relaxed);
  p.events.add(event_kind::handed_off, g->id);
  M* own = g->more.locked_m;
  if (own) {
    s.idle().give_p(*own, p);
    return;
  }
  own = s.new_thread(&p, false, g);
  if (own) return;
  // No thread for it: it ends as a failed G would, and the P stays here.
  round::acquire_p(m, p);
  life::fail_to_start(
      m, *g, failure_of([] {
        throw spawn_error("no thread of its own: max_threads is reached, or the system refused one");
      }));
}

// The M of a locked G, without a P: waits until the G is picked somewhere and a P comes along.
void wait_locked(M& m) noexcept {
  scheduler& s = m.sched;
  for (;;) {
    if (s.is_done()) return;
    if (P* const p = s.idle().given_p(m)) {
      m.picked = m.locked_g;
      round::acquire_p(m, *p);
      return;
    }
    s.idle().be_prompt_again(m);
    m.rest.event.wait();
  }
}

}  // namespace

// --- Stacks --------------------------------------------------------------------------------------

namespace {

fiber::stack* stack_for(P& p, const G& g, fiber::stack_error& error) noexcept {
  if (g.stack_pages == 0) return p.stacks.acquire(error);
  return fiber::stack_pool::process_wide().acquire(fiber::room_for(g.stack_pages * stack_page), error);
}

}  // namespace

bool life::give_stack(M& m, G& g, fiber::stack_error* why) noexcept {
  fiber::stack_error error;
  fiber::stack* const s = stack_for(*m.p.load(std::memory_order_relaxed), g, error);
  if (!s && why) *why = error;
  if (!s) return false;
  if (m.sched.options().stack_census) fiber::census::begin(*s);
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

namespace {

// On g0, for the G in m.cur, which waits for it.
void run_call(M& m) noexcept {
  scheduler& s = m.sched;
  const g0_call call = m.call;
  m.call = {};
  G* const g = m.cur.load(std::memory_order_relaxed);
  P* p = m.p.load(std::memory_order_relaxed);
  // In a simulated world it holds up everybody: another M would make the order depend on how long it takes.
  const bool others = !s.simulated() && (!p->ring.empty() || p->run_next.load(std::memory_order_relaxed) ||
                                         s.idle().queued() > 0);
  s.gs_alive().add_without_p();
  m.old_p = p;
  if (others) {
    // A declared blocking call with work waiting: the P goes at once.
    p->events.add(event_kind::handed_off, g->id);
    m.p.store(nullptr, std::memory_order_relaxed);
    s.idle().hand_off_p(*p, idle_set::no_cpu);
  } else {
    // sysmon takes it through the gate in its next round (sysmon.hpp): after 20 us, or up to `lag` of a calm program.
    p->status.store(p_status::syscall, std::memory_order_relaxed);
  }
  m.caller.store(g, std::memory_order_relaxed);
  m.cur.store(nullptr, std::memory_order_relaxed);  // in there no G is current: Leat's calls block the thread
  m.gate.leave();
  call.fn(call.arg);
  if (!m.gate.enter() && m.gate.enter_slow() == retake_gate::entry::lost) p = nullptr;
  m.caller.store(nullptr, std::memory_order_relaxed);
  m.cur.store(g, std::memory_order_relaxed);
  if (s.is_done()) {
    m.p.store(nullptr, std::memory_order_relaxed);  // nobody need take it from us (take_last_p)
    wait_for_the_end();
  }
  if (m.p.load(std::memory_order_relaxed)) {
    p->status.store(p_status::running, std::memory_order_relaxed);
    p->turn.store(p->turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    s.gs_alive().remove_without_p();
  } else {
    // Back from the call: the old P, else any idle one, else the G queues and the M sleeps.
    P* const q = s.idle().take_p(m.old_p);
    if (!q) {
      m.cur.store(nullptr, std::memory_order_relaxed);
      g->become(g_status::runnable);
      s.idle().push(g);
      s.leave_without_p();
      return;
    }
    round::acquire_p(m, *q);
    s.gs_alive().remove_without_p();
  }
  g->become(g_status::running);
  fiber::switch_to(m, m.self, g->ctx);
}

}  // namespace

// --- Behind the fence (fence.hpp) -------------------------------------------------------------------

namespace {

// On the stack of a fenced G that comes in by itself: nothing of it is run or destroyed any more.
[[noreturn]] void end_fenced(M& m) noexcept {
  G& g = *m.cur.load(std::memory_order_relaxed);
  fiber::finish(
      m, g.ctx, m.self, [](void* arg) noexcept { life::back_from_fence(*static_cast<M*>(arg)); }, &m);
}

// On g0, without a P, when the thread of a fenced G is back. False: it must end, since it stays at the lowest
// priority.
bool take_back(M& m) noexcept {
  scheduler& s = m.sched;
  s.threads().take_back();
  m.hung.apart.store(false, std::memory_order_relaxed);
  return !m.hung.demoted.exchange(false, std::memory_order_relaxed) || leave_idle_class(m.hung.former);
}

// A P that is taken from a G that hangs needs a thread at once, and sysmon, which takes it, makes none: that
// would allocate. So while any G is guarded an M sees to it, now and then on g0, that one thread more is
// there than Ps; and some free Gs, since the successor needs one and the quarantined one keeps its own.
void keep_spare(scheduler& s) noexcept {
  if (!s.threads().take_wish_for_spare()) return;
  g_store::free_list some;
  s.gs().take(some, 1);
  s.gs().give_back(some);
  if (s.idle().any_m_sleeps() || s.threads().is_full() || s.is_done() || s.stopping()) return;
  s.threads().note_spare(s.new_thread(nullptr, false, nullptr) != nullptr);
}

}  // namespace

void life::back_from_fence(M& m) noexcept {
  G* const g = m.cur.load(std::memory_order_relaxed);
  m.cur.store(nullptr, std::memory_order_relaxed);
  m.yield_asked.store(M::nobody, std::memory_order_relaxed);
  if (m.locked_g) m.locked_over = true;
  g->watch.load(std::memory_order_relaxed)->fate.store(thread_fate::back, std::memory_order_relaxed);
  m.sched.quarantine().back();
}

M* life::rejoin(M* m) noexcept {
  scheduler& s = m->sched;
  if (is_fenced(*m->cur.load(std::memory_order_relaxed))) end_fenced(*m);
  m->yield_asked.store(M::nobody, std::memory_order_relaxed);
  s.idle().be_prompt_again(*m);
  if (s.is_done()) {
    // main itself, which computed for long before it returned: it ends without a P.
    if (m->cur.load(std::memory_order_relaxed) != s.main_g()) wait_for_the_end();
    s.gs_alive().remove_without_p();
    return m;
  }
  P* const q = s.idle().take_p(m->old_p);
  if (q) {
    round::acquire_p(*m, *q);
    s.gs_alive().remove_without_p();
    return m;
  }
  return round::requeue(m);  // takes itself out of without_p when it is queued
}

// --- The life of an M -------------------------------------------------------------------------------

namespace {

void run_g(M& m, G* g) noexcept {
  if (fiber::stack_error why; !g->ctx.stack && !life::give_stack(m, *g, &why))
    return life::fail_to_start(m, *g, failure_of([&] { throw fiber::out_of_stacks(why); }));
  P* const p = m.p.load(std::memory_order_relaxed);
  g->become(g_status::running);
  p->events.add(event_kind::run, g->id);
  m.cur.store(g, std::memory_order_relaxed);
  fiber::switch_to(m, m.self, g->ctx);
  while (m.call.fn) run_call(m);
}

void g0_loop(M& m) noexcept {
  scheduler& s = m.sched;
  for (;;) {
    if (s.threads().wants_spare()) [[unlikely]]
      keep_spare(s);
    if (!m.p.load(std::memory_order_relaxed)) {
      if (m.hung.apart.load(std::memory_order_relaxed) && !take_back(m)) return;
      if (m.locked_over) return;
      if (m.locked_g) {
        wait_locked(m);
        if (!m.p.load(std::memory_order_relaxed)) return;
      } else if (!round::sleep(m)) {
        return;
      }
      // One that was woken for that does it before it runs a G, which may take long.
      if (s.threads().wants_spare()) [[unlikely]]
        keep_spare(s);
    }
    G* g = m.locked_g;
    if (g) {
      // The locked G parked or ended: the P is of no use here until it is ready again.
      if (m.locked_over || m.picked != g) {
        P& p = *m.p.load(std::memory_order_relaxed);
        m.p.store(nullptr, std::memory_order_relaxed);
        s.idle().hand_off_p(p, idle_set::no_cpu);
        if (m.locked_over) return;
        continue;
      }
      m.picked = nullptr;
    } else {
      g = round::find_runnable(m);
      if (!g) continue;
      if (g->wants_own_thread()) {
        start_locked(m, g);
        continue;
      }
    }
    run_g(m, g);
  }
}

void is_over(M& m) noexcept { m.sched.threads().end(m); }

void* thread_main(void* arg) {
  M& m = *static_cast<M*>(arg);
  // The runtime has ended without it, and nobody will join it (shut_down_threads).
  if (pthread_t none{}; !m.handle.compare_exchange_strong(none, ::pthread_self(), std::memory_order_relaxed))
    (void)::pthread_detach(::pthread_self());
  scheduler& s = m.sched;
  const bool says_so_later = call_at_end_of_thread(m, is_over);
  m.attach();
  fiber::thread_slot::store(static_cast<m_front*>(&m));
  fiber::signal_stack alternate;
  unblock_quarantine_signal();
  m.tid.store(static_cast<pid_t>(::syscall(SYS_gettid)), std::memory_order_relaxed);
  char name[16];
  std::snprintf(name, sizeof name, "leat-m");
  (void)::pthread_setname_np(::pthread_self(), name);
  // Sleeps end when asked, not up to 50 us later.
  (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  s.idle().threads_from().settle_here();
  (void)make_prompt();  // whoever started it may be unhurried
  if (m.locked_g) apply_own_thread(*m.locked_g);
  P* const p = m.rest.next_p;
  m.rest.next_p = nullptr;
  m.searching = m.rest.next_searching;
  m.rest.last_cpu.store(::sched_getcpu(), std::memory_order_relaxed);
  if (p) round::acquire_p(m, *p);  // none: a spare
  g0_loop(m);
  fiber::thread_slot::store(nullptr);
  if (!says_so_later) is_over(m);
  return nullptr;
}

}  // namespace

M* scheduler::new_thread(P* p, bool searching, G* locked) noexcept {
  if (is_done() || (!locked && threads_.starter().pauses())) return nullptr;
  lift_before_thread();
  // Made first: under a spinlock nothing is allocated.
  auto fresh = std::unique_ptr<M>(new (std::nothrow) M(*this));
  if (!fresh || !fresh->locks) {
    threads_.starter().refused(ENOMEM);
    return nullptr;
  }
  pthread_t old{};
  M* const m = threads_.begin(std::move(fresh), old, coarse_now());
  if (!m) return nullptr;
  constexpr std::int64_t soon = 2'000'000;
  if (old != pthread_t{}) join_within(old, soon);
  m->asked.under_way.store(0, std::memory_order_relaxed);  // one for the thread before has gone with it
  m->rest.unhurried.store(false, std::memory_order_relaxed);
  m->rest.nudged.store(false, std::memory_order_relaxed);
  m->picked = locked;
  m->rest.next_p = p;
  m->rest.next_searching = searching;
  m->locked_g = locked;
  m->locked_over = false;
  if (locked) locked->more.locked_m = m;
  m->random = m->id * 2654435761u + 1;
  try {
    m->loot.resize(options_.run_queue);
  } catch (const std::bad_alloc&) {
    m->loot.clear();
  }
  int e = ENOMEM;
  if (!m->loot.empty())
    e = threads_.starter().start(thread_main, m);
  else
    threads_.starter().refused(e);
  if (e == 0) return m;  // it notes its handle itself, and may have ended by now
  if (locked) locked->more.locked_m = nullptr;
  threads_.end(*m);
  if (const unsigned others = threads_.live(); others > 0)
    threads_.starter().tell_once(e, others);  // else run throws
  return nullptr;
}

}  // namespace leat::sched
