// SPDX-License-Identifier: BSL-1.0
#include <stdexcept>
#include <thread>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

std::atomic<int> made{0}, destroyed{0};

struct counted {
  int value = 0;
  counted() { ++made; }
  ~counted() { ++destroyed; }
};

struct throws_first {
  throws_first() {
    if (fail.exchange(false)) throw std::runtime_error("not now");
  }
  int value = 3;
  static inline std::atomic<bool> fail{true};
};

local<counted> mine;
local<int> number;
local<std::string> text;
local<throws_first> picky;

struct uses_others {
  uses_others() { *number = 5; }
  // Runs after the body, and makes a value anew if it is gone already.
  ~uses_others() { seen = ++*number; }
  static inline std::atomic<int> seen{0};
};
local<uses_others> nested;

struct parks_at_end {
  ~parks_at_end() {
    (void)sleep_for(1ms);
    ++ended;
  }
  static inline std::atomic<int> ended{0};
};
local<parks_at_end> slow_to_go;

}  // namespace

TEST_CASE("each G has its own value, which stays the same object across parks and threads") {
  sweep_clean([] {
    made = destroyed = 0;
    std::atomic<int> wrong{0}, ended{0};
    for (int i = 1; i <= 100; ++i) {
      go([&, i] {
        counted* const at = &*mine;
        mine->value = i;
        *number = -i;
        for (int k = 0; k < 5; ++k) {
          if (k % 2) {
            yield();
          } else {
            (void)sleep_for(50us);
          }
          if (&*mine != at || mine->value != i || *number != -i) ++wrong;
        }
        ++ended;
      });
    }
    CHECK(eventually([&] { return ended == 100; }));
    CHECK(wrong == 0);
    CHECK(eventually([] { return destroyed == 100; }));
    CHECK(made == 100);
  });
}

TEST_CASE("a new G starts with a fresh value, also on a stack and control block used before") {
  run_clean(with_procs(1), [] {
    for (int i = 0; i < 50; ++i) {
      spawn([] {
        CHECK(*number == 0);
        CHECK(text->empty());
        *number = 1;
        *text = "a text that is long enough to live on the heap";
      }).get();
    }
  });
}

TEST_CASE("a value is destroyed when its G ends, also by an exception, before its joiner goes on") {
  run_clean(with_procs(2), [] {
    made = destroyed = 0;
    auto t = spawn([] {
      mine->value = 1;
      throw std::runtime_error("over");
    });
    CHECK_THROWS_AS(t.get(), std::runtime_error);
    CHECK(made == 1);
    CHECK(destroyed == 1);
  });
}

TEST_CASE("a value that uses others, and one that parks in its destructor, are destroyed properly") {
  sweep_clean([] {
    uses_others::seen = 0;
    parks_at_end::ended = 0;
    spawn([] {
      (void)*nested;
      (void)*slow_to_go;
    }).get();
    CHECK(uses_others::seen > 0);
    CHECK(parks_at_end::ended == 1);
  });
}

TEST_CASE("a constructor that throws leaves no value; the next use tries again") {
  run_clean(with_procs(1), [] {
    throws_first::fail = true;
    CHECK_THROWS_AS(picky->value++, std::runtime_error);
    CHECK(picky->value == 3);
  });
}

TEST_CASE("on a thread that runs no G, and inside blocking, it is refused") {
  CHECK_THROWS_AS(*number = 1, std::logic_error);
  run_clean(with_procs(1), [] {
    CHECK_THROWS_AS(blocking([] { *number = 1; }), std::logic_error);
    std::thread([] { CHECK_THROWS_AS(*number = 1, std::logic_error); }).join();
  });
}
