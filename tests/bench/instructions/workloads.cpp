// SPDX-License-Identifier: BSL-1.0
//
// workloads NAME N [PROCS] [guarded]: N operations of a workload; prints what each takes, in ns of time and
// of CPU time. For those who count instructions (check.sh) and who compare builds (tests/bench/cost).
#include <time.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <leat/csp/channel.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/select.hpp>
#include <leat/sched/overrun.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/time.hpp>

namespace {

// Watched as the processes of a service are; never meant to hang.
struct watch final : leat::overrun_guard {
  watch() : overrun_guard(std::chrono::hours(1), std::chrono::hours(1)) {}
  void overran(const leat::overrun_news&) noexcept override {}
};
leat::spawn_options how;

double now_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

void yields(long n) {
  const auto half = [n] {
    for (long i = 0; i < n / 2; ++i) leat::yield();
  };
  auto other = leat::spawn(how, half);
  half();
  other.join();
}

void pingpong(long n) {
  leat::channel<int> there, back;
  auto other = leat::spawn(how, [&] {
    for (int v : there) back.send(v);
  });
  for (long i = 0; i < n; ++i) {
    there.send(1);
    (void)back.recv();
  }
  there.close();
  other.join();
}

void through(long n, const leat::channel_options& o) {
  leat::channel<int> c(128, o);
  auto other = leat::spawn(how, [&] {
    for (long i = 0; i < n; ++i) c.send(static_cast<int>(i));
    c.close();
  });
  long sum = 0;
  for (int v : c) sum += v;
  other.join();
  if (sum == 0) std::abort();
}
void chan_buf(long n) { through(n, {.writers = 1, .readers = 1}); }
void chan_buf_any(long n) { through(n, {}); }

// Values with code for their moves (sched/fence.hpp, e).
struct named {
  std::string name;
  int n = 0;
};
void chan_buf_named(long n) {
  leat::channel<named> c(128, {.writers = 1, .readers = 1});
  auto other = leat::spawn(how, [&] {
    for (long i = 0; i < n; ++i) c.send(named{{}, static_cast<int>(i)});
    c.close();
  });
  long sum = 0;
  for (const named& v : c) sum += v.n;
  other.join();
  if (sum == 0) std::abort();
}

void spawn(long n) {
  std::vector<leat::task<void>> batch;
  batch.reserve(1000);
  for (long done = 0; done < n; done += 1000) {
    for (int i = 0; i < 1000; ++i) batch.push_back(leat::spawn(how, [] {}));
    for (auto& t : batch) t.join();
    batch.clear();
  }
}

// Waits for the last first: the others have ended by then, as if a group had been waited for.
void spawn_group(long n) {
  std::vector<leat::task<void>> batch;
  batch.reserve(1000);
  for (long done = 0; done < n; done += 1000) {
    for (int i = 0; i < 1000; ++i) batch.push_back(leat::spawn(how, [] {}));
    for (auto t = batch.rbegin(); t != batch.rend(); ++t) t->join();
    batch.clear();
  }
}

// Each on a stack that nobody has used before.
void first_stacks(long n) {
  const leat::channel<int> never;
  std::vector<leat::task<void>> all;
  all.reserve(static_cast<std::size_t>(n));
  std::atomic<long> begun{0};
  for (long i = 0; i < n; ++i)
    all.push_back(leat::spawn(how, [&] {
      begun.fetch_add(1, std::memory_order_relaxed);
      (void)never.recv();
    }));
  while (begun.load(std::memory_order_relaxed) < n) leat::yield();
  never.close();
  for (auto& t : all) t.join();
}

void mpmc(long n) {
  const leat::channel<long> c(128);
  std::vector<leat::task<void>> writers;
  std::vector<leat::task<long>> readers;
  for (int g = 0; g < 4; ++g) {
    writers.push_back(leat::spawn(how, [&] {
      for (long i = 0; i < n / 4; ++i) (void)c.send(1);
    }));
    readers.push_back(leat::spawn(how, [&] {
      long sum = 0;
      for (const long v : c) sum += v;
      return sum;
    }));
  }
  for (auto& w : writers) w.join();
  c.close();
  long sum = 0;
  for (auto& r : readers) sum += r.get();
  if (sum != n / 4 * 4) std::abort();
}

void mutex(long n) {
  leat::mutex lock;
  long count = 0;
  std::vector<leat::task<void>> gs;
  for (int g = 0; g < 8; ++g)
    gs.push_back(leat::spawn(how, [&] {
      for (long i = 0; i < n / 8; ++i) {
        lock.lock();
        ++count;
        lock.unlock();
      }
    }));
  for (auto& g : gs) g.join();
  if (count != n / 8 * 8) std::abort();
}

// One reader over four channels, each with its writer.
void select_of_four(long n, const leat::channel_options& o) {
  const leat::channel<int> c[4]{leat::channel<int>(128, o), leat::channel<int>(128, o),
                                leat::channel<int>(128, o), leat::channel<int>(128, o)};
  std::vector<leat::task<void>> writers;
  for (const auto& to : c)
    writers.push_back(leat::spawn(how, [&] {
      for (long i = 0; i < n / 4; ++i) to.send(1);
    }));
  long sum = 0;
  const auto add = [&](int v) { sum += v; };
  for (long i = 0; i < n / 4 * 4; ++i)
    leat::select(leat::on_recv(c[0], add), leat::on_recv(c[1], add), leat::on_recv(c[2], add),
                 leat::on_recv(c[3], add));
  for (auto& w : writers) w.join();
  if (sum != n / 4 * 4) std::abort();
}
void select_rings(long n) { select_of_four(n, {.writers = 1, .readers = 1}); }
void select_any(long n) { select_of_four(n, {}); }

// Every other time it waits, in two channels, and one of them is served.
void select_waits(long n) {
  const leat::channel<int> there, never;
  auto other = leat::spawn(how, [&] {
    for (long i = 0; i < n; ++i) there.send(1);
  });
  long sum = 0;
  const auto add = [&](int v) { sum += v; };
  for (long i = 0; i < n; ++i) leat::select(leat::on_recv(never, add), leat::on_recv(there, add));
  other.join();
  if (sum != n) std::abort();
}

struct {
  const char* name;
  void (*run)(long);
} const workloads[]{{"yield", yields},
                    {"pingpong", pingpong},
                    {"chan_buf", chan_buf},
                    {"chan_buf_named", chan_buf_named},
                    {"spawn", spawn},
                    {"mutex", mutex},
                    {"chan_buf_any", chan_buf_any},
                    {"first_stacks", first_stacks},
                    {"mpmc", mpmc},
                    {"spawn_group", spawn_group},
                    {"select_rings", select_rings},
                    {"select_any", select_any},
                    {"select_waits", select_waits}};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 2 ? argv[1] : "";
  void (*run)(long) = nullptr;
  for (const auto& w : workloads)
    if (name == w.name) run = w.run;
  if (!run) {
    std::fputs("usage: workloads NAME N [PROCS] [guarded]; NAME:", stderr);
    for (const auto& w : workloads) std::fprintf(stderr, " %s", w.name);
    return std::fputs("\n", stderr), 2;
  }
  const long n = std::atol(argv[2]);
  const auto procs = static_cast<unsigned>(argc > 3 ? std::atol(argv[3]) : 1);
  if (argc > 4 && std::string(argv[4]) == "guarded") how.guard = std::make_shared<watch>();
  // Under valgrind all takes fifty times as long: no P is to be retaken for that.
  leat::runtime_options o{.procs = procs, .slice = std::chrono::hours(1)};
  if (procs == 1) o.spinning = 0;
  leat::run(o, [&] {
    const double begin = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    run(n);
    const double took = now_ns(CLOCK_MONOTONIC) - begin, used = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    std::printf("%.3f %.3f\n", took / static_cast<double>(n), used / static_cast<double>(n));
  });
}
