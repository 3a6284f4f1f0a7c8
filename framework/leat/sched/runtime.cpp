// SPDX-License-Identifier: BSL-1.0
//
// The life of a runtime: made, run, and taken down.
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include <leat/base/check.hpp>
#include <leat/base/clock.hpp>
#include <leat/base/log.hpp>
#include <leat/base/log_aside.hpp>
#include <leat/base/units.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/crash.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/overrun_watch.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/report.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/sysmon.hpp>
#include <leat/sched/thread_end.hpp>
#include <leat/sched/time.hpp>
#include <leat/sched/world.hpp>

namespace leat::sched {

namespace {

std::exception_ptr no_thread_at_all(int error) {
  return std::make_exception_ptr(
      std::system_error(error, std::generic_category(),
                        "leat::run needs a thread beside the one that calls it, and the system refuses it; " +
                            thread_start::what_to_raise()));
}

const runtime_options& checked(const runtime_options& o) {
  if (const std::string wrong = check_options(o); !wrong.empty()) throw std::invalid_argument(wrong);
  return o;
}

}  // namespace

scheduler::scheduler(const runtime_options& options)
    : options_(checked(options)),
      world_(world::take_next()),
      idle_(*this, options.cpus),
      threads_(options.max_threads, options.max_quarantined) {
  prepare_barriers();
  report_crashes();
  prepare_quarantine();
  unsigned n = options_.procs.value_or(0);
  if (n == 0) {
    const auto chosen = auto_procs();
    n = std::min(chosen.procs, options_.max_threads);
    log_debug("sched", "procs = auto: {} ({})", n, chosen.why);
  }
  fiber::stack_error error;
  default_stacks_ = fiber::stack_pool::process_wide().region_for(fiber::room_for(options_.stack), error);
  if (!default_stacks_) throw fiber::out_of_stacks(error);
  coarse_clock.store(now_ns(), std::memory_order_relaxed);
  for (unsigned i = 0; i < n; ++i) {
    auto made = std::make_unique<P>(i, options_.run_queue, n > 1);
    made->stacks.bind(*default_stacks_);
    P& p = *made;
    ps_.add(std::move(made));
    idle_.add_p(p);
  }
  ps_.want(n);
}

scheduler::~scheduler() = default;

bool scheduler::run(G* main_g) {
  main_g_ = main_g;
  const prompt_thread prompt;
  const world_clock time(world_);
  if (world_) coarse_clock.store(now_ns(), std::memory_order_relaxed);
  (void)admit_foreign_g();
  submit(nullptr, main_g);
  if (start_first_thread()) {
    sysmon watch(*this);
    watch.run();  // until done_
  } else {
    const int e = threads_.starter().last_error();
    give_up_main(no_thread_at_all(e != 0 ? e : ENOMEM));
  }
  time.stop();  // threads are waited for in real time
  return shut_down_threads();
}

// Without any thread nothing would ever run, and nobody would be there to say so. Threads that have just
// ended elsewhere may count against a limit for a moment longer, so this asks for a second.
bool scheduler::start_first_thread() noexcept {
  constexpr std::int64_t patience = 1'000'000'000;
  const std::int64_t until = real_now_ns() + patience;
  for (;;) {
    if (threads_.live() > 0 || is_done()) return true;
    if (real_now_ns() >= until) return false;
    ::usleep(2'000);
    idle_.wake_if_needed();
  }
}

void scheduler::fail_main(std::exception_ptr why) noexcept {
  main_failure_ = std::move(why);
  done_.store(true, std::memory_order_seq_cst);
  for_sysmon_.call();
}

// The main G was queued, and no thread has come for it.
void scheduler::give_up_main(std::exception_ptr why) noexcept {
  done_.store(true, std::memory_order_seq_cst);
  idle_.drop_all();
  main_failure_ = std::move(why);
  gs_alive_.end_foreign();
  main_g_->become(g_status::dead);
  recycle(nullptr, main_g_);
}

// --- The end ----------------------------------------------------------------------------------------

namespace {

bool is_left(const scheduler& s, const G& g) noexcept {
  const g_status is = g.status.load(std::memory_order_relaxed);
  return &g != s.main_g() && is != g_status::idle && is != g_status::dead && is != g_status::quarantined;
}

// It may end meanwhile: what is read may be mixed from before and after.
LEAT_UNWATCHED void report_left(const G& g) noexcept {
  char name[sizeof g.name] = {};
  for (std::size_t i = 0; i + 1 < sizeof name && g.name[i]; ++i) name[i] = g.name[i];
  const std::uint64_t id = g.id;
  const g_status is = g.status.load(std::memory_order_relaxed);
  log_warning("sched", "  G {} '{}': {} {}", id, static_cast<const char*>(name), to_string(is),
              is == g_status::waiting ? to_string(g.reason.load(std::memory_order_relaxed)) : "");
}

void stop_all(scheduler& s, stop_level level) noexcept {
  M* const m = scheduler::enter(current_m());
  s.gs().each([&](G& g) {
    if (is_left(s, g)) s.stop(m, &g, level);
  });
  scheduler::leave(m);
}

// On the main G: until it is the only one left. Ends are not announced, so this looks now and then.
void wait_for_others(scheduler& s, std::int64_t until) {
  std::int64_t nap = 20'000;
  for (int i = 0; i < 50 && s.live() > 1; ++i) leat::yield();
  while (s.live() > 1 && now_ns() < until) {
    (void)s.sleep_until(std::min(now_ns() + nap, until));
    nap = std::min<std::int64_t>(nap * 2, 2'000'000);
  }
}

}  // namespace

void scheduler::expect_foreign(int by) noexcept {
  gs_alive_.expect_foreign(by);
  if (by < 0) for_sysmon_.call();
}

void scheduler::leave_without_p() noexcept {
  gs_alive_.remove_without_p();
  if (for_sysmon_.sleeps_until() != 0) for_sysmon_.call();
}

void scheduler::end_from_main() {
  {
    // With the lock: a plain thread's G is counted in live() by now, or refused.
    lock_guard hold(ending_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  main_g_->stop.store(stop_level::none, std::memory_order_relaxed);
  if (live() > 1) {
    stop_all(*this, stop_level::asked);
    wait_for_others(*this, to_ns(saturating_add(now(), options_.grace)));
  }
  if (live() > 1) {
    stop_all(*this, stop_level::insisted);
    wait_for_others(*this, to_ns(saturating_add(now(), options_.grace)));
  }
  if (live() > 1) {
    const std::size_t left = live() - 1;
    log_warning("sched", "{} {} did not end within twice the grace of {} after main had returned:", left,
                left == 1 ? "G" : "Gs", format_duration(options_.grace));
    gs_.each([&](G& g) {
      if (is_left(*this, g)) report_left(g);
    });
  }
  if (const unsigned n = counts_.quarantined(); n > 0)
    log_warning("sched", "{} quarantined Gs are left: {} threads run on behind a fence, {} stand still", n,
                counts_.fenced(), counts_.frozen());
  done_.store(true, std::memory_order_seq_cst);
  for_sysmon_.call();
}

namespace {

// From an M that seems to be in user code for good. Should it come back, it finds its P gone, and stops
// (rejoin): no G runs on beside a runtime that has ended. False: it has ended meanwhile.
bool take_last_p(M& m) noexcept {
  while (!m.exited.load(std::memory_order_acquire)) {
    // Without a P it cannot come by one any more: it stands in user code, in a blocking call, or stopped.
    if (!m.p.load(std::memory_order_relaxed)) return true;
    // One that goes in and out can be inside each time we ask. Then the request makes it give way at its next
    // entry, and g0 ends the thread.
    m.yield_asked.store(M::anybody, std::memory_order_relaxed);
    if (m.gate.try_borrow()) {
      if (P* p = m.p.exchange(nullptr, std::memory_order_relaxed)) {
        p->m.store(nullptr, std::memory_order_relaxed);
        m.sched.gs_alive().add_without_p();
      }
      m.gate.keep();
      return true;
    }
    ::usleep(50);
  }
  return false;
}

}  // namespace

// On the calling thread. True: every thread has ended.
bool scheduler::shut_down_threads() noexcept {
  const std::int64_t until =
      to_ns(saturating_add(now(), std::max<nanoseconds>(options_.grace, std::chrono::milliseconds(50))));
  bool all = true;
  threads_.close();
  while (for_sysmon_.dumps() && now_ns() < until) ::usleep(50);
  if (for_sysmon_.dumps()) all = false;
  threads_.each([&](M& m) {
    if (m.hung.apart.load(std::memory_order_relaxed)) {
      (void)::pthread_detach(m.handle);
      all = false;
      return;
    }
    while (!m.exited.load(std::memory_order_acquire)) {
      m.rest.event.signal();
      polls_.network().interrupt();
      // One that runs a G without a P, or in a blocking call, is not waited for.
      if (now_ns() > until) break;
      ::usleep(50);
    }
    if (!take_last_p(m)) {
      constexpr std::int64_t soon = 1'000'000'000;  // it has little left to do, and needs a CPU for that
      if (m.handle != pthread_t{}) join_within(m.handle, soon);
    } else {
      // None: it has not begun yet, and finds the handle of this thread instead (thread_main).
      if (const pthread_t its = m.handle.exchange(::pthread_self(), std::memory_order_relaxed);
          its != pthread_t{})
        (void)::pthread_detach(its);
      all = false;
    }
  });
  return all;
}

namespace {

struct main_call {
  void (*fn)(void*);
  void* arg;
};

void dump_current(int fd, void* s) {
  dump(*static_cast<scheduler*>(s), fd, {.patience_ms = dump_of_sysmon.patience_ms});
}

// SIGQUIT: all Gs, then the program goes on. The handler that was there before is put back at the end.
class quit_report {
 public:
  quit_report() {
    struct sigaction ours = {};
    ours.sa_handler = [](int) {
      const int saved = errno;
      if (scheduler* s = scheduler::current()) s->for_sysmon().ask_for_dump();
      errno = saved;
    };
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGQUIT, &ours, &earlier_);
  }
  ~quit_report() { ::sigaction(SIGQUIT, &earlier_, nullptr); }
  quit_report(const quit_report&) = delete;
  quit_report& operator=(const quit_report&) = delete;

 private:
  struct sigaction earlier_ = {};
};

}  // namespace

void run_main(const runtime_options& options, void (*fn)(void*), void* arg) {
  if (current_m()) throw std::logic_error("leat::run was called from inside a runtime; spawn a G instead");
  auto s = std::make_unique<scheduler>(options);
  if (!current_scheduler::set(*s))
    throw std::logic_error("leat::run: another runtime is running in this program");
  use_installed_poller(*s);
  main_call c{fn, arg};
  G* const g = s->new_g(nullptr);
  LEAT_CHECK(g, "no memory for the first G");
  g->set_name("main", 4);
  new (g->closure) main_call(c);
  g->join.store(join_detached, std::memory_order_relaxed);
  g->body = [](G& self) {
    auto& call = *reinterpret_cast<main_call*>(self.closure);
    call.fn(call.arg);
    if (self.extras & g_has_locals) destroy_locals(self);
    scheduler::current()->end_from_main();
  };
  bool all_ended = false;
  {
    quit_report on_quit;
    note_signals();
    add_last_words(dump_current, s.get());
    all_ended = s->run(g);
    (void)leat::detail::wait_for_log_aside(1000);  // what sysmon and hosts said last
    remove_last_words(dump_current, s.get());
  }
  current_scheduler::clear();
  const std::exception_ptr failure = s->main_failure();
  if (all_ended) {
    scheduler::leave_behind(std::move(s));
  } else {
    scheduler::keep_for_good(std::move(s));
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace leat::sched
