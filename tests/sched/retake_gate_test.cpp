// SPDX-License-Identifier: BSL-1.0
//
// The gate without a scheduler: one owner, one asker that takes and returns, one that borrows. What they
// share is plain memory, so ThreadSanitizer sees any hole, and the sums are wrong where it cannot look
// (membarrier).
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <doctest/doctest.h>

#include <leat/base/cpu.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/sched/barrier.hpp>
#include <leat/sched/retake_gate.hpp>

#include "hang_guard.hpp"
#include "support/child.hpp"

using namespace leat::sched;
using namespace leat::sched::test;

namespace {

struct p_data {
  int inside = 0;
  bool with_owner = true;
  std::uint64_t visits = 0;
};

struct outcome {
  std::uint64_t violations = 0, visits = 0, entries = 0, borrows = 0, takes = 0, away = 0;
};

class bout {
 public:
  outcome run(std::uint64_t entries, std::uint64_t seed) {
    std::thread taker([&] { ask(seed + 1, true); });
    std::thread borrower([&] { ask(seed + 2, false); });
    const std::uint64_t entered = own(entries, seed);
    taker.join();
    borrower.join();
    return {violations_.load(), data_.visits, entered, borrows_.load(), takes_.load(), away_};
  }

 private:
  void visit() {
    if (data_.inside++ != 0) violations_.fetch_add(1, std::memory_order_relaxed);
    ++data_.visits;
    if (--data_.inside != 0) violations_.fetch_add(1, std::memory_order_relaxed);
  }

  // At least `entries`, and until both askers have had their share.
  std::uint64_t own(std::uint64_t entries, std::uint64_t seed) {
    random_numbers random(seed);
    std::uint64_t n = 0;
    gate_.leave();
    for (; n < entries || borrows_.load(std::memory_order_relaxed) < 100 ||
           takes_.load(std::memory_order_relaxed) < 100;
         ++n) {
      const bool passes = random.one_in(4);
      if (passes ? gate_.pass() == retake_gate::entry::lost
                 : !gate_.enter() && gate_.enter_slow() == retake_gate::entry::lost) {
        ++away_;
        while (!returned_.load(std::memory_order_acquire)) leat::cpu_pause();
        returned_.store(false, std::memory_order_relaxed);
        if (data_.with_owner) violations_.fetch_add(1, std::memory_order_relaxed);
        data_.with_owner = true;
      }
      visit();
      gate_.leave();
      // Mostly hot, at times long enough in user code for an asker to win.
      if (random.one_in(64))
        for (std::uint64_t i = random.below(400); i > 0; --i) leat::cpu_pause();
    }
    // The last look: a take that nobody noticed is brought home.
    over_.store(true, std::memory_order_release);
    return n;
  }

  void ask(std::uint64_t seed, bool takes) {
    random_numbers random(seed);
    while (!over_.load(std::memory_order_acquire)) {
      if (gate_.try_borrow()) {
        if (!data_.with_owner) violations_.fetch_add(1, std::memory_order_relaxed);
        visit();
        if (takes) {
          data_.with_owner = false;
          gate_.keep();
          takes_.fetch_add(1, std::memory_order_relaxed);
          visit();  // it is the taker's until it says otherwise, with the owner at large
          returned_.store(true, std::memory_order_release);
        } else {
          borrows_.fetch_add(1, std::memory_order_relaxed);
          gate_.give_back();
        }
      }
      for (std::uint64_t i = random.below(200); i > 0; --i) leat::cpu_pause();
    }
  }

  // Before the gate, which rests at another word without membarrier.
  const bool prepared_ = (prepare_barriers(), true);
  retake_gate gate_;
  p_data data_;
  std::uint64_t away_ = 0;
  std::atomic<std::uint64_t> violations_{0}, borrows_{0}, takes_{0};
  std::atomic<bool> returned_{false}, over_{false};
};

constexpr std::uint64_t rounds = leat::fiber::under_tsan ? 100'000 : 2'000'000;

bool holds(const outcome& o) {
  std::printf("entries %llu, borrowed %llu, taken %llu, violations %llu\n",
              static_cast<unsigned long long>(o.entries), static_cast<unsigned long long>(o.borrows),
              static_cast<unsigned long long>(o.takes), static_cast<unsigned long long>(o.violations));
  // Each entry visits once, each borrow once, each take twice. The owner misses at most the last take.
  return o.violations == 0 && o.visits == o.entries + o.borrows + 2 * o.takes && o.takes - o.away <= 1;
}

}  // namespace

LEAT_CHILD(gate_without_membarrier) {
  const bool well = holds(bout().run(rounds, seed_for("gate without membarrier")));
  if (leat::sched::detail::membarrier_works) std::puts("membarrier was used");
  if (!well || leat::sched::detail::membarrier_works) std::exit(1);
}

TEST_CASE("owner and askers never use a P at the same time, and nothing they did to it is lost") {
  CHECK(holds(bout().run(rounds, seed_for("gate"))));
}

TEST_CASE("the same holds where the kernel has no membarrier") {
  const auto child =
      leat::test::run_self("gate_without_membarrier", {.environment = {"LEAT_NO_MEMBARRIER=1"}});
  CHECK_MESSAGE(child.exited(0), child.output);
}

TEST_CASE("an owner inside the runtime is not robbed, and is told to look") {
  prepare_barriers();
  retake_gate gate;  // begins inside
  CHECK_FALSE(gate.try_borrow());
  gate.leave();
  CHECK_FALSE(gate.enter());  // somebody asked: the slow way, so that it can be asked to yield there
  CHECK(gate.enter_slow() == retake_gate::entry::kept);
  gate.leave();
  CHECK(gate.enter());
}

TEST_CASE("an owner that passes is in the same run; its next entry is counted") {
  prepare_barriers();
  retake_gate gate;
  gate.leave();
  const auto held = gate.try_hold();
  REQUIRE(held == retake_gate::hold::with_p);
  gate.let_go(held);
  const std::uint32_t before = gate.entries();
  for (int i = 0; i < 3; ++i) {
    CHECK(gate.pass() == retake_gate::entry::kept);
    CHECK_FALSE(gate.try_borrow());
    gate.leave();
  }
  CHECK(gate.entries() == before);
  CHECK_FALSE(gate.enter());
  CHECK(gate.enter_slow() == retake_gate::entry::kept);
  CHECK(gate.entries() == before + 1);
  gate.leave();
  REQUIRE(gate.try_borrow());
  gate.keep();
  CHECK(gate.pass() == retake_gate::entry::lost);
  CHECK(gate.entries() == before + 2);
}

TEST_CASE("an owner whose P was taken learns it once, at its next entry") {
  prepare_barriers();
  retake_gate gate;
  gate.leave();
  REQUIRE(gate.try_borrow());
  CHECK_FALSE(gate.try_borrow());  // one asker at a time
  gate.keep();
  CHECK_FALSE(gate.try_borrow());  // there is nothing left to take
  CHECK_FALSE(gate.enter());
  CHECK(gate.enter_slow() == retake_gate::entry::lost);
  gate.leave();
  CHECK(gate.enter());
}
