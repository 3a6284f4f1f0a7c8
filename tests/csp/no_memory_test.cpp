// SPDX-License-Identifier: BSL-1.0
//
// Waits with a deadline while the timers' heap cannot grow.
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "csp/fixture.hpp"

namespace {

// Large blocks only, and none of those that Gs are made of: they have an alignment of their own.
std::atomic<bool> memory_is_short{false};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t n) {
  if (memory_is_short.load(std::memory_order_relaxed) && n >= 4096) throw std::bad_alloc();
  if (void* const p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace leat;
using namespace leat::csp::test;

namespace {

class shortage {
 public:
  shortage() { memory_is_short = true; }
  ~shortage() { memory_is_short = false; }
  shortage(const shortage&) = delete;
  shortage& operator=(const shortage&) = delete;
};

// More than a heap has room for from the beginning.
constexpr int sleepers = 300;

}  // namespace

TEST_CASE("a heap that cannot grow still fires each timer once, in order, and forgets those cancelled") {
  using sched::G;
  using sched::timer;
  using sched::timer_heap;
  const auto gs = std::make_unique<G[]>(sleepers);
  const auto ts = std::make_unique<timer[]>(sleepers);
  timer_heap heap;
  const auto when = [](int i) { return static_cast<std::int64_t>(1 + i * 7919 % 1000); };
  bool removed = true, removed_twice = false;
  {
    const shortage now_on;
    lock_guard hold(heap.lock());
    for (int i = 0; i < sleepers; ++i) {
      timer& t = ts[static_cast<std::size_t>(i)];
      t.when = when(i);
      t.g = &gs[static_cast<std::size_t>(i)];
      t.home = &heap;
      heap.add_locked(t);
    }
    for (int i = 0; i < sleepers; i += 3) removed &= heap.remove_locked(ts[static_cast<std::size_t>(i)]);
    for (int i = 0; i < sleepers; i += 3)
      removed_twice |= heap.remove_locked(ts[static_cast<std::size_t>(i)]);
  }
  CHECK(removed);
  CHECK_FALSE(removed_twice);
  CHECK(heap.size() == sleepers * 2 / 3);
  std::vector<int> fired(sleepers);
  std::int64_t last = 0;
  while (heap.next() != timer_heap::no_timer) {
    const std::int64_t now = heap.next();
    CHECK(now >= last);
    last = now;
    G* out[1];
    REQUIRE(heap.take_due(now, out, 1) == 1);
    const auto i = out[0] - gs.get();
    ++fired[static_cast<std::size_t>(i)];
    CHECK(when(static_cast<int>(i)) == now);
  }
  int wrong = 0;
  for (int i = 0; i < sleepers; ++i) wrong += fired[static_cast<std::size_t>(i)] != (i % 3 != 0);
  CHECK(wrong == 0);
  CHECK(heap.size() == 0);
}

TEST_CASE("sleeps and deadlines need no memory") {
  at_procs([] {
    channel<int> empty(1);
    mutex held;
    semaphore none(0);
    held.lock();
    std::vector<task<int>> all;
    all.reserve(sleepers);
    std::atomic<int> early{0};
    {
      const shortage now_on;
      const auto start = now();
      for (int i = 0; i < sleepers; ++i) {
        const nanoseconds d = 1ms + 10us * (i * 37 % sleepers);
        all.push_back(spawn([&, i, d] {
          int right = 0;
          switch (i % 6) {
            case 0: right = sleep_for(d) == sleep_result::elapsed; break;
            case 1: right = !empty.recv_until(d); break;
            case 2: right = !held.try_lock_for(d); break;
            case 3: right = none.acquire_for(d) == acquire_status::timeout; break;
            case 4: right = select(on_recv(empty, [](int) {}), on_timeout(d, [] {})) == 1; break;
            default: {
              int ticks = 0;
              for ([[maybe_unused]] const tick t : ticker(d))
                if (++ticks == 3) break;
              right = ticks == 3;
            }
          }
          if (now() < start + d) ++early;
          return right;
        }));
      }
      for (auto& t : all) (void)t.join();
    }
    int right = 0;
    for (auto& t : all) right += t.get();
    CHECK(right == sleepers);
    CHECK(early == 0);
    held.unlock();
  });
}
