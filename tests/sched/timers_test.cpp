// SPDX-License-Identifier: BSL-1.0
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "fixture.hpp"

using namespace leat::sched;
using namespace leat::sched::test;

namespace {

struct armed {
  G g;
  timer t;
  armed() { t.g = &g; }
};

void add(timer_heap& heap, timer& t, std::int64_t when) {
  t.when = when;
  t.home = &heap;
  leat::lock_guard hold(heap.lock());
  heap.add_locked(t);
}
bool remove(timer_heap& heap, timer& t) {
  leat::lock_guard hold(heap.lock());
  return heap.remove_locked(t);
}

}  // namespace

TEST_CASE("an empty heap has no next timer and nothing due") {
  timer_heap heap;
  G* out[1];
  CHECK(heap.next() == timer_heap::no_timer);
  CHECK(heap.take_due(timer_heap::no_timer - 1, out, 1) == 0);
  CHECK(heap.size() == 0);
}

TEST_CASE("a timer is due at its time, not before, and only once") {
  timer_heap heap;
  armed a;
  add(heap, a.t, 100);
  G* out[2];
  CHECK(heap.next() == 100);
  CHECK(heap.take_due(99, out, 2) == 0);
  REQUIRE(heap.take_due(100, out, 2) == 1);
  CHECK(out[0] == &a.g);
  CHECK(heap.take_due(1000, out, 2) == 0);
  CHECK(heap.next() == timer_heap::no_timer);
}

TEST_CASE("a deadline before the clock's beginning is one long past") {
  timer_heap heap;
  armed a;
  add(heap, a.t, INT64_MIN);
  CHECK(heap.next() == 0);
  G* out[1];
  CHECK(heap.take_due(0, out, 1) == 1);
}

TEST_CASE("a cancelled timer does not fire, and a fired one cannot be cancelled") {
  timer_heap heap;
  armed a, b;
  add(heap, a.t, 1);
  add(heap, b.t, 2);
  CHECK(remove(heap, a.t));
  CHECK_FALSE(remove(heap, a.t));
  CHECK(heap.next() == 2);
  G* out[2];
  REQUIRE(heap.take_due(5, out, 2) == 1);
  CHECK(out[0] == &b.g);
  CHECK_FALSE(remove(heap, b.t));
}

TEST_CASE("due timers come in the order of their deadlines, in batches of the size asked for") {
  timer_heap heap;
  std::vector<std::unique_ptr<armed>> all;
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    all.push_back(std::make_unique<armed>());
    add(heap, all.back()->t, static_cast<std::int64_t>(random() % 1000));
  }
  std::map<G*, std::int64_t> when;
  for (auto& a : all) when[&a->g] = a->t.when;
  std::int64_t last = -1;
  std::size_t got = 0;
  for (;;) {
    G* out[7];
    const std::size_t n = heap.take_due(1000, out, 7);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(when[out[i]] >= last);
      last = when[out[i]];
    }
    got += n;
    if (n < 7) break;
  }
  CHECK(got == 500);
}

TEST_CASE("random adds, removals and expiries agree with a multimap") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    timer_heap heap;
    std::vector<std::unique_ptr<armed>> all;
    for (int i = 0; i < 200; ++i) all.push_back(std::make_unique<armed>());
    std::multimap<std::int64_t, armed*> model;
    int wrong = 0;
    const auto find = [&](armed* a) {
      for (auto i = model.begin(); i != model.end(); ++i)
        if (i->second == a) return i;
      return model.end();
    };
    for (int step = 0; step < 5000; ++step) {
      armed* const a = all[random() % all.size()].get();
      const auto at = find(a);
      switch (random() % 4) {
        case 0:
        case 1:
          if (at == model.end()) {
            const std::int64_t when = static_cast<std::int64_t>(random() % 500);
            add(heap, a->t, when);
            model.emplace(when, a);
          }
          break;
        case 2:
          wrong += remove(heap, a->t) != (at != model.end());
          if (at != model.end()) model.erase(at);
          break;
        default: {
          const std::int64_t now = static_cast<std::int64_t>(random() % 100);
          G* out[3];
          const std::size_t n = heap.take_due(now, out, 3);
          std::size_t due = 0;
          for (auto i = model.begin(); i != model.end() && i->first <= now; ++i) ++due;
          wrong += n != std::min<std::size_t>(due, 3);
          for (std::size_t k = 0; k < n && !model.empty(); ++k) {
            const std::int64_t least = model.begin()->first;
            for (auto i = model.begin(); i != model.end(); ++i) {
              if (&i->second->g != out[k]) continue;
              wrong += i->first != least;  // equal deadlines may come in any order
              model.erase(i);
              break;
            }
          }
        }
      }
      wrong += heap.size() != model.size();
      wrong += heap.next() != (model.empty() ? timer_heap::no_timer : model.begin()->first);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("between a cancel and an expiry on two threads exactly one happens") {
  constexpr int rounds = leat::fiber::under_tsan ? 2000 : 20'000;
  timer_heap heap;
  armed a;
  std::atomic<int> fired{0}, cancelled{0};
  std::atomic<bool> over{false};
  std::thread expirer([&] {
    G* out[4];
    while (!over.load()) fired += static_cast<int>(heap.take_due(1, out, 4));
  });
  int both_or_none = 0;
  for (int i = 0; i < rounds; ++i) {
    const int before = fired.load();
    add(heap, a.t, 1);
    if (i % 100 == 0) std::this_thread::yield();
    const bool won = remove(heap, a.t);
    cancelled += won;
    const bool settled = eventually_without_entering([&] { return won || fired.load() == before + 1; });
    both_or_none += !settled || (won && fired.load() != before);
  }
  over = true;
  expirer.join();
  CHECK(both_or_none == 0);
  CHECK(fired + cancelled == rounds);
}
