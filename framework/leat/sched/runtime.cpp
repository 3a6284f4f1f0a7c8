// SPDX-License-Identifier: BSL-1.0
//
// The life of a runtime: made, run, and taken down.
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

#include <leat/base/check.hpp>
#include <leat/base/clock.hpp>
#include <leat/base/log.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/crash.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/overrun_watch.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/sysmon.hpp>
#include <leat/sched/time.hpp>

namespace leat::sched {

std::atomic<scheduler*> scheduler::current_{nullptr};
std::atomic<bool> scheduler::taken_{false};
std::atomic<int> scheduler::plain_threads_[2];
std::atomic<unsigned> scheduler::entering_in_{0};

namespace {

struct plain_visit {
  unsigned depth = 0;
  unsigned half = 0;  // of plain_threads_
};
thread_local constinit plain_visit visit;

}  // namespace

// Not inlined: where a G may be, the address of a thread_local must not be kept (fiber/thread_slot.hpp).
[[gnu::noinline]] void scheduler::plain_thread_enters() noexcept {
  if (visit.depth++ == 0) {
    visit.half = entering_in_.load(std::memory_order_relaxed);
    plain_threads_[visit.half].fetch_add(1, std::memory_order_seq_cst);
  }
  // While nobody else keeps the time: what it wakes has been blocked until now, not until sysmon fell asleep.
  const scheduler* const s = current();
  if (!s || s->sysmon_deep_.load(std::memory_order_relaxed))
    coarse_now_.store(now_ns(), std::memory_order_relaxed);
}

[[gnu::noinline]] void scheduler::plain_thread_leaves() noexcept {
  // Release pairs with make_none_current.
  if (--visit.depth == 0) plain_threads_[visit.half].fetch_sub(1, std::memory_order_release);
}

void scheduler::make_none_current() noexcept {
  // A plain thread counts itself and then reads current_; we clear that and then read the counts. One half
  // after the other: while we wait for one, those who come count in the other and cannot keep us here; and
  // one that chose its half long ago may be in either.
  current_.store(nullptr, std::memory_order_seq_cst);
  for (int halves = 0; halves < 2; ++halves) {
    const unsigned old = entering_in_.load(std::memory_order_relaxed);
    entering_in_.store(old ^ 1, std::memory_order_relaxed);
    while (plain_threads_[old].load(std::memory_order_seq_cst) != 0) ::usleep(20);
  }
  taken_.store(false, std::memory_order_release);
}

scheduler::scheduler(const runtime_options& options)
    : options_(options),
      poller_(&own_poller_),
      ps_(std::make_unique<std::atomic<P*>[]>(runtime_options::max_procs)),
      chunks_(std::make_unique<std::atomic<G*>[]>(max_chunks)) {
  if (const std::string wrong = check_options(options_); !wrong.empty()) throw std::invalid_argument(wrong);
  prepare_barriers();
  report_crashes();
  prepare_quarantine();
  unsigned n = options_.procs.value_or(0);
  if (n == 0) {
    const auto chosen = auto_procs();
    n = std::min(chosen.procs, options_.max_threads);
    log_debug("sched", "procs = auto: {} ({})", n, chosen.why);
  }
  CPU_ZERO(&cpus_);
  if (options_.cpus.empty()) {
    (void)::sched_getaffinity(0, sizeof cpus_, &cpus_);
  } else {
    for (const unsigned cpu : options_.cpus) CPU_SET(cpu, &cpus_);
  }
  fiber::stack_error error;
  default_stacks_ = fiber::stack_pool::process_wide().region_for(options_.stack, error);
  if (!default_stacks_) throw fiber::out_of_stacks(error);
  coarse_now_.store(now_ns(), std::memory_order_relaxed);
  lock_guard hold(lock_);
  ms_.reserve(std::size_t{options_.max_threads} + options_.max_quarantined);  // frozen ones stay in the list
  for (unsigned i = 0; i < n; ++i) {
    P* const p = new P(i, options_.run_queue, n > 1);
    p->stacks.bind(*default_stacks_);
    ps_[i].store(p, std::memory_order_release);
    busy_ps_.fetch_add(1, std::memory_order_relaxed);
    push_idle_p_locked(*p);
  }
  all_ps_.store(n, std::memory_order_release);
  procs_.store(n, std::memory_order_relaxed);
}

scheduler::~scheduler() {
  each_p([](P& p) {
    while (p.free_gs.pop()) {
    }
    delete &p;
  });
  {
    lock_guard hold(pool_lock_);
    while (pool_.pop()) {
    }
  }
  const std::size_t n = n_chunks_.load(std::memory_order_acquire);
  for (std::size_t c = 0; c < n; ++c) {
    G* const gs = chunks_[c].load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < chunk_gs; ++i) {
      delete gs[i].watch.load(std::memory_order_relaxed);  // of a quarantined one
      gs[i].~G();
    }
    ::operator delete (gs, std::align_val_t{alignof(G)});
  }
}

std::uint64_t scheduler::live() const noexcept {
  // Ends before beginnings: a G counted as ended is then counted as begun too.
  std::uint64_t ended = foreign_finished_.load(std::memory_order_acquire);
  each_p([&](const P& p) {
    ended += p.count.finished.load(std::memory_order_acquire);
  });  // pairs with publish_end
  std::uint64_t begun = foreign_spawned_.load(std::memory_order_relaxed);
  each_p([&](const P& p) { begun += p.count.spawned.load(std::memory_order_relaxed); });
  return begun > ended ? begun - ended : 0;
}

bool scheduler::run(G* main_g) {
  main_g_ = main_g;
  const prompt_thread prompt;
  (void)admit_foreign_g();
  submit(nullptr, main_g);
  sysmon watch(*this);
  watch.run();  // until done_
  return shut_down_threads();
}

// --- The end ----------------------------------------------------------------------------------------

void scheduler::stop_all(stop_level level) noexcept {
  M* const m = enter(current_m());
  each_g([&](G& g) {
    const g_status s = g.status.load(std::memory_order_relaxed);
    if (&g == main_g_ || s == g_status::idle || s == g_status::dead || s == g_status::quarantined) return;
    stop(m, &g, level);
  });
  leave(m);
}

// On the main G: until it is the only one left. Ends are not announced, so this looks now and then.
void scheduler::wait_for_others(std::int64_t until) {
  std::int64_t nap = 20'000;
  for (int i = 0; i < 50 && live() > 1; ++i) leat::yield();
  while (live() > 1 && now_ns() < until) {
    (void)sleep_until(std::min(now_ns() + nap, until));
    nap = std::min<std::int64_t>(nap * 2, 2'000'000);
  }
}

void scheduler::end_from_main() {
  {
    // With the lock: a plain thread's G is counted in live() by now, or refused.
    lock_guard hold(lock_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  main_g_->stop.store(stop_level::none, std::memory_order_relaxed);
  const std::int64_t grace = options_.grace.count();
  if (live() > 1) {
    stop_all(stop_level::asked);
    wait_for_others(now_ns() + grace);
  }
  if (live() > 1) {
    stop_all(stop_level::insisted);
    wait_for_others(now_ns() + grace);
  }
  if (live() > 1) {
    log_warning("sched",
                "{} Gs did not end within twice the grace of {} ms after main had returned:", live() - 1,
                grace / 1'000'000);
    each_g([&](G& g) {
      const g_status s = g.status.load(std::memory_order_relaxed);
      if (&g == main_g_ || s == g_status::idle || s == g_status::dead || s == g_status::quarantined) return;
      log_warning("sched", "  G {} '{}': {} {}", g.id, g.name, to_string(s),
                  s == g_status::waiting ? to_string(g.reason.load(std::memory_order_relaxed)) : "");
    });
  }
  if (const unsigned n = quarantined_.load(std::memory_order_relaxed); n > 0)
    log_warning("sched", "{} quarantined Gs are left, {} of them with a thread that stands still", n,
                frozen_.load(std::memory_order_relaxed));
  done_.store(true, std::memory_order_seq_cst);
  sysmon_event_.signal();
}

// On the calling thread. True: every thread has ended.
bool scheduler::shut_down_threads() noexcept {
  const std::int64_t until = now_ns() + std::max<std::int64_t>(options_.grace.count(), 50'000'000);
  bool all = true;
  // The list only grows, and not any more: new_thread refuses once done_ is set.
  std::vector<M*> ms;
  {
    lock_guard hold(lock_);
    for (auto& m : ms_) ms.push_back(m.get());
  }
  for (M* m : ms) {
    if (m->frozen.load(std::memory_order_relaxed)) {
      ::pthread_detach(m->handle);
      all = false;
      continue;
    }
    while (!m->exited.load(std::memory_order_acquire)) {
      m->event.signal();
      network().interrupt();
      // One that runs a G without a P, or in a blocking call, is not waited for.
      if (now_ns() > until) break;
      ::usleep(50);
    }
    if (!take_last_p(*m)) {
      if (m->handle != pthread_t{}) (void)::pthread_join(m->handle, nullptr);
    } else {
      if (m->handle != pthread_t{}) (void)::pthread_detach(m->handle);  // none: it has not begun yet
      all = false;
    }
  }
  return all;
}

// From an M that seems to be in user code for good. Should it come back, it finds its P gone, and stops
// (rejoin): no G runs on beside a runtime that has ended. False: it has ended meanwhile.
bool scheduler::take_last_p(M& m) noexcept {
  while (!m.exited.load(std::memory_order_acquire)) {
    // Without a P it cannot come by one any more: it stands in user code, in a blocking call, or stopped.
    if (!m.p.load(std::memory_order_relaxed)) return true;
    // One that goes in and out can be inside each time we ask. Then the request makes it give way at its next
    // entry, and g0 ends the thread.
    m.yield_asked.store(true, std::memory_order_relaxed);
    if (m.gate.try_borrow()) {
      if (P* p = m.p.exchange(nullptr, std::memory_order_relaxed)) {
        p->m.store(nullptr, std::memory_order_relaxed);
        without_p_.fetch_add(1, std::memory_order_relaxed);
      }
      m.gate.keep();
      return true;
    }
    ::usleep(50);
  }
  return false;
}

bool scheduler::all_gs_free() const noexcept {
  bool all = true;
  each_g([&](const G& g) {
    const g_status s = g.status.load(std::memory_order_relaxed);
    // A quarantined one is free when no task handle refers to it any more.
    all &= s == g_status::idle ||
           (s == g_status::quarantined && g.join.load(std::memory_order_relaxed) == join_detached);
  });
  return all;
}

namespace {

struct main_call {
  void (*fn)(void*);
  void* arg;
};

void dump_current(int fd, void* s) { static_cast<scheduler*>(s)->dump(fd); }

// SIGQUIT: all Gs, then the program goes on. The handler that was there before is put back at the end.
class quit_report {
 public:
  quit_report() {
    struct sigaction ours = {};
    ours.sa_handler = [](int) {
      const int saved = errno;
      if (scheduler* s = scheduler::current()) s->ask_for_dump();
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
  if (!scheduler::make_current(*s))
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
    add_last_words(dump_current, s.get());
    all_ended = s->run(g);
    remove_last_words(dump_current, s.get());
  }
  scheduler::make_none_current();
  const std::exception_ptr failure = s->main_failure();
  // Threads that are still in user code come back to a scheduler that exists, and stop there for good.
  if (all_ended) {
    scheduler::leave_behind(std::move(s));
  } else {
    (void)s.release();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace leat::sched
