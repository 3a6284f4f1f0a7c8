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
#include <leat/sched/info.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop_state.hpp>
#include <leat/sched/time.hpp>

namespace leat {
namespace sched {
namespace {

// The calling G's M inside the runtime, or null on any other thread. Leaves at the end of its scope.
class entered {
 public:
  entered() noexcept {
    M* const here = current_m();
    if (here && !here->in_call && here->cur.load(std::memory_order_relaxed)) m = scheduler::enter(here);
  }
  ~entered() {
    if (m) scheduler::leave(m);
  }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;

  G& g() const noexcept { return *m->cur.load(std::memory_order_relaxed); }
  M* m = nullptr;
};

void throw_if_insisted(const G& g) {
  if (g.stop.load(std::memory_order_relaxed) == stop_level::insisted) throw stopped{};
}

scheduler& running_scheduler() {
  scheduler* const s = scheduler::current();
  if (!s) throw spawn_error("nothing can be spawned: no leat::run is under way in this program");
  return *s;
}

}  // namespace

// --- spawn ------------------------------------------------------------------------------------------

G& make_g(const spawn_options& o) {
  scheduler& s = running_scheduler();
  if (o.stack != 0 && (o.stack < fiber::min_stack_size || o.stack > fiber::max_stack_size))
    throw fiber::out_of_stacks({fiber::stack_errc::bad_size, o.stack, fiber::max_stack_size, 0});
  entered in;
  G* const g = s.new_g(in.m);
  if (!g) throw spawn_error("no memory for another G (" + std::to_string(s.live()) + " are alive)");
  if (!o.name.empty()) g->set_name(o.name.data(), o.name.size());
  g->stack_size = static_cast<std::uint32_t>(o.stack);
  if (o.thread) {
    g->wants_own_thread = true;
    g->own = *o.thread;
  }
  if (o.stop) {
    g->stop_with = o.stop->state();
    if (g->stop_with->add(*g)) g->stop.store(stop_level::asked, std::memory_order_relaxed);
  }
  return *g;
}

void start_g(G& g) noexcept {
  entered in;
  scheduler::current()->submit(in.m, &g);
}

void free_g(G& g) noexcept {
  entered in;
  if (g.stop_with) leave_stop_source(g);
  if (scheduler* s = scheduler::current()) s->recycle(in.m, &g);
}

void report_escaped(G& g, std::exception_ptr e) noexcept {
  const char* what = "an exception that is no std::exception";
  std::string text;
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    text = x.what();
    what = text.c_str();
  } catch (...) {
  }
  log_error("sched", "G {} '{}' ended with an exception that nobody waits for: {}", g.id, g.name, what);
}

bool is_done(const G& g) noexcept { return g.join.load(std::memory_order_acquire) == join_done; }

void ask_to_stop(G& g) noexcept {
  entered in;
  if (scheduler* s = scheduler::current()) s->stop(in.m, &g, stop_level::asked);
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

join_result join_g(G& g, bool may_stop) {
  if (is_done(g)) return join_result::ended;
  M* const here = current_m();
  if (!here || here->in_call || !here->cur.load(std::memory_order_relaxed)) {
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
  if (!may_stop || begin_wait(me, w)) {
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
  if (may_stop) end_wait(me);
  scheduler::leave(m);
  if (is_done(g)) return join_result::ended;
  throw_if_insisted(me);
  return join_result::stopped;
}

// --- sleep ------------------------------------------------------------------------------------------

namespace {

struct nap_wait : interruptible {
  timer* t;
};

void unlock_timers(void* arg) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  static_cast<timer_heap*>(arg)->lock().unlock();
}

}  // namespace

bool scheduler::sleep_until(std::int64_t when) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  M* m = enter(current_m());
  G& g = *m->cur.load(std::memory_order_relaxed);
  nap_wait w;
  w.t = &g.nap;
  w.withdraw = [](interruptible& self) noexcept {
    timer& t = *static_cast<nap_wait&>(self).t;
    lock_guard hold(t.home->lock());
    return t.home->remove_locked(t);
  };
  timer_heap& heap = m->p.load(std::memory_order_relaxed)->timers;
  g.nap.when = when;
  g.nap.g = &g;
  g.nap.home = &heap;
  if (begin_wait(g, w)) {
    // Held through the switch: nobody readies the G before it has left its stack.
    heap.lock().lock();
    if (g.stop.load(std::memory_order_relaxed) != stop_level::none) {
      // A stop looked for the timer, under this lock, before it was there.
      heap.lock().unlock();
    } else {
      try {
        heap.add_locked(g.nap);
      } catch (...) {
        heap.lock().unlock();
        end_wait(g);
        leave(m);
        throw;
      }
      note_timer(when);
      m = park(m, wait_reason::sleep, unlock_timers, &heap);
    }
  }
  end_wait(g);
  leave(m);
  throw_if_insisted(g);
  return g.stop.load(std::memory_order_relaxed) == stop_level::none;
}

}  // namespace sched

sleep_result sleep_until(time_point when) {
  const std::int64_t at = when.time_since_epoch().count();
  sched::M* const m = sched::current_m();
  if (m && !m->in_call && m->cur.load(std::memory_order_relaxed))
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
  if (!here || here->in_call || !here->cur.load(std::memory_order_relaxed)) {
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
  if (!here || here->in_call || !here->cur.load(std::memory_order_relaxed)) return fn(arg);
  M* m = scheduler::enter(here);
  m = m->sched.call_blocking(m, fn, arg);
  scheduler::leave(m);
}

// --- info -------------------------------------------------------------------------------------------

self_info self() noexcept {
  sched::M* const m = sched::current_m();
  sched::G* const g = m && !m->in_call ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (!g) return {};
  return {g->id, g->name};
}

runtime_stats stats() {
  sched::scheduler* const s = sched::scheduler::current();
  return s ? s->stats() : runtime_stats{};
}

void set_procs(unsigned n) {
  sched::scheduler* const s = sched::scheduler::current();
  if (!s) throw std::logic_error("set_procs: no leat::run is under way");
  sched::entered in;
  s->set_procs(n);
}

void dump(int fd) noexcept {
  if (sched::scheduler* const s = sched::scheduler::current()) s->dump(fd);
}

keep_alive::keep_alive() : runtime_(sched::scheduler::current()) {
  if (runtime_) runtime_->expect_foreign(1);
}
keep_alive::~keep_alive() {
  if (runtime_ && runtime_ == sched::scheduler::current()) runtime_->expect_foreign(-1);
}

}  // namespace leat
