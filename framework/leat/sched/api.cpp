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
#include <leat/sched/life.hpp>
#include <leat/sched/overrun_watch.hpp>
#include <leat/sched/report.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stack_use.hpp>
#include <leat/sched/stop_state.hpp>
#include <leat/sched/sysmon.hpp>
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

m_front* enter_slow(m_front* m) noexcept { return scheduler::enter_slow(whole(m)); }
void plain_thread_enters() noexcept { current_scheduler::plain_thread_enters(); }
void plain_thread_leaves() noexcept { current_scheduler::plain_thread_leaves(); }

void pass_gate() noexcept {
  if (M* const m = current_m(); m && m->cur.load(std::memory_order_relaxed))
    scheduler::leave(scheduler::enter(m));
}

unfenced::unfenced() noexcept {
  M* const m = current_m();
  if (m && m->cur.load(std::memory_order_relaxed) && !m->gate.in_runtime()) m_ = scheduler::enter(m);
}
unfenced::~unfenced() {
  if (m_) scheduler::leave(m_);
}

// Through the gate: a G that is being fenced raises none behind sysmon's back (fence.hpp, c).
G* begin_no_quarantine() noexcept {
  G* const g = current_g();
  if (!g) return nullptr;
  const unfenced in;
  count_no_quarantine(*g, 1);
  return g;
}
G* begin_look() noexcept {
  M* m = current_m();
  G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (!g) return nullptr;
  const bool outside = !m->gate.in_runtime();
  if (outside) m = scheduler::pass(m);
  count_no_quarantine(*g, 1);
  if (outside) scheduler::leave(m);
  return g;
}
void end_no_quarantine(G& g) noexcept { count_no_quarantine(g, -1); }
// What counts itself before sysmon raises come_in is seen; what reads it before and counts itself after has
// used CPU time or entered the kernel when sysmon looks (fence.hpp, 2).
G* begin_lasting_no_quarantine() noexcept {
  M* const m = current_m();
  G* const g = m && !m->gate.in_runtime() ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (!g) return nullptr;
  if (must_come_in()) return begin_no_quarantine();
  count_no_quarantine(*g, 1);
  return g;
}

// --- spawn ------------------------------------------------------------------------------------------

G& make_g(const spawn_options& o) {
  if (o.stack != 0 && (o.stack < fiber::min_stack_size || o.stack > fiber::max_stack_size))
    throw fiber::out_of_stacks({fiber::stack_errc::bad_size, o.stack, fiber::max_stack_size, 0});
  std::unique_ptr<overrun_watch> watch;
  if (o.guard) watch = overrun_watch::with(o.guard);
  entered in;
  scheduler& s = running_scheduler(in);
  if (!in.m && !s.admit_foreign_g())
    throw spawn_error("nothing can be spawned: main has returned, and the runtime is ending");
  G* const g = s.new_g(whole(in.m));
  if (!g) {
    if (!in.m) s.gs_alive().end_foreign();
    throw spawn_error("no memory for another G (" + std::to_string(s.live()) + " are alive)");
  }
  // Until start_g or free_g: the memory of the G stays, whatever the constructor of the closure does
  // meanwhile.
  if (!in.m) current_scheduler::plain_thread_enters();
  if (!o.name.empty()) g->set_name(o.name.data(), o.name.size());
  g->stack_pages = static_cast<std::uint16_t>((o.stack + stack_page - 1) / stack_page);
  if (o.thread && !s.simulated()) {  // a simulated world has one thread
    g->extras |= g_own_thread;
    g->more.own = *o.thread;
  }
  if (o.stop) {
    g->extras |= g_has_stop_source;
    g->more.stop_with = o.stop->state();
    g->more.stop_key.store(g->more.stop_with.get(), std::memory_order_relaxed);
    g->more.stop_with->add(*g);
  }
  if (o.guard) {
    g->watch.store(watch.release(), std::memory_order_relaxed);
    g->extras |= g_guarded;
    life::add_guarded(*g);
  }
  return *g;
}

void start_g(G& g) {
  {
    entered in;
    if (scheduler* const s = scheduler_of(in)) [[likely]] {
      s->submit(whole(in.m), &g);
      if (!in.m) current_scheduler::plain_thread_leaves();
      return;
    }
  }
  // A plain thread that made its closure for longer than the runtime waits at its end.
  g.drop(g);
  free_g(g);
  throw spawn_error("the runtime ended before the G could be started");
}

void free_g(G& g) noexcept {
  // Its memory is never used again.
  if (g.status.load(std::memory_order_relaxed) == g_status::quarantined) return;
  // The user's exception is destroyed outside the runtime: its destructor may call us.
  std::exception_ptr failure;
  if (g.extras & g_failed) [[unlikely]]
    failure = std::move(g.more.failure);
  if (g.extras & g_has_stop_source) leave_stop_source(g);
  if (g.extras & g_guarded) life::leave_guard(g);
  entered in;
  const bool never_submitted = !in.m && g.status.load(std::memory_order_relaxed) == g_status::idle;
  if (g.home == scheduler_of(in)) {
    g.home->recycle(whole(in.m), &g);
    if (never_submitted) g.home->gs_alive().end_foreign();
  } else {
    scheduler::recycle_late(g);
  }
  if (never_submitted) current_scheduler::plain_thread_leaves();  // see make_g
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
  if (g.home == scheduler::current()) g.home->stop(whole(in.m), &g, stop_level::asked);
}

}  // namespace sched

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
  const sched::G* const g = sched::current_g();
  if (!g) return {};
  return {g->id, g->name};
}

// Inside the runtime nothing is allocated: somebody who hangs may have the heap locked, and who waits for it in there
// keeps its P.
runtime_stats stats() {
  runtime_stats all;
  for (std::size_t room = 16;;) {
    all.local_lengths.clear();
    all.local_lengths.reserve(room);
    {
      const sched::entered in;
      const sched::scheduler* const s = sched::scheduler::current();
      if (!s) return {};
      room = sched::read_stats(*s, all);
    }
    if (room <= all.local_lengths.size()) return all;
  }
}

namespace {

// The scheduler stays in being while it lives, and the caller outside of it: for what allocates. A G needs nothing for that.
class beside_runtime {
 public:
  beside_runtime() noexcept {
    if (plain_thread_) sched::plain_thread_enters();
  }
  ~beside_runtime() {
    if (plain_thread_) sched::plain_thread_leaves();
  }
  beside_runtime(const beside_runtime&) = delete;
  beside_runtime& operator=(const beside_runtime&) = delete;

 private:
  const bool plain_thread_ = sched::current_g() == nullptr;
};

}  // namespace

std::string stack_use() {
  const beside_runtime stays;
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
  if (sched::scheduler* const s = sched::scheduler::current())
    sched::dump(*s, fd, sched::this_is_sysmon ? sched::dump_of_sysmon : sched::dump_style{});
}

void dump_in_full(int fd) noexcept {
  const sched::entered in;
  if (sched::scheduler* const s = sched::scheduler::current())
    sched::dump(*s, fd, {.names = sched::frame_names::demangled});
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
