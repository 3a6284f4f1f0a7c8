// SPDX-License-Identifier: BSL-1.0
//
// On a G, nothing may park inside the scope of an INFO or CAPTURE, nor in a CHECK_MESSAGE: doctest keeps
// them per thread, and the G may come back on another one.
#pragma once
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <leat/base/cpu.hpp>
#include <leat/base/log.hpp>
#include <leat/base/log_aside.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/leat.hpp>
#include <leat/sched/report.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched::test {

using namespace std::chrono_literals;

// How long a condition may take before the test gives up: generous, since it costs nothing when all is well.
inline constexpr auto patience = std::chrono::seconds(90);

inline bool on_a_g() {
  M* const m = current_m();
  return m && m->cur.load(std::memory_order_relaxed);
}

// Waits for something that other Gs or threads do. On a G it lets the others run.
template <class F>
[[nodiscard]] bool eventually(F condition) {
  const auto until = now() + patience;
  for (int i = 0; !condition(); ++i) {
    if (now() > until) return false;
    if (i < 100 && on_a_g()) {
      yield();
    } else {
      (void)sleep_for(100us);
    }
  }
  return true;
}

// The same without entering the runtime: the G keeps its P, as a computing one would.
template <class F>
[[nodiscard]] bool eventually_without_entering(F condition) {
  const auto until = now() + patience;
  while (!condition()) {
    if (now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

inline runtime_options with_procs(unsigned procs, unsigned run_queue = 256) {
  runtime_options o;
  o.procs = procs;
  o.run_queue = run_queue;
  o.grace = 10s;  // what listens ends in time, however slow the machine
  return o;
}
// Nothing is preempted, however slow the machine: for tests that say where each G stands.
inline runtime_options undisturbed(unsigned procs, unsigned run_queue = 256) {
  runtime_options o = with_procs(procs, run_queue);
  o.slice = 1h;
  return o;
}

// Runs body() as the main G and checks that it leaves nothing behind.
template <class F>
int run_clean(const runtime_options& o, F body) {
  return leat::run(o, [&] {
    body();
    CHECK(eventually([] { return stats().live == 1; }));
    CHECK(eventually([] {
      const auto s = stats();
      std::size_t queued = s.global_length;
      for (const std::size_t n : s.local_lengths) queued += n;
      return queued == 0 && s.without_p == 0;
    }));
    const auto s = stats();
    CHECK(s.spawned == s.finished + 1);
  });
}

// body(options) at procs 1, 2, 4 and run_queue 2, 256.
template <class F>
void sweep(F body) {
  for (const unsigned procs : {1u, 2u, 4u}) {
    for (const unsigned run_queue : {2u, 256u}) {
      CAPTURE(procs);
      CAPTURE(run_queue);
      body(with_procs(procs, run_queue));
    }
  }
}
template <class F>
void sweep_clean(F body) {
  sweep([&](const runtime_options& o) { run_clean(o, body); });
}

// GCC's ThreadSanitizer holds fewer than 500 fibers at a time on AArch64.
inline constexpr int many = fiber::under_tsan ? 300 : 5000;

inline pid_t thread_id() { return static_cast<pid_t>(::syscall(SYS_gettid)); }
inline unsigned current_p() { return current_m()->p.load()->id; }

// One G waits until somebody signals, G or thread. A signal that comes first is kept.
class signal_to_g {
 public:
  void wait() {
    M* m = scheduler::enter(current_m());
    struct waiter {
      signal_to_g* self;
      G* g;
    } w{this, m->cur.load()};
    m = m->sched.park(
        m, wait_reason::parked,
        [](void* arg) noexcept {
          const waiter mine = *static_cast<waiter*>(arg);
          std::uintptr_t v = none;
          if (mine.self->word_.compare_exchange_strong(v, reinterpret_cast<std::uintptr_t>(mine.g))) return;
          mine.self->word_.store(none);
          auto* const on = static_cast<M*>(mine.g->ctx.on);
          on->sched.ready(on, mine.g);
        },
        &w);
    scheduler::leave(m);
  }
  void signal() {
    std::uintptr_t v = word_.load();
    for (;;) {
      if (v == set) return;
      if (word_.compare_exchange_weak(v, v == none ? set : none)) break;
    }
    if (v == none) return;
    auto* const g = reinterpret_cast<G*>(v);
    if (!on_a_g()) return scheduler::current()->ready(nullptr, g);
    M* const m = scheduler::enter(current_m());
    m->sched.ready(m, g);
    scheduler::leave(m);
  }

 private:
  static constexpr std::uintptr_t none = 0, set = 1;
  std::atomic<std::uintptr_t> word_{none};
};

// A plain thread starts n Gs: they go to the global queue.
template <class F>
void from_outside(int n, F body) {
  std::thread([&] {
    for (int i = 0; i < n; ++i) go(body);
  }).join();
}

inline std::vector<event> events_of(event_kind kind) {
  std::vector<event> found;
  for (const event& e : events_of(*scheduler::current()))
    if (e.kind == kind) found.push_back(e);
  return found;
}
inline std::vector<event> events_of(event_kind kind, std::uint64_t g) {
  std::vector<event> found;
  for (const event& e : events_of(kind))
    if (e.g == g) found.push_back(e);
  return found;
}
inline std::vector<event> events_on(unsigned p, event_kind kind) {
  std::vector<event> found;
  for (const event& e : events_of(kind))
    if (e.p == p) found.push_back(e);
  return found;
}

// Catches log lines while it lives.
class log_catcher {
 public:
  log_catcher() {
    set_log_sink(
        [](void* self, log_level, std::string_view, std::string_view text) {
          auto& me = *static_cast<log_catcher*>(self);
          std::lock_guard hold(me.lock_);
          me.text_.append(text).append("\n");
        },
        this);
  }
  ~log_catcher() { set_log_sink(nullptr, nullptr); }
  log_catcher(const log_catcher&) = delete;
  log_catcher& operator=(const log_catcher&) = delete;

  std::string text() {
    (void)leat::detail::wait_for_log_aside(1000);  // sysmon's and the host's
    std::lock_guard hold(lock_);
    return text_;
  }
  bool said(const std::string& what) { return text().find(what) != std::string::npos; }

 private:
  std::mutex lock_;
  std::string text_;
};

}  // namespace leat::sched::test
