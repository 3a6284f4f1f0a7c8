// SPDX-License-Identifier: BSL-1.0
// Selects over ends that are looked at: what is delivered at least once.
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include <leat/csp/gate.hpp>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

struct hard_to_copy {
  explicit hard_to_copy(int v) : n(v) {}
  hard_to_copy(hard_to_copy&&) = default;
  hard_to_copy(const hard_to_copy& other) : n(other.n) {
    if (fails) throw std::bad_alloc();
  }
  int n;
  static inline bool fails = false;
};

// An end as a process has it whose values are delivered at least once.
struct kept_end {
  using value_type = hard_to_copy;
  explicit kept_end(const channel<hard_to_copy>& c) {
    record->hold = hold;
    c.base()->add_ref();
    gate = csp::gate_in(csp::ref<csp::channel_base>(c.base()), record);
  }
  csp::channel_base* base() const { return gate.get(); }
  std::optional<hard_to_copy> try_recv() const;

  std::shared_ptr<csp::hold<hard_to_copy>> hold = std::make_shared<csp::hold<hard_to_copy>>();
  std::shared_ptr<csp::gate_record> record = std::make_shared<csp::gate_record>();
  csp::ref<csp::channel_base> gate;
};

}  // namespace

namespace {

// Notes where copies are made, and takes its time for the first.
struct slow_to_copy {
  slow_to_copy() = default;
  slow_to_copy(const slow_to_copy&) {
    const std::size_t n = copies.fetch_add(1);
    if (n < places.size()) places[n] = this;
    while (n == 0 && held_up) std::this_thread::yield();
  }
  static inline std::atomic<std::size_t> copies{0};
  static inline std::array<std::atomic<const void*>, 4> places{};
  static inline std::atomic<bool> held_up{true};
};

}  // namespace

TEST_CASE("a value in hand passes by one that was cut short while it copied it") {
  using state = csp::hold_base::state;
  using hold = csp::hold<slow_to_copy>;
  const auto first = std::make_shared<hold>(), second = std::make_shared<hold>(),
             third = std::make_shared<hold>();
  static_cast<std::optional<slow_to_copy>*>(first->place())->emplace();
  first->become(state::again);
  second->succeed(first);
  std::thread cut_short([&] { (void)second->again(); });
  while (slow_to_copy::copies == 0) std::this_thread::yield();
  third->succeed(second);
  CHECK(third->at() == state::again);
  (void)third->again();
  CHECK(slow_to_copy::copies == 2);
  slow_to_copy::held_up = false;
  cut_short.join();
  CHECK(slow_to_copy::places[0] == second->value());
  CHECK(slow_to_copy::places[1] == third->value());
}

TEST_CASE("a value that is delivered at least once is not lost when its copy throws") {
  at_procs([] {
    const channel<hard_to_copy> c(2);
    const kept_end end(c);
    c.send(hard_to_copy(7));
    c.send(hard_to_copy(8));
    int got = 0;
    const auto take = [&] { return select(on_recv(end, [&](const hard_to_copy& v) { got = v.n; })); };
    hard_to_copy::fails = true;
    CHECK_THROWS_AS(take(), std::bad_alloc);
    hard_to_copy::fails = false;
    CHECK(got == 0);
    REQUIRE(end.hold->at() == csp::hold_base::state::in_hand);
    end.hold->become(csp::hold_base::state::again);  // as its supervisor does
    CHECK(take() == 0);
    CHECK(got == 7);
    CHECK(take() == 0);
    CHECK(got == 8);
  });
}

TEST_CASE("a kept case goes through its gate at each select, also at a one-to-one ring") {
  at_procs([] {
    const channel<hard_to_copy> c(8, single_options());
    const kept_end end(c);
    for (int i = 1; i <= 6; ++i) CHECK(c.send(hard_to_copy(i)) == send_status::sent);
    int got = 0;
    std::vector<select_case> cases;
    cases.emplace_back(on_recv(end, [&](const hard_to_copy& v) { got = v.n; }));
    for (int i = 1; i <= 5; ++i) {
      CHECK(select(cases) == 0);
      CHECK(got == i);
      REQUIRE(end.hold->at() == csp::hold_base::state::in_hand);
      CHECK(static_cast<hard_to_copy*>(end.hold->value())->n == i);
    }
    end.hold->become(csp::hold_base::state::again);
    CHECK(select(cases) == 0);
    CHECK(got == 5);
    CHECK(select(cases) == 0);
    CHECK(got == 6);
  });
}
