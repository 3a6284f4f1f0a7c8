// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include <leat/leat.hpp>
#include <leat/sched/scheduler.hpp>

#include "harness.hpp"

using namespace leat;
using namespace leat::bench;
using namespace std::chrono_literals;

namespace {

runtime_options with_procs(const bench::context& b) {
  runtime_options o;
  o.procs = static_cast<unsigned>(b.procs());
  return o;
}

// One G waits, another wakes it: the least that blocks on something.
class baton {
 public:
  // The lock is dropped on the far side of the switch.
  void wait() LEAT_NO_THREAD_SAFETY_ANALYSIS {
    sched::M* m = sched::scheduler::enter(sched::current_m());
    lock_.lock();
    if (given_) {
      given_ = false;
      lock_.unlock();
    } else {
      waiter_ = m->cur.load(std::memory_order_relaxed);
      m = m->sched.park(m, sched::wait_reason::parked, &baton::unlock, this);
    }
    sched::scheduler::leave(m);
  }
  void give() {
    sched::M* const m = sched::scheduler::enter(sched::current_m());
    lock_.lock();
    sched::G* const g = std::exchange(waiter_, nullptr);
    given_ = !g;
    lock_.unlock();
    if (g) m->sched.ready(m, g);
    sched::scheduler::leave(m);
  }

 private:
  static void unlock(void* self) LEAT_NO_THREAD_SAFETY_ANALYSIS { static_cast<baton*>(self)->lock_.unlock(); }

  ranked_spinlock lock_{lock_rank::channel, "baton"};
  sched::G* waiter_ = nullptr;
  bool given_ = false;
};

void report_latencies(bench::context& b, std::vector<double>& values) {
  b.report("p50", percentile(values, 0.5));
  b.report("p99", percentile(values, 0.99));
}

double to_us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

LEAT_BENCH(yield, "ns", "one switch between two Gs that yield to each other",
           at_most(25, "ns").with_procs(1)) {
  const auto n = bench.scaled(5'000'000);
  double ns = 0;
  run(with_procs(bench), [&] {
    const auto half = [n] {
      for (std::int64_t i = 0; i < n / 2; ++i) leat::yield();
    };
    stopwatch watch;
    auto one = spawn(half), other = spawn(half);
    (void)one.join();
    (void)other.join();
    ns = watch.ns();
  });
  return ns / static_cast<double>(n);
}

LEAT_BENCH(spawn, "ns", "spawn and join an empty G, in batches of 1000", at_most(100, "ns").with_procs(1),
           at_most(160, "ns").with_procs(2)) {
  constexpr std::size_t batch = 1000;
  const auto n = bench.scaled(1'000'000);
  double ns = 0;
  run(with_procs(bench), [&] {
    std::vector<task<void>> tasks;
    tasks.reserve(batch);
    const auto round = [&] {
      for (std::size_t i = 0; i < batch; ++i) tasks.push_back(spawn([] {}));
      // From the last: the others have ended by then, as if a group had been waited for.
      for (std::size_t i = batch; i-- > 0;) (void)tasks[i].join();
      tasks.clear();
    };
    round();
    stopwatch watch;
    for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(batch)) round();
    ns = watch.ns();
  });
  return ns / static_cast<double>(n);
}

LEAT_BENCH(park_mem, "bytes", "resident memory of a parked G, a million at once", at_procs{1}, fresh_process,
           no_warm_up, at_most(4608, "bytes")) {
  const auto n = bench.scaled(1'000'000);
  double each = 0;
  run(with_procs(bench), [&] {
    const double before = resident_bytes();
    // Not a baton each: what is measured is the G.
    std::int64_t parked = 0;
    for (std::int64_t i = 0; i < n; ++i)
      go([&parked] {
        ++parked;
        (void)sleep_for(1h);
      });
    while (parked < n) leat::yield();
    each = (resident_bytes() - before) / static_cast<double>(n);
  });
  return each;
}

LEAT_BENCH(timers, "ms", "lateness of 100,000 sleeps of 50 to 150 ms at once, second pass",
           at_most(5, "ms").on("p99")) {
  const auto n = static_cast<std::size_t>(bench.scaled(100'000));
  std::vector<double> late(n);
  run(with_procs(bench), [&] {
    double cpu = 0;
    for (int pass = 0; pass < 2; ++pass) {
      cpu = cpu_seconds();
      std::vector<task<void>> tasks;
      tasks.reserve(n);
      std::mt19937 random(42);
      for (std::size_t i = 0; i < n; ++i) {
        const auto length = std::chrono::microseconds(50'000 + random() % 100'000);
        tasks.push_back(spawn([&late, i, length] {
          const time_point due = leat::now() + length;
          (void)sleep_until(due);
          late[i] = static_cast<double>((leat::now() - due).count()) / 1e6;
        }));
      }
      for (auto& t : tasks) (void)t.join();
      cpu = cpu_seconds() - cpu;
    }
    bench.report("cpu", cpu, "s");
  });
  report_latencies(bench, late);
  bench.report("max", percentile(late, 1));
  return only_named;
}

LEAT_BENCH(preempt, "ms", "lateness of 1 ms sleeps beside a G in an endless loop", at_procs{1}, fresh_process,
           no_warm_up, at_most(0.2, "ms").on("p50"), at_most(5, "ms").on("p99")) {
  const auto n = static_cast<std::size_t>(bench.scaled(500));
  std::vector<double> late;
  late.reserve(n);
  std::atomic<bool> over{false};
  run(with_procs(bench), [&] {
    // Endless as far as the scheduler can know: it enters nothing. The flag lets the process end.
    go("hog", [&over] {
      while (!over.load(std::memory_order_relaxed)) {
      }
    });
    for (std::size_t i = 0; i < n; ++i) {
      const time_point due = leat::now() + 1ms;
      (void)sleep_until(due);
      late.push_back(static_cast<double>((leat::now() - due).count()) / 1e6);
    }
    over.store(true, std::memory_order_relaxed);
  });
  report_latencies(bench, late);
  return only_named;
}

namespace {

// Latency from the send to the receiver's first instruction; the sender then sleeps, or computes on.
void measure_wake(bench::context& b, nanoseconds busy) {
  const auto n = static_cast<std::size_t>(b.scaled(1000));
  std::vector<double> latency;
  latency.reserve(n);
  run(with_procs(b), [&] {
    baton call;
    std::int64_t sent = 0;
    auto receiver = spawn([&] {
      for (std::size_t i = 0; i < n; ++i) {
        call.wait();
        latency.push_back(to_us(now_ns() - sent));
      }
    });
    for (std::size_t i = 0; i < n; ++i) {
      (void)sleep_for(2ms);
      sent = now_ns();
      call.give();
      const std::int64_t until = sent + busy.count();
      while (now_ns() < until) {
      }
    }
    (void)receiver.join();
  });
  report_latencies(b, latency);
}

}  // namespace

LEAT_BENCH(wake, "us", "wake of a parked G while all else is idle; the waker then sleeps", at_procs{2},
           no_warm_up, at_most(4, "us").on("p50")) {
  measure_wake(bench, 0ns);
  return only_named;
}

LEAT_BENCH(wake_busy, "us", "wake of a parked G while the waker computes on for 200 us", at_procs{2},
           no_warm_up, at_most(15, "us").on("p50")) {
  measure_wake(bench, 200us);
  return only_named;
}
