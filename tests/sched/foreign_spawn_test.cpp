// SPDX-License-Identifier: BSL-1.0
//
// Plain threads that spawn while runtimes come and go around them.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

struct tally {
  std::atomic<int> made{0}, ran{0}, refused{0}, gone{0};
};

// Counts how it ends, wherever that is.
class closure {
 public:
  explicit closure(tally& t) : t_(&t) { ++t_->made; }
  closure(closure&& other) noexcept : t_(std::exchange(other.t_, nullptr)) {}
  ~closure() {
    if (t_) ++t_->gone;
  }
  void operator()() { ++t_->ran; }

 private:
  tally* t_;
};

constexpr int runs = fiber::under_tsan ? 50 : 150;

}  // namespace

TEST_CASE("plain threads spawn while runtimes come and go: each closure runs, or the spawn throws") {
  tally count;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (!over.load()) {
        closure c(count);
        try {
          switch (i) {
            case 0: go(std::move(c)); break;
            case 1: spawn(std::move(c)).get(); break;
            default: (void)spawn(std::move(c)); break;
          }
        } catch (const spawn_error&) {
          ++count.refused;
          std::this_thread::yield();
        }
      }
    });
  }
  for (int i = 0; i < runs; ++i) {
    const int before = count.ran.load();
    leat::run(with_procs(1 + static_cast<unsigned>(i % 2)), [&] {
      // At every other run main is gone before anybody has got in.
      if (i % 2 == 0) CHECK(eventually([&] { return count.ran.load() > before; }));
    });
  }
  over = true;
  for (std::thread& t : threads) t.join();
  CHECK(count.ran.load() + count.refused.load() == count.made.load());
  CHECK(count.gone.load() == count.made.load());
  CHECK(count.refused.load() > 0);
}

TEST_CASE("when main has returned a plain thread's spawn is refused, and says why") {
  std::atomic<bool> told{false};
  std::thread outside;
  leat::run([&] {
    go([&] {
      while (!stop_requested()) yield();
      outside = std::thread([&] {
        try {
          go([] {});
        } catch (const spawn_error& e) {
          told = std::string(e.what()).find("main has returned") != std::string::npos;
        }
      });
      blocking([&] { outside.join(); });
    });
  });
  CHECK(told.load());
}

namespace {

// A closure whose move into the G takes until it is told to go on.
class slow_closure {
 public:
  slow_closure(std::atomic<bool>& reached, std::atomic<bool>& go_on, std::atomic<int>& live)
      : reached_(reached), go_on_(go_on), live_(live) {
    ++live_;
  }
  slow_closure(const slow_closure& other)
      : reached_(other.reached_), go_on_(other.go_on_), live_(other.live_) {
    reached_ = true;
    while (!go_on_.load()) std::this_thread::yield();
    ++live_;
  }
  ~slow_closure() { --live_; }
  void operator()() const {}

 private:
  std::atomic<bool>&reached_, &go_on_;
  std::atomic<int>& live_;
};

}  // namespace

TEST_CASE("the end of main waits for a plain thread that is about to start a G") {
  std::atomic<bool> reached{false}, go_on{false}, started{false};
  std::atomic<int> live{0};
  std::thread outside;
  leat::run(with_procs(2), [&] {
    outside = std::thread([&] {
      const slow_closure c(reached, go_on, live);
      spawn(c).get();
      started = true;
    });
    CHECK(eventually([&] { return reached.load(); }));
    go([&] {
      while (!stop_requested()) yield();
      go_on = true;
    });
  });
  outside.join();
  CHECK(started.load());
  CHECK(live.load() == 0);
}

TEST_CASE("a spawn that is under way when the runtime gives up waiting throws and leaves nothing") {
  std::atomic<bool> reached{false}, go_on{false}, refused{false};
  std::atomic<int> live{0};
  log_catcher log;
  runtime_options o = with_procs(1);
  o.grace = 1ms;
  std::thread outside;
  leat::run(o, [&] {
    outside = std::thread([&] {
      const slow_closure c(reached, go_on, live);
      try {
        spawn(c).get();
      } catch (const spawn_error&) {
        refused = true;
      }
    });
    CHECK(eventually([&] { return reached.load(); }));
    // Let it go on when nobody can find the runtime any more.
    std::thread([&] {
      while (sched::scheduler::current()) std::this_thread::yield();
      CHECK_THROWS_AS(leat::run([] {}), std::logic_error);
      go_on = true;
    }).detach();
  });
  CHECK(go_on.load());
  outside.join();
  CHECK(refused.load());
  CHECK(live.load() == 0);
}
