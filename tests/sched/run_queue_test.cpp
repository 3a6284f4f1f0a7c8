// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "fixture.hpp"

using namespace leat::sched;
using namespace leat::sched::test;

namespace {

// Never dereferenced by the ring: a number in disguise, from 1.
G* item(std::uintptr_t n) { return reinterpret_cast<G*>(n * alignof(G)); }
std::uintptr_t number(G* g) { return reinterpret_cast<std::uintptr_t>(g) / alignof(G); }

constexpr std::uint32_t capacities[] = {1, 2, 3, 4, 5, 7, 256};

}  // namespace

// Who may push is a matter of types.
template <class Q>
concept can_push = requires(Q& q, G* g) { q.push(g); } || requires(Q& q) { q.pop(); };
static_assert(can_push<run_queue::owner>);
static_assert(!can_push<const run_queue::owner> && !can_push<run_queue::thief> && !can_push<run_queue>);

TEST_CASE("a ring of n holds exactly n, and gives them back in order") {
  for (const std::uint32_t capacity : capacities) {
    CAPTURE(capacity);
    run_queue::owner q(capacity, true);
    CHECK(q.capacity() == capacity);
    for (int lap = 0; lap < 6; ++lap) {
      if (lap == 3) q.let_thieves_in();
      CHECK(q.empty());
      CHECK(q.seen().empty());
      CHECK(q.pop() == nullptr);
      for (std::uint32_t i = 1; i <= capacity; ++i) {
        CHECK(q.push(item(i)));
        CHECK(q.size() == i);
        CHECK(q.seen().size() == i);
      }
      CHECK_FALSE(q.push(item(999)));
      CHECK(q.size() == capacity);
      for (std::uint32_t i = 1; i <= capacity; ++i) CHECK(number(q.pop()) == i);
    }
  }
}

TEST_CASE("a thief takes half, rounded up, from the head, and never more than it has room for") {
  for (std::uint32_t n = 0; n <= 9; ++n) {
    for (std::uint32_t room = 1; room <= 9; ++room) {
      CAPTURE(n);
      CAPTURE(room);
      run_queue::owner q(9);
      for (std::uint32_t i = 1; i <= n; ++i) REQUIRE(q.push(item(i)));
      G* out[9] = {};
      const std::uint32_t want = std::min(n - n / 2, room);
      REQUIRE(q.for_thieves().take_half(out, room) == want);
      for (std::uint32_t i = 0; i < want; ++i) CHECK(number(out[i]) == i + 1);
      CHECK(q.size() == n - want);
    }
  }
}

TEST_CASE("a full ring spills half from its head, in order; a ring of one spills none") {
  for (const std::uint32_t capacity : capacities) {
    CAPTURE(capacity);
    run_queue::owner q(capacity);
    for (std::uint32_t i = 1; i <= capacity; ++i) REQUIRE(q.push(item(i)));
    std::vector<std::uintptr_t> spilled;
    const std::uint32_t n = q.spill_half([&](G* g) { spilled.push_back(number(g)); });
    CHECK(n == capacity / 2);
    REQUIRE(spilled.size() == n);
    for (std::uint32_t i = 0; i < n; ++i) CHECK(spilled[i] == i + 1);
    for (std::uint32_t i = n + 1; i <= capacity; ++i) CHECK(number(q.pop()) == i);
    CHECK(q.empty());
  }
}

TEST_CASE("every sequence of seven operations on a small ring does what a deque does") {
  enum op : int { push, pop, let_in, take, spill, kinds };
  for (const std::uint32_t capacity : {1u, 2u, 3u, 4u}) {
    int sequences = 1;
    for (int i = 0; i < 7; ++i) sequences *= kinds;
    int wrong = 0;
    for (int code = 0; code < sequences; ++code) {
      run_queue::owner q(capacity, true);
      std::deque<std::uintptr_t> model;
      std::uintptr_t next = 1;
      // Started full or empty by turns, and at different places of the storage.
      for (int i = 0; i < code % 3; ++i) wrong += !q.push(item(1)) || !q.pop();
      for (int i = 0, rest = code; i < 7; ++i, rest /= kinds) {
        switch (rest % kinds) {
          case push: {
            const bool fits = model.size() < capacity;
            wrong += q.push(item(next)) != fits;
            if (fits) model.push_back(next);
            ++next;
            break;
          }
          case let_in: q.let_thieves_in(); break;
          case pop: {
            wrong += number(q.pop()) != (model.empty() ? 0 : model.front());
            if (!model.empty()) model.pop_front();
            break;
          }
          case take: {
            G* out[4];
            const auto n = q.for_thieves().take_half(out, capacity);
            wrong += n != model.size() - model.size() / 2;
            for (std::uint32_t k = 0; k < n && !model.empty(); ++k) {
              wrong += number(out[k]) != model.front();
              model.pop_front();
            }
            break;
          }
          default: {
            const auto n = model.size() / 2;
            std::uint32_t seen = 0;
            wrong += q.spill_half([&](G* g) {
              wrong += model.empty() || number(g) != model.front();
              if (!model.empty()) model.pop_front();
              ++seen;
            }) != n;
            wrong += seen != n;
          }
        }
        wrong += q.size() != model.size() || q.seen().size() != model.size();
      }
    }
    CAPTURE(capacity);
    CHECK(wrong == 0);
  }
}

TEST_CASE("with an owner and two thieves each item comes out exactly once") {
  constexpr std::uintptr_t items = leat::fiber::under_tsan ? 30'000 : 300'000;
  for (const std::uint32_t capacity : {1u, 2u, 3u, 4u, 256u}) {
    CAPTURE(capacity);
    run_queue::owner q(capacity);
    const auto seen = std::make_unique<std::atomic<std::uint8_t>[]>(items + 2);
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> stolen{0}, wrong{0};
    const auto account = [&](G* g) {
      const std::uintptr_t n = number(g);
      if (n < 1 || n > items + 1 || seen[n].fetch_add(1) != 0) ++wrong;
    };
    std::vector<std::thread> thieves;
    for (int i = 0; i < 2; ++i) {
      thieves.emplace_back([&, i] {
        run_queue::thief thief = q.for_thieves();
        std::vector<G*> out(capacity);
        while (!over.load()) {
          const std::uint32_t n = thief.take_half(out.data(), i == 0 ? capacity : 1);
          if (n > capacity || q.seen().size() > capacity) ++wrong;
          std::uintptr_t last = 0;
          for (std::uint32_t k = 0; k < n; ++k) {
            if (number(out[k]) <= last) ++wrong;
            last = number(out[k]);
            account(out[k]);
          }
          stolen += n;
          if (n == 0) std::this_thread::yield();
        }
      });
    }
    std::mt19937 random(capacity);
    // On a loaded machine the yields cost a time slice each: then fewer items must do.
    const auto until = leat::now() + 2s;
    std::uintptr_t pushed = 0;
    while (pushed < items && (pushed < 1000 || leat::now() < until)) {
      switch (random() % 8) {
        case 0:
          if (G* g = q.pop()) account(g);
          break;
        case 1: (void)q.spill_half(account); break;
        default:
          if (q.push(item(pushed + 1))) {
            ++pushed;
          } else if (random() % 4 == 0) {
            std::this_thread::yield();
          }
      }
    }
    // What is there now is left to the thieves, one item at least.
    while (!q.push(item(pushed + 1))) std::this_thread::yield();
    ++pushed;
    // The last ones are left to the thieves.
    CHECK(eventually_without_entering([&] { return q.seen().empty(); }));
    over = true;
    for (auto& t : thieves) t.join();
    CHECK(q.empty());
    CHECK(wrong == 0);
    CHECK(stolen > 0);
    std::uint64_t missing = 0;
    for (std::uintptr_t n = 1; n <= pushed; ++n) missing += seen[n] != 1;
    CHECK(missing == 0);
  }
}
