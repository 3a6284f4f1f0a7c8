// SPDX-License-Identifier: BSL-1.0
//
// Starting Gs: what becomes of the closure, the name, the stack, and an exception that escapes.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <leat/fiber/stack_pool.hpp>

#include "fixture.hpp"
#include "support/alloc_count.hpp"

using namespace leat;
using namespace leat::sched::test;

LEAT_COUNT_ALLOCATIONS();

namespace {

std::atomic<int> alive{0};

// Counts its living copies, to see that closures and results are destroyed exactly once.
struct tracked {
  tracked() { ++alive; }
  tracked(const tracked&) { ++alive; }
  tracked(tracked&&) noexcept { ++alive; }
  tracked& operator=(const tracked&) = default;
  ~tracked() { --alive; }
};

struct throws_on_copy {
  throws_on_copy() = default;
  throws_on_copy(const throws_on_copy&) { throw std::runtime_error("no copy"); }
  void operator()() {}
};

}  // namespace

TEST_CASE("go runs each closure once, from Gs and from plain threads") {
  sweep_clean([] {
    std::vector<std::atomic<int>> ran(400);
    for (std::size_t i = 0; i < 200; ++i) go([&ran, i] { ++ran[i]; });
    std::thread([&] {
      for (std::size_t i = 200; i < 400; ++i) go([&ran, i] { ++ran[i]; });
    }).join();
    CHECK(eventually([] { return stats().live == 1; }));
    for (auto& r : ran) CHECK(r == 1);
  });
}

TEST_CASE("move-only closures and results are fine") {
  sweep_clean([] {
    auto box = std::make_unique<int>(3);
    auto t = spawn([box = std::move(box)]() mutable {
      ++*box;
      return std::move(box);
    });
    CHECK(*t.get() == 4);
    std::atomic<int> seen{0};
    go([p = std::make_unique<int>(9), &seen] { seen = *p; });
    CHECK(eventually([&] { return seen == 9; }));
  });
}

TEST_CASE("closures and results of any size and alignment arrive intact") {
  run_clean(with_procs(2), [] {
    std::array<int, 1000> big{};
    for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<int>(i);
    const auto back = spawn([big] { return big; }).get();
    CHECK(back == big);
    struct alignas(256) wide {
      int value = 0;
      bool aligned() const { return reinterpret_cast<std::uintptr_t>(this) % 256 == 0; }
    };
    wide w;
    w.value = 8;
    CHECK(spawn([w] { return w.aligned() ? w.value : -1; }).get() == 8);
  });
}

TEST_CASE("closures and results are destroyed once, whoever ends first") {
  alive = 0;
  sweep_clean([] {
    {
      auto kept = spawn([t = tracked()] { return tracked(t); });
      auto dropped = spawn([t = tracked()] { return tracked(t); });
      auto threw = spawn([t = tracked()] { throw tracked(t); });
      auto unjoined = spawn([t = tracked(), big = std::array<char, 200>()] { return big[0]; });
      (void)kept.get();
      CHECK_THROWS_AS(threw.get(), tracked);
    }
    go([t = tracked()] {});
    go([t = tracked(), big = std::array<char, 200>()] { (void)big; });
    CHECK(eventually([] { return stats().live == 1 && alive == 0; }));
  });
  CHECK(alive == 0);
}

TEST_CASE("a closure that cannot be copied into the G throws at the spawn and leaves nothing") {
  run_clean(with_procs(1), [] {
    const throws_on_copy f;
    stop_source source;
    CHECK_THROWS_AS(go(f), std::runtime_error);
    CHECK_THROWS_AS((void)spawn(f), std::runtime_error);
    CHECK_THROWS_AS((void)spawn({.name = "x", .stop = source}, f), std::runtime_error);
    source.request_stop();
    CHECK(stats().live == 1);
  });
}

TEST_CASE("names are kept, cut to what fits, and gone with the G") {
  run_clean(with_procs(1), [] {
    CHECK(self().name == "main");
    CHECK(spawn("parser", [] { return std::string(self().name); }).get() == "parser");
    const std::string longer(100, 'n');
    CHECK(spawn(longer, [] { return std::string(self().name); }).get() ==
          longer.substr(0, sizeof sched::G::name - 1));
    CHECK(spawn([] { return std::string(self().name); }).get().empty());
    std::string seen;
    go("detached", [&] { seen = self().name; });
    CHECK(eventually([&] { return seen == "detached"; }));
  });
}

TEST_CASE("every G has an id of its own") {
  sweep_clean([] {
    std::mutex lock;
    std::vector<std::uint64_t> ids{self().id};
    const auto note = [&] {
      std::lock_guard hold(lock);
      ids.push_back(self().id);
    };
    for (int i = 0; i < 100; ++i) go(note);
    std::thread([&] {
      for (int i = 0; i < 100; ++i) go(note);
    }).join();
    CHECK(eventually([] { return stats().live == 1; }));
    CHECK(ids.size() == 201);
    // Not std::sort: under ASan its frames overflow the stack of a G.
    const std::set<std::uint64_t> different(ids.begin(), ids.end());
    CHECK(different.size() == ids.size());
    CHECK(!different.contains(0));
  });
}

TEST_CASE("an exception out of a bare G is logged with its name, and the program goes on") {
  sweep([](const runtime_options& o) {
    log_catcher log;
    run_clean(o, [] {
      go("worker", [] { throw std::runtime_error("disk full"); });
      go("odd", [] { throw 5; });
      go("leaves", [] { throw stopped{}; });
      CHECK(eventually([] { return stats().live == 1; }));
    });
    const std::string text = log.text();
    INFO(text);
    CHECK(log.said("'worker'"));
    CHECK(log.said("disk full"));
    CHECK(log.said("'odd'"));
    CHECK_FALSE(log.said("'leaves'"));
  });
}

TEST_CASE("without a runtime nothing can be spawned, and the error says so") {
  CHECK_THROWS_AS(go([] {}), spawn_error);
  CHECK_THROWS_AS((void)spawn([] { return 1; }), spawn_error);
  run_clean(with_procs(1), [] {});
  CHECK_THROWS_WITH_AS(go([] {}), "nothing can be spawned: no leat::run is under way in this program",
                       spawn_error);
}

TEST_CASE("a stack size that no stack can have is refused at the spawn") {
  run_clean(with_procs(1), [] {
    for (const std::size_t bad :
         {std::size_t{1}, fiber::min_stack_size - 1, fiber::max_stack_size + 1, ~std::size_t{0}}) {
      CHECK_THROWS_AS(go({.stack = bad}, [] {}), fiber::out_of_stacks);
      CHECK_THROWS_AS((void)spawn({.stack = bad}, [] {}), fiber::out_of_stacks);
    }
    CHECK(stats().live == 1);
  });
}

TEST_CASE("a G gets the stack it asked for, among others that take the default") {
  sweep_clean([] {
    const auto use = [](std::size_t bytes) {
      volatile char top = 0;
      volatile char* const deep = static_cast<volatile char*>(__builtin_alloca(bytes));
      for (std::size_t i = 0; i < bytes; i += 1024) deep[i] = 1;
      return deep[0] + top;
    };
    for (const std::size_t size :
         {fiber::min_stack_size, std::size_t{100'000}, std::size_t{1} << 20, fiber::max_stack_size}) {
      std::vector<task<int>> all;
      for (int i = 0; i < 4; ++i) {
        all.push_back(spawn({.stack = size}, [&] { return use(size / 2); }));
        all.push_back(spawn([&] { return use(8 * 1024); }));
      }
      for (auto& t : all) CHECK(t.get() == 1);
    }
  });
}

TEST_CASE("a warm spawn allocates nothing") {
  for (const unsigned procs : {1u, 2u}) {
    CAPTURE(procs);
    run_clean(undisturbed(procs), [] {
      int n = 0;
      const auto round = [&] {
        for (int i = 0; i < 100; ++i) n += spawn([i] { return i; }).get();
        std::atomic<int> ran{0};
        for (int i = 0; i < 100; ++i) go([&] { ++ran; });
        while (ran != 100) yield();
      };
      for (int i = 0; i < 20; ++i) round();
      // A thief that starts late brings caches of its own; such a round does not count.
      std::uint64_t least = ~std::uint64_t{0};
      for (const deadline enough = patience; least > 0 && !enough.expired();) {
        const test::alloc_count count;
        round();
        least = std::min(least, count.allocations());
      }
      CHECK(least == 0);
    });
  }
}

TEST_CASE("go takes arguments, of which the G has copies of its own") {
  sweep_clean([] {
    std::atomic<int> sum{0};
    std::atomic<int> done{0};
    const auto add = [&](int a, const std::string& text, std::unique_ptr<int> p) {
      sum += a + static_cast<int>(text.size()) + *p;
      ++done;
    };
    std::string text = "four";
    go(add, 1, text, std::make_unique<int>(2));
    go("named", add, 1, text, std::make_unique<int>(2));
    go(spawn_options{.name = "with options"}, add, 1, text, std::make_unique<int>(2));
    text = "changed since";
    int mine = 0;
    go(
        [&](int& x) {
          x = 5;
          ++done;
        },
        std::ref(mine));
    CHECK(eventually([&] { return done == 4; }));
    CHECK(sum == 3 * (1 + 4 + 2));
    CHECK(mine == 5);
  });
}
