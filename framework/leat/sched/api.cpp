// SPDX-License-Identifier: BSL-1.0
//
// The thin layer between the user's calls and the scheduler, including what they mean on a thread that
// runs no G.
#include <sched.h>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <leat/base/log.hpp>
#include <leat/fiber/stack.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stack_use.hpp>
#include <leat/sched/stop_state.hpp>
#include <leat/sched/time.hpp>

namespace leat {
namespace sched {
namespace {

// The one under way, or null. An M knows its own: reading who is current costs as much as a switch when what
// was published before is still on its way to another core.
scheduler* scheduler_of(const entered& in) noexcept { return in.m ? &in.m->sched : scheduler::current(); }

scheduler& running_scheduler(const entered& in) {
  scheduler* const s = scheduler_of(in);
  if (!s) throw spawn_error("nothing can be spawned: no leat::run is under way in this program");
  return *s;
}

}  // namespace

M* enter_slow(M* m) noexcept { return scheduler::enter_slow(m); }
void plain_thread_enters() noexcept { scheduler::plain_thread_enters(); }
void plain_thread_leaves() noexcept { scheduler::plain_thread_leaves(); }

G* raise_shield() noexcept {
  M* const m = current_m();
  G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (g) g->shields.fetch_add(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return g;
}
void lower_shield(G& g) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  g.shields.fetch_sub(1, std::memory_order_relaxed);
}

// --- spawn ------------------------------------------------------------------------------------------

G& make_g(const spawn_options& o) {
  if (o.stack != 0 && (o.stack < fiber::min_stack_size || o.stack > fiber::max_stack_size))
    throw fiber::out_of_stacks({fiber::stack_errc::bad_size, o.stack, fiber::max_stack_size, 0});
  std::unique_ptr<overrun_watch> watch;
  if (o.guard) {
    watch = std::make_unique<overrun_watch>();
    watch->guard = o.guard;
  }
  entered in;
  scheduler& s = running_scheduler(in);
  if (!in.m && !s.admit_foreign_g())
    throw spawn_error("nothing can be spawned: main has returned, and the runtime is ending");
  G* const g = s.new_g(in.m);
  if (!g) {
    if (!in.m) s.dismiss_foreign_g();
    throw spawn_error("no memory for another G (" + std::to_string(s.live()) + " are alive)");
  }
  // Until start_g or free_g: the memory of the G stays, whatever the constructor of the closure does
  // meanwhile.
  if (!in.m) scheduler::plain_thread_enters();
  if (!o.name.empty()) g->set_name(o.name.data(), o.name.size());
  g->stack_pages = static_cast<std::uint16_t>((o.stack + stack_page - 1) / stack_page);
  if (o.thread) {
    g->extras |= g_own_thread;
    g->own = *o.thread;
  }
  if (o.stop) {
    g->extras |= g_has_stop_source;
    g->stop_with = o.stop->state();
    g->stop_with->add(*g);
  }
  if (o.guard) {
    g->watch.store(watch.release(), std::memory_order_relaxed);
    g->extras |= g_guarded;
    s.add_guarded(*g);
  }
  return *g;
}

void start_g(G& g) {
  {
    entered in;
    if (scheduler* const s = scheduler_of(in)) [[likely]] {
      s->submit(in.m, &g);
      if (!in.m) scheduler::plain_thread_leaves();
      return;
    }
  }
  // A plain thread that made its closure for longer than the runtime waits at its end.
  g.drop(g);
  free_g(g);
  throw spawn_error("the runtime ended before the G could be started");
}

void free_g(G& g) noexcept {
  // The user's exception is destroyed outside the runtime: its destructor may call us.
  std::exception_ptr failure;
  if (g.extras & g_failed) [[unlikely]]
    failure = std::move(g.failure);
  if (g.extras & g_has_stop_source) leave_stop_source(g);
  if (g.status.load(std::memory_order_relaxed) == g_status::quarantined) {
    // Its memory is never used again; from now on the runtime need not be kept for it.
    g.join.store(join_detached, std::memory_order_relaxed);
    return;
  }
  if (g.extras & g_guarded) scheduler::leave_guard(g);
  entered in;
  const bool never_submitted = !in.m && g.status.load(std::memory_order_relaxed) == g_status::idle;
  if (g.home == scheduler_of(in)) {
    g.home->recycle(in.m, &g);
    if (never_submitted) g.home->dismiss_foreign_g();
  } else {
    scheduler::recycle_late(g);
  }
  if (never_submitted) scheduler::plain_thread_leaves();  // see make_g
}

void report_escaped(G& g, std::exception_ptr e) noexcept {
  const auto report = [&g](const char* what) {
    log_error("sched", "G {} '{}' ended with an exception that nobody waits for: {}", g.id, g.name, what);
  };
  try {
    std::rethrow_exception(std::move(e));
  } catch (const std::exception& x) {
    report(x.what());
  } catch (...) {
    report("not a std::exception");
  }
}

void ask_to_stop(G& g) noexcept {
  entered in;
  if (g.home == scheduler::current()) g.home->stop(in.m, &g, stop_level::asked);
}

namespace {

struct join_wait : interruptible {
  G* joined;
  G* waiter;
  bool may_stop;
};

void wait_as_thread(G& g) noexcept {
  thread_event done;
  std::uintptr_t running = join_running;
  if (!g.join.compare_exchange_strong(running, reinterpret_cast<std::uintptr_t>(&done) | 1,
                                      std::memory_order_acq_rel, std::memory_order_acquire))
    return;
  while (!done.wait()) {
  }
}

}  // namespace

namespace {

join_result wait_for_end(G& g, bool may_stop) {
  if (is_done(g)) return join_result::ended;
  M* const here = current_m();
  if (!here || !here->cur.load(std::memory_order_relaxed)) {
    wait_as_thread(g);
    return join_result::ended;
  }
  M* m = scheduler::enter(here);
  G& me = *m->cur.load(std::memory_order_relaxed);
  join_wait w;
  w.joined = &g;
  w.waiter = &me;
  w.may_stop = may_stop;
  w.withdraw = [](interruptible& self) noexcept {
    auto& j = static_cast<join_wait&>(self);
    auto mine = reinterpret_cast<std::uintptr_t>(j.waiter);
    return j.joined->join.compare_exchange_strong(mine, join_running, std::memory_order_acq_rel);
  };
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
            // A stop that came before the word was set withdrew nothing. Settle it here: the word decides.
            if (!j.may_stop) return;
            light_barrier();
            if (j.waiter->stop.load(std::memory_order_relaxed) == stop_level::none) return;
            if (!j.joined->join.compare_exchange_strong(mine, join_running, std::memory_order_acq_rel))
              return;
          }
          on->sched.ready(on, j.waiter);
        },
        &w);
  }
  if (may_stop) end_wait(m->gate, me);
  scheduler::leave(m);
  if (is_done(g)) return join_result::ended;
  if (may_stop) throw_if_insisted(me);
  return join_result::stopped;
}

}  // namespace

join_result join_g(G& g, bool may_stop) {
  if (may_stop) return wait_for_end(g, true);
  // One that may not be stopped can still be woken by the tail of an earlier join that could.
  while (wait_for_end(g, false) != join_result::ended) {
  }
  return join_result::ended;
}

// --- sleep ------------------------------------------------------------------------------------------

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
    note_timer(when);
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
  note_timer(when);
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

sleep_result sleep_until(time_point when) {
  const std::int64_t at = when.time_since_epoch().count();
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

sleep_result sleep_for(nanoseconds d) { return sleep_until(deadline(d).at()); }

void yield() {
  sched::M* const here = sched::current_m();
  if (!here || !here->cur.load(std::memory_order_relaxed)) {
    ::sched_yield();
    return;
  }
  sched::M* m = sched::scheduler::enter(here);
  m = m->sched.yield(m);
  sched::G& g = *m->cur.load(std::memory_order_relaxed);
  sched::scheduler::leave(m);
  sched::throw_if_insisted(g);
}

// --- blocking ---------------------------------------------------------------------------------------

void sched::run_blocking(void (*fn)(void*), void* arg) {
  M* const here = current_m();
  if (!here || !here->cur.load(std::memory_order_relaxed)) return fn(arg);
  M* m = scheduler::enter(here);
  m = m->sched.call_blocking(m, fn, arg);
  scheduler::leave(m);
}

// --- info -------------------------------------------------------------------------------------------

self_info self() noexcept {
  sched::M* const m = sched::current_m();
  sched::G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (!g) return {};
  return {g->id, g->name};
}

runtime_stats stats() {
  const sched::entered in;
  sched::scheduler* const s = sched::scheduler::current();
  return s ? s->stats() : runtime_stats{};
}

std::string stack_use() {
  const sched::entered in;
  sched::scheduler* const s = sched::scheduler::current();
  return s && s->options().stack_census ? s->stack_census().report() : std::string();
}

void set_procs(unsigned n) {
  const sched::entered in;
  sched::scheduler* const s = sched::scheduler::current();
  if (!s) throw std::logic_error("set_procs: no leat::run is under way");
  s->set_procs(n);
}

void dump(int fd) noexcept {
  const sched::entered in;
  if (sched::scheduler* const s = sched::scheduler::current()) s->dump(fd);
}

keep_alive::keep_alive() {
  const sched::entered in;
  runtime_ = sched::scheduler::current();
  if (runtime_) runtime_->expect_foreign(1);
}
keep_alive::~keep_alive() {
  const sched::entered in;
  if (runtime_ && runtime_ == sched::scheduler::current()) runtime_->expect_foreign(-1);
}

}  // namespace leat
