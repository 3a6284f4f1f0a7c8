// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <cstdint>
#include <vector>

#include <leat/leat.hpp>

#include "harness.hpp"

using namespace leat;
using namespace leat::bench;

namespace {

runtime_options with_procs(const bench::context& b) {
  runtime_options o;
  o.procs = static_cast<unsigned>(b.procs());
  return o;
}

// What the topology of a service says of a channel between two processes.
const channel_options one_to_one{.writers = 1, .readers = 1};

void must_be(std::int64_t found, std::int64_t wanted) {
  if (found != wanted)
    throw std::runtime_error("a workload computed " + std::to_string(found) + " instead of " +
                             std::to_string(wanted));
}

std::int64_t sum_below(std::int64_t n) { return n * (n - 1) / 2; }

template <class Body>
double timed(const bench::context& b, Body body) {
  double ns = 0;
  run(with_procs(b), [&] {
    stopwatch watch;
    body();
    ns = watch.ns();
  });
  return ns;
}

// One writer, one reader, n values through a channel of 128.
double through(const bench::context& b, std::int64_t n, const channel_options& options) {
  return timed(b,
               [&] {
                 const channel<std::int64_t> c(128, options);
                 auto writer = spawn([c, n] {
                   for (std::int64_t i = 0; i < n; ++i) (void)c.send(i);
                   c.close();
                 });
                 std::int64_t sum = 0;
                 for (const std::int64_t v : c) sum += v;
                 (void)writer.join();
                 must_be(sum, sum_below(n));
               }) /
         static_cast<double>(n);
}

}  // namespace

LEAT_BENCH(pingpong, "ns", "a value there and back over unbuffered channels", at_most(100, "ns")) {
  const auto n = bench.scaled(2'000'000);
  return timed(bench,
               [&] {
                 const channel<std::int64_t> there, back;
                 auto other = spawn([there, back] {
                   for (const std::int64_t v : there) (void)back.send(v + 1);
                 });
                 std::int64_t v = 0;
                 for (std::int64_t i = 0; i < n; ++i) {
                   (void)there.send(v);
                   v = *back.recv();
                 }
                 there.close();
                 (void)other.join();
                 must_be(v, n);
               }) /
         static_cast<double>(n);
}

LEAT_BENCH(chan_buf, "ns", "one writer, one reader, capacity 128, declared so",
           at_most(8, "ns").with_procs(1), at_most(12, "ns").with_procs(2)) {
  return through(bench, bench.scaled(20'000'000), one_to_one);
}

LEAT_BENCH(chan_buf_any, "ns", "the same with a channel that knows nothing of its writers and readers") {
  return through(bench, bench.scaled(20'000'000), {});
}

LEAT_BENCH(mpmc, "ns", "four writers, four readers, one channel of 128", at_most(25, "ns").with_procs(1),
           at_most(50, "ns").with_procs(2)) {
  const auto n = bench.scaled(8'000'000);
  return timed(bench,
               [&] {
                 const channel<std::int64_t> c(128), sums(4);
                 std::vector<task<void>> writers;
                 for (std::int64_t first = 0; first < 4; ++first) {
                   writers.push_back(spawn([c, first, n] {
                     for (std::int64_t i = first; i < n; i += 4) (void)c.send(i);
                   }));
                   go([c, sums] {
                     std::int64_t sum = 0;
                     for (const std::int64_t v : c) sum += v;
                     (void)sums.send(sum);
                   });
                 }
                 for (auto& w : writers) (void)w.join();
                 c.close();
                 std::int64_t sum = 0;
                 for (int i = 0; i < 4; ++i) sum += *sums.recv();
                 must_be(sum, sum_below(n));
               }) /
         static_cast<double>(n);
}

LEAT_BENCH(ring, "ns", "one hop of a token round a ring of 503 Gs", at_most(50, "ns").with_procs(1),
           at_most(60, "ns").with_procs(2)) {
  constexpr std::size_t size = 503;
  const auto n = bench.scaled(5'000'000);
  double ns = 0;
  run(with_procs(bench), [&] {
    const std::vector<channel<std::int64_t>> links(size);
    const channel<int> done;
    std::vector<task<void>> gs;
    for (std::size_t i = 0; i < size; ++i) {
      gs.push_back(spawn([from = links[i], to = links[(i + 1) % size], done] {
        for (const std::int64_t v : from) {
          if (v == 0) {
            (void)done.send(1);
          } else {
            (void)to.send(v - 1);
          }
        }
      }));
    }
    stopwatch watch;
    (void)links[0].send(n);
    (void)done.recv();
    ns = watch.ns();
    for (const auto& l : links) l.close();
    for (auto& g : gs) (void)g.join();
  });
  return ns / static_cast<double>(n);
}

namespace {

void skynet(const channel<std::int64_t>& to, std::int64_t number, std::int64_t size) {
  if (size == 1) {
    (void)to.send(number);
    return;
  }
  const channel<std::int64_t> from;
  for (std::int64_t i = 0; i < 10; ++i) go([=] { skynet(from, number + i * (size / 10), size / 10); });
  std::int64_t sum = 0;
  for (int i = 0; i < 10; ++i) sum += *from.recv();
  (void)to.send(sum);
}

}  // namespace

LEAT_BENCH(skynet, "ms", "a tree of a million Gs that sum up over channels", at_most(450, "ms").with_procs(1),
           at_most(400, "ms").with_procs(2)) {
  const auto n = bench.scaled(1'000'000);
  return timed(bench,
               [&] {
                 const channel<std::int64_t> top;
                 go([=] { skynet(top, 0, n); });
                 must_be(*top.recv(), sum_below(n));
               }) /
         1e6;
}

LEAT_BENCH(sieve, "ms", "the 2500th prime by a chain of filters on unbuffered channels",
           at_most(300, "ms").with_procs(1), at_most(250, "ms").with_procs(2)) {
  const int count = bench.quick() ? 1000 : 2500;
  double ns = 0;
  run(with_procs(bench), [&] {
    std::vector<task<void>> gs;
    channel<std::int64_t> from;
    stopwatch watch;
    gs.push_back(spawn([from] {
      for (std::int64_t i = 2; from.send(i) == send_status::sent; ++i) {
      }
    }));
    std::int64_t prime = 0;
    for (int i = 0; i < count; ++i) {
      prime = *from.recv();
      const channel<std::int64_t> to;
      gs.push_back(spawn([from, to, prime] {
        for (const std::int64_t v : from)
          if (v % prime != 0 && to.send(v) != send_status::sent) return;
      }));
      from = to;
    }
    ns = watch.ns();
    must_be(prime, bench.quick() ? 7919 : 22307);
  });
  return ns / 1e6;
}

LEAT_BENCH(select, "ns", "one reader selects over four channels of 128, each with its writer",
           at_most(60, "ns").with_procs(1), at_most(90, "ns").with_procs(2)) {
  const auto n = bench.scaled(4'000'000);
  return timed(bench,
               [&] {
                 std::vector<channel<std::int64_t>> c;
                 for (int i = 0; i < 4; ++i) c.emplace_back(128, one_to_one);
                 std::vector<task<void>> writers;
                 for (std::int64_t first = 0; first < 4; ++first) {
                   writers.push_back(spawn([to = c[static_cast<std::size_t>(first)], first, n] {
                     for (std::int64_t i = first; i < n; i += 4) (void)to.send(i);
                   }));
                 }
                 std::int64_t sum = 0;
                 const auto add = [&](std::int64_t v) { sum += v; };
                 for (std::int64_t i = 0; i < n; ++i)
                   select(on_recv(c[0], add), on_recv(c[1], add), on_recv(c[2], add), on_recv(c[3], add));
                 for (auto& w : writers) (void)w.join();
                 must_be(sum, sum_below(n));
               }) /
         static_cast<double>(n);
}

LEAT_BENCH(mutex, "ns", "eight Gs increment a counter under one mutex", at_most(15, "ns").with_procs(1),
           at_most(40, "ns").with_procs(2)) {
  const auto n = bench.scaled(4'000'000);
  return timed(bench,
               [&] {
                 leat::mutex lock;
                 std::int64_t count = 0;
                 std::vector<task<void>> gs;
                 for (int g = 0; g < 8; ++g) {
                   gs.push_back(spawn([&] {
                     for (std::int64_t i = 0; i < n / 8; ++i) {
                       lock.lock();
                       ++count;
                       lock.unlock();
                     }
                   }));
                 }
                 for (auto& g : gs) (void)g.join();
                 must_be(count, n);
               }) /
         static_cast<double>(n);
}

LEAT_BENCH(pipeline, "ns", "a value through eight stages joined by channels of 64",
           at_most(90, "ns").with_procs(1), at_most(70, "ns").with_procs(2)) {
  constexpr std::int64_t stages = 8;
  const auto n = bench.scaled(2'000'000);
  return timed(bench,
               [&] {
                 std::vector<task<void>> gs;
                 channel<std::int64_t> from(64, one_to_one);
                 gs.push_back(spawn([from, n] {
                   for (std::int64_t i = 0; i < n; ++i) (void)from.send(i);
                   from.close();
                 }));
                 for (int s = 0; s < stages; ++s) {
                   const channel<std::int64_t> to(64, one_to_one);
                   gs.push_back(spawn([from, to] {
                     for (const std::int64_t v : from) (void)to.send(v + 1);
                     to.close();
                   }));
                   from = to;
                 }
                 std::int64_t sum = 0;
                 for (const std::int64_t v : from) sum += v;
                 for (auto& g : gs) (void)g.join();
                 must_be(sum, sum_below(n) + stages * n);
               }) /
         static_cast<double>(n);
}
