// SPDX-License-Identifier: BSL-1.0

// The workloads of leat-bench on Boost.Fiber, with its own best means: 16 KiB stacks without guards, kept by
// malloc. Its buffered channel of capacity n holds n - 1.

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/fiber/all.hpp>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>

#include "peer.hpp"

namespace peer {
namespace {

namespace bf = boost::fibers;
using ints = bf::buffered_channel<int>;
using rendezvous = bf::unbuffered_channel<int>;
constexpr auto success = bf::channel_op_status::success;

template <class F>
bf::fiber go(F f, bf::launch how = bf::launch::post) {
  return bf::fiber(how, std::allocator_arg, bf::fixedsize_stack(16 * 1024), std::move(f));
}

void join(std::vector<bf::fiber>& fibers) {
  for (bf::fiber& f : fibers) f.join();
  fibers.clear();
}

std::int64_t sum_below(std::int64_t n) { return n * (n - 1) / 2; }

double bench_yield(run& r) {
  const auto n = r.scaled(5'000'000);
  std::vector<bf::fiber> fibers;
  stopwatch watch;
  for (int g = 0; g < 2; ++g) {
    fibers.push_back(go([n] {
      for (std::int64_t i = 0; i < n / 2; ++i) boost::this_fiber::yield();
    }));
  }
  join(fibers);
  return watch.per(n);
}

double bench_pingpong(run& r) {
  const auto n = r.scaled(2'000'000);
  rendezvous there, back;
  std::vector<bf::fiber> fibers;
  int v = 0;
  stopwatch watch;
  fibers.push_back(go([&] {
    int x;
    while (there.pop(x) == success) back.push(x + 1);
  }));
  fibers.push_back(go([&] {
    for (std::int64_t i = 0; i < n; ++i) {
      there.push(v);
      back.pop(v);
    }
    there.close();
  }));
  join(fibers);
  const double took = watch.per(n);
  check(v == n, "pingpong");
  return took;
}

double bench_chan_buf(run& r) {
  const auto n = r.scaled(20'000'000);
  ints c(128);
  std::vector<bf::fiber> fibers;
  std::int64_t sum = 0;
  stopwatch watch;
  fibers.push_back(go([&] {
    for (std::int64_t i = 0; i < n; ++i) c.push(static_cast<int>(i));
    c.close();
  }));
  fibers.push_back(go([&] {
    int v;
    while (c.pop(v) == success) sum += v;
  }));
  join(fibers);
  const double took = watch.per(n);
  check(sum == sum_below(n), "chan_buf");
  return took;
}

double bench_mpmc(run& r) {
  const auto n = r.scaled(8'000'000);
  ints c(128);
  std::vector<bf::fiber> producers, consumers;
  std::int64_t sums[4] = {};
  stopwatch watch;
  for (int g = 0; g < 4; ++g) {
    producers.push_back(go([&c, n, g] {
      for (std::int64_t i = g; i < n; i += 4) c.push(static_cast<int>(i));
    }));
    consumers.push_back(go([&c, &sum = sums[g]] {
      std::int64_t mine = 0;
      int v;
      while (c.pop(v) == success) mine += v;
      sum = mine;
    }));
  }
  join(producers);
  c.close();
  join(consumers);
  const double took = watch.per(n);
  check(sums[0] + sums[1] + sums[2] + sums[3] == sum_below(n), "mpmc");
  return took;
}

double bench_ring(run& r) {
  constexpr int size = 503;
  const auto n = r.scaled(5'000'000);
  std::vector<std::unique_ptr<rendezvous>> chans;
  for (int i = 0; i < size; ++i) chans.push_back(std::make_unique<rendezvous>());
  std::vector<bf::fiber> fibers;
  rendezvous done;
  for (int i = 0; i < size; ++i) {
    fibers.push_back(go([&in = *chans[i], &out = *chans[(i + 1) % size], &done] {
      int v;
      while (in.pop(v) == success) {
        if (v == 0) {
          done.push(1);
        } else {
          out.push(v - 1);
        }
      }
    }));
  }
  stopwatch watch;
  chans[0]->push(static_cast<int>(n));
  int end = 0;
  done.pop(end);
  const double took = watch.per(n);
  for (auto& c : chans) c->close();
  join(fibers);
  return took;
}

double bench_spawn(run& r) {
  constexpr int batch = 1000;
  const auto n = r.scaled(1'000'000);
  std::vector<bf::fiber> fibers;
  fibers.reserve(batch);
  stopwatch watch;
  for (std::int64_t i = 0; i < n / batch; ++i) {
    for (int j = 0; j < batch; ++j) fibers.push_back(go([] {}));
    join(fibers);
  }
  return watch.per(n);
}

// Children run at once and their results are buffered, as in Boost's own benchmark: with rendezvous a million
// fibers would be alive together.
void skynet(bf::buffered_channel<std::int64_t>& up, std::int64_t num, std::int64_t size) {
  if (size == 1) {
    up.push(num);
    return;
  }
  bf::buffered_channel<std::int64_t> children(16);
  for (int i = 0; i < 10; ++i) {
    go([&children, first = num + i * (size / 10), part = size / 10] { skynet(children, first, part); },
       bf::launch::dispatch)
        .detach();
  }
  std::int64_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += children.value_pop();
  up.push(sum);
}

double bench_skynet(run& r) {
  const auto n = r.scaled(1'000'000);
  bf::buffered_channel<std::int64_t> result(2);
  stopwatch watch;
  go([&] { skynet(result, 0, n); }).detach();
  const std::int64_t sum = result.value_pop();
  const double took = watch.ms();
  check(sum == sum_below(n), "skynet");
  return took;
}

double bench_sieve(run& r) {
  const int count = r.quick ? 1000 : 2500;
  // Never closed, and the fibers stay parked: a producer that close() wakes leaves the channel with a pointer
  // into its dead frame (Boost 1.74).
  std::vector<rendezvous*> chans{new rendezvous};
  int prime = 0;
  stopwatch watch;
  go([&out = *chans[0]] {
    for (int i = 2; out.push(i) == success; ++i) {
    }
  }).detach();
  for (int i = 0; i < count; ++i) {
    rendezvous& in = *chans.back();
    in.pop(prime);
    chans.push_back(new rendezvous);
    go([&in, &out = *chans.back(), prime] {
      int v;
      while (in.pop(v) == success) {
        if (v % prime != 0 && out.push(v) != success) return;
      }
    }).detach();
  }
  const double took = watch.ms();
  check(prime == (r.quick ? 7919 : 22307), "sieve");
  return took;
}

double bench_mutex(run& r) {
  const auto n = r.scaled(4'000'000);
  bf::mutex mutex;
  std::vector<bf::fiber> fibers;
  std::int64_t count = 0;
  stopwatch watch;
  for (int g = 0; g < 8; ++g) {
    fibers.push_back(go([&] {
      for (std::int64_t i = 0; i < n / 8; ++i) {
        mutex.lock();
        ++count;
        mutex.unlock();
      }
    }));
  }
  join(fibers);
  const double took = watch.per(n);
  check(count == n, "mutex");
  return took;
}

double bench_pipeline(run& r) {
  constexpr int stages = 8;
  const auto n = r.scaled(2'000'000);
  std::vector<std::unique_ptr<ints>> chans;
  for (int i = 0; i <= stages; ++i) chans.push_back(std::make_unique<ints>(64));
  std::vector<bf::fiber> fibers;
  std::int64_t sum = 0;
  stopwatch watch;
  fibers.push_back(go([&] {
    for (std::int64_t i = 0; i < n; ++i) chans[0]->push(static_cast<int>(i));
    chans[0]->close();
  }));
  for (int s = 0; s < stages; ++s) {
    fibers.push_back(go([&in = *chans[s], &out = *chans[s + 1]] {
      int v;
      while (in.pop(v) == success) out.push(v + 1);
      out.close();
    }));
  }
  fibers.push_back(go([&] {
    int v;
    while (chans[stages]->pop(v) == success) sum += v;
  }));
  join(fibers);
  const double took = watch.per(n);
  check(sum == sum_below(n) + stages * n, "pipeline");
  return took;
}

double resident_bytes() {
  long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    check(std::fscanf(f, "%*d %ld", &pages) == 1, "statm");
    std::fclose(f);
  }
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// A slice of one mapping, so that a fiber touches no page more than it must: malloc's headers would add one.
struct slice {
  static constexpr std::size_t size = 16 * 1024;
  char* base;
  boost::context::stack_context allocate() {
    boost::context::stack_context s;
    s.size = size;
    s.sp = base + size;
    return s;
  }
  void deallocate(boost::context::stack_context&) noexcept {}
};

double bench_park_mem(run& r) {
  const auto n = r.scaled(1'000'000);
  const std::size_t bytes = static_cast<std::size_t>(n) * slice::size;
  void* stacks =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(stacks != MAP_FAILED && madvise(stacks, bytes, MADV_NOHUGEPAGE) == 0, "park_mem: memory");
  ints c(128);
  std::int64_t waiting = 0;
  auto wait = [&] {
    ++waiting;
    int v;
    c.pop(v);
  };
  const double before = resident_bytes();
  for (std::int64_t i = 0; i < n; ++i) {
    bf::fiber(std::allocator_arg, slice{static_cast<char*>(stacks) + i * slice::size}, wait).detach();
  }
  boost::this_fiber::yield();
  check(waiting == n, "park_mem");
  const double each = (resident_bytes() - before) / static_cast<double>(n);
  c.close();
  boost::this_fiber::yield();
  return each;
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

double bench_timers(run& r) {
  const auto n = static_cast<std::size_t>(r.scaled(100'000));
  std::vector<double> late(n);
  double cpu = 0;
  for (int pass = 0; pass < 2; ++pass) {
    std::mt19937_64 random(1);
    std::uniform_int_distribution<int> between(50'000'000, 149'999'999);
    std::vector<bf::fiber> fibers;
    fibers.reserve(n);
    cpu = cpu_seconds();
    for (std::size_t i = 0; i < n; ++i) {
      fibers.push_back(go([&late, i, sleep = std::chrono::nanoseconds(between(random))] {
        stopwatch watch;
        boost::this_fiber::sleep_for(sleep);
        late[i] = (watch.ns() - static_cast<double>(sleep.count())) / 1e6;
      }));
    }
    join(fibers);
    cpu = cpu_seconds() - cpu;
  }
  std::sort(late.begin(), late.end());
  r.report("p50", "ms", percentile(late, 0.5));
  r.report("p99", "ms", percentile(late, 0.99));
  r.report("max", "ms", late.back());
  r.report("cpu", "s", cpu);
  return only_named;
}

// Sender and receiver each on a thread of its own with its own scheduler, which is how Boost.Fiber wakes a
// sleeping thread: its shared ready queue does not.
void wake(run& r, std::chrono::microseconds busy) {
  using clock = std::chrono::steady_clock;
  const auto n = r.scaled(1000);
  bf::buffered_channel<clock::time_point> c(2);
  std::vector<double> late;
  std::thread receiver([&] {
    go([&] {
      clock::time_point sent;
      while (c.pop(sent) == success) {
        late.push_back(std::chrono::duration<double, std::micro>(clock::now() - sent).count());
      }
    }).join();
  });
  for (std::int64_t i = 0; i < n; ++i) {
    boost::this_fiber::sleep_for(std::chrono::milliseconds(2) - busy);
    const auto sent = clock::now();
    c.push(sent);
    while (clock::now() - sent < busy) {
    }
  }
  c.close();
  receiver.join();
  check(late.size() == static_cast<std::size_t>(n), "wake");
  std::sort(late.begin(), late.end());
  r.report("p50", "us", percentile(late, 0.5));
  r.report("p99", "us", percentile(late, 0.99));
}

double bench_wake(run& r) {
  wake(r, std::chrono::microseconds(0));
  return only_named;
}
double bench_wake_busy(run& r) {
  wake(r, std::chrono::microseconds(200));
  return only_named;
}

}  // namespace

// Where two fibers only ever talk to each other, two threads steal them back and forth and each step costs a
// spin across cores (ten times and more): those run on one thread.
const std::vector<workload> workloads{
    {"yield", "ns", {1}, false, true, true, bench_yield},
    {"pingpong", "ns", {1}, false, true, true, bench_pingpong},
    {"chan_buf", "ns", {1}, false, true, true, bench_chan_buf},
    {"mpmc", "ns", {1, 2}, false, true, true, bench_mpmc},
    {"ring", "ns", {1}, false, true, true, bench_ring},
    {"spawn", "ns", {1, 2}, false, true, true, bench_spawn},
    {"skynet", "ms", {1, 2}, false, true, true, bench_skynet},
    {"sieve", "ms", {1}, false, true, true, bench_sieve},
    {"mutex", "ns", {1, 2}, false, true, true, bench_mutex},
    {"pipeline", "ns", {1, 2}, false, true, true, bench_pipeline},
    {"park_mem", "B", {1}, true, false, true, bench_park_mem},
    {"timers", "ms", {1, 2}, false, false, true, bench_timers},
    {"wake", "us", {2}, false, false, false, bench_wake},
    {"wake_busy", "us", {2}, false, false, false, bench_wake_busy},
};

}  // namespace peer
