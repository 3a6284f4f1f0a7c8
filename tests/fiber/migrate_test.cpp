// SPDX-License-Identifier: BSL-1.0
//
// Fibers that change threads at every park, in the places where C++ keeps state per thread. Built
// several times with the flags that change what the optimizer may keep across a switch.
#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <leat/fiber/thread_slot.hpp>

#include "fixture.hpp"

using namespace leat::fiber;
using namespace leat::fiber::test;

namespace {

struct thread_number {
  static std::uintptr_t load() { return reinterpret_cast<std::uintptr_t>(thread_slot::load()); }
  static void store(std::uintptr_t n) { thread_slot::store(reinterpret_cast<void*>(n)); }
};

struct wrong_counts {
  std::atomic<int> slot{0}, rethrown{0}, current{0}, uncaught{0}, thread{0}, moved{0};
};

struct numbered_thread : attached_thread {
  std::uintptr_t number = 0;
};

// A thread takes only fibers that another one has left, so every park is a migration.
class relay {
 public:
  void run(std::vector<std::unique_ptr<simple_fiber>>& fibers, unsigned threads) {
    for (auto& f : fibers) queue_.push_back({f.get(), 0});
    live_ = fibers.size();
    std::vector<std::thread> pool;
    for (unsigned i = 0; i < threads; ++i) pool.emplace_back([this, i] { work(i + 1); });
    for (auto& t : pool) t.join();
  }

 private:
  void work(std::uintptr_t number) {
    numbered_thread me;
    me.number = number;
    thread_number::store(number);
    while (live_.load() > 0) {
      simple_fiber* f = nullptr;
      {
        std::lock_guard hold(lock_);
        const auto at =
            std::find_if(queue_.begin(), queue_.end(), [&](const left& l) { return l.by != number; });
        if (at != queue_.end()) {
          f = at->fiber;
          queue_.erase(at);
        }
      }
      if (!f) {
        std::this_thread::yield();
        continue;
      }
      f->resume(me);
      if (f->done()) {
        live_.fetch_sub(1);
      } else {
        std::lock_guard hold(lock_);
        queue_.push_back({f, number});
      }
    }
  }

  std::mutex lock_;
  struct left {
    simple_fiber* fiber;
    std::uintptr_t by;  // the thread that ran it last
  };
  std::vector<left> queue_;
  std::atomic<std::size_t> live_{0};
};

std::uintptr_t number_of(simple_fiber& self) { return static_cast<numbered_thread&>(self.on()).number; }

struct parks_in_flight {
  simple_fiber& self;
  wrong_counts& wrong;
  ~parks_in_flight() {
    const int before = std::uncaught_exceptions();
    self.park();
    if (std::uncaught_exceptions() != before) ++wrong.uncaught;
  }
};

void throw_park_catch(simple_fiber& self, int id, int rounds, wrong_counts& wrong) {
  for (int i = 0; i < rounds; ++i) {
    const std::string mine = "fiber " + std::to_string(id) + " round " + std::to_string(i);
    try {
      throw std::runtime_error(mine);
    } catch (const std::exception&) {
      const std::uintptr_t last = thread_number::load();
      self.park();
      if (thread_number::load() != number_of(self)) ++wrong.slot;
      if (thread_number::load() != last) ++wrong.moved;
      const auto now = std::current_exception();
      try {
        if (now) std::rethrow_exception(now);
        ++wrong.current;
      } catch (const std::exception& e) {
        if (e.what() != mine) ++wrong.current;
      }
      try {
        self.park();
        throw;
      } catch (const std::exception& e) {
        if (e.what() != mine) ++wrong.rethrown;
      }
    }
    if (i % 5 == 0) {
      try {
        parks_in_flight p{self, wrong};
        throw i;
      } catch (int n) {
        if (n != i) ++wrong.rethrown;
      }
    }
    if (thread_number::load() != number_of(self)) ++wrong.slot;
  }
  if (std::current_exception() || std::uncaught_exceptions()) ++wrong.current;
}

void check_rounds(std::size_t fibers, int rounds, unsigned threads) {
  stack_pool pool;
  wrong_counts wrong;
  {
    std::vector<std::unique_ptr<simple_fiber>> all;
    for (std::size_t i = 0; i < fibers; ++i)
      all.push_back(std::make_unique<simple_fiber>(pool, [&wrong, i, rounds](simple_fiber& self) {
        throw_park_catch(self, static_cast<int>(i), rounds, wrong);
      }));
    relay r;
    r.run(all, threads);
  }
  CHECK(wrong.slot == 0);
  CHECK(wrong.rethrown == 0);
  CHECK(wrong.current == 0);
  CHECK(wrong.uncaught == 0);
  CHECK(wrong.moved == static_cast<int>(fibers) * rounds);
}

}  // namespace

TEST_CASE("a thousand rounds of throw, park and catch on changing threads mix up nothing") {
  check_rounds(2, 1000, 2);
}

TEST_CASE("a thousand fibers change threads in the middle of exceptions") {
  // GCC's ThreadSanitizer holds fewer than 500 fibers at a time on AArch64.
  constexpr std::size_t at_once = under_tsan ? 350 : 1050;
  for (std::size_t done = 0; done < 1050; done += at_once) check_rounds(at_once, 20, 4);
}
