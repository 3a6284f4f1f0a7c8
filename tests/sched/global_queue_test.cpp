// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/global_queue.hpp>

#include <doctest/doctest.h>
#include <atomic>
#include <memory>
#include <vector>

#include "sched/fixture.hpp"

using leat::sched::G;
using leat::sched::g_queue;
using leat::sched::global_queue;

namespace {

constexpr std::int64_t patience = global_queue::patience_ns;

// Gs with the ids from 0 on, and batches of them.
struct crowd {
  explicit crowd(std::size_t n) : gs(std::make_unique<G[]>(n)) {
    for (std::size_t i = 0; i < n; ++i) gs[i].id = i;
  }
  g_queue batch(std::size_t first, std::size_t n) const {
    g_queue q;
    for (std::size_t i = 0; i < n; ++i) q.push_back(&gs[first + i]);
    return q;
  }
  std::unique_ptr<G[]> gs;
};

std::vector<std::uint64_t> drain(global_queue& q) {
  std::vector<std::uint64_t> ids;
  while (const G* const g = q.pop()) ids.push_back(g->id);
  return ids;
}

}  // namespace

TEST_CASE("the last batch that was spilled goes first, each in its order") {
  const crowd c(7);
  global_queue q;
  q.push(&c.gs[0]);
  q.spill(c.batch(1, 2));
  q.spill(c.batch(3, 3));
  q.push(&c.gs[6]);
  CHECK(q.size() == 7);
  CHECK(drain(q) == std::vector<std::uint64_t>{3, 4, 5, 1, 2, 0, 6});
  CHECK(q.empty());
}

TEST_CASE("sleepers that are due go first, and one of eight is somebody else") {
  const crowd c(40);
  global_queue q;
  q.append_due(c.batch(0, 20));
  q.spill(c.batch(20, 10));
  q.append(c.batch(30, 10));
  CHECK(q.size_due() == 20);
  std::size_t others = 0;
  for (int i = 0; i < 16; ++i) others += q.pop()->id >= 20;
  CHECK(others == 2);
  while (q.size_due() > 0) (void)q.pop_due();
  CHECK(drain(q).size() == 18);
}

TEST_CASE("one of eight comes from elsewhere, however much is spilled") {
  const crowd c(64);
  global_queue q;
  q.spill(c.batch(0, 60));
  q.append(c.batch(60, 4));
  std::vector<std::size_t> when;
  for (std::size_t i = 1; i <= 32; ++i)
    if (q.pop()->id >= 60) when.push_back(i);
  CHECK(when == std::vector<std::size_t>{8, 16, 24, 32});
  (void)drain(q);
}

TEST_CASE("one fair turn in eight is for others while sleepers are due, whatever is taken in between") {
  const crowd c(200);
  global_queue q;
  q.append_due(c.batch(0, 150));
  q.append(c.batch(150, 50));
  std::size_t fair = 0;
  for (int turns = 0; turns < 16; ++turns) {
    for (int i = 0; i < 7; ++i) (void)q.pop();
    fair += q.pop_fairly(0)->id >= 150;
  }
  CHECK(fair == 2);
  (void)drain(q);
}

TEST_CASE(
    "a fair turn takes those that came from elsewhere, one by one, and what was spilled when it is alone") {
  const crowd c(6);
  global_queue q;
  (void)q.pop_fairly(patience);  // empty; what is spilled is next moved after another `patience`
  q.spill(c.batch(0, 2));
  q.append(c.batch(2, 2));
  CHECK(q.pop_fairly(patience)->id == 2);
  CHECK(q.pop()->id == 0);
  CHECK(q.pop_fairly(patience)->id == 3);
  CHECK(q.pop_fairly(patience)->id == 1);
  CHECK(q.pop_fairly(patience) == nullptr);
}

TEST_CASE("what was spilled long ago is not behind what is spilled anew for ever") {
  constexpr std::size_t flood = 2000;
  const crowd c(flood + 8);
  for (const bool others_too : {false, true}) {
    CAPTURE(others_too);
    global_queue q;
    (void)q.pop_fairly(0);
    q.spill(c.batch(flood, 8));
    std::size_t old_ones = 0, turns = 0, fresh = 0;
    // Between two fair turns more is spilled than is taken.
    for (; old_ones < 8 && fresh + 3 < flood; ++turns) {
      q.spill(c.batch(fresh, 2));
      fresh += 2;
      if (others_too) q.push(&c.gs[fresh++]);
      old_ones += q.pop()->id >= flood;
      const G* const g = q.pop_fairly(static_cast<std::int64_t>(turns) * (patience / 8));
      old_ones += g->id >= flood;
    }
    CHECK(old_ones == 8);
    CHECK(turns < 80);
    (void)drain(q);
  }
}

TEST_CASE("a G that waits in the global queue runs while others spawn without end") {
  for (const unsigned procs : {1u, 2u}) {
    CAPTURE(procs);
    std::atomic<bool> ran = false, over = false;
    std::atomic<std::uint64_t> made = 0;
    leat::run({.procs = procs, .run_queue = 4}, [&] {
      const auto end = leat::now() + std::chrono::seconds(20);
      // Twenty at a time: those that a ring of four has no room for are spilled, again and again.
      struct spawner {
        std::atomic<bool>&ran, &over;
        std::atomic<std::uint64_t>& made;
        leat::time_point end;
        void operator()() const {
          if (ran || over) return;
          if (leat::now() > end) over = true;
          if (made.fetch_add(1) % 2 == 0)
            for (int i = 0; i < 2; ++i) leat::go(*this);
        }
      };
      const spawner s{ran, over, made, end};
      for (int i = 0; i < 20; ++i) leat::go(s);
      leat::go([&] { ran = true; });
      for (int i = 0; i < 20; ++i) leat::go(s);
      while (!ran && !over) leat::yield();
    });
    CHECK(ran);
    CHECK_FALSE(over);
  }
}
