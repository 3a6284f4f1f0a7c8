// SPDX-License-Identifier: BSL-1.0
// Channels that cannot be made, promises that are broken, and lifetimes.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "csp/fragile.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

// --- bad input -------------------------------------------------------------------------------------------

// In a child, which the sanitizers can be told to let ask for that much.
template <class T>
void make_too_big(std::size_t capacity, const channel_options& o) {
  try {
    const channel<T> c(capacity, o);
    std::printf("made %zu of %zu\n", capacity, sizeof(T));
  } catch (const channel_error& e) {
    std::printf("%s\n", e.what());
  }
}
constexpr std::size_t most_of_all = std::numeric_limits<std::size_t>::max();
constexpr std::size_t too_big[] = {std::size_t{1} << (sizeof(std::size_t) * 8 - 4), most_of_all,
                                   most_of_all / 2 + 1, most_of_all - 1};
// As many as a channel can hold at all, and together more than there are addresses.
constexpr std::size_t too_many = std::numeric_limits<std::uint32_t>::max();
struct large {
  char bytes[std::size_t{1} << 16];
};
LEAT_CHILD(too_big_general) {
  for (const std::size_t capacity : too_big) {
    make_too_big<char>(capacity, {});
    make_too_big<long long>(capacity, {});
    make_too_big<fragile>(capacity, {});
  }
  make_too_big<large>(too_many, {});
  const channel<char> c(1);  // and the next one can be made
  std::printf("then: %s\n", to_string(c.send('x')));
}
LEAT_CHILD(too_big_single) {
  for (const std::size_t capacity : too_big) {
    make_too_big<char>(capacity, single_options());
    make_too_big<long long>(capacity, single_options());
  }
  make_too_big<large>(too_many, single_options());
  const channel<char> c(1, single_options());
  std::printf("then: %s\n", to_string(c.send('x')));
}

TEST_CASE("a capacity above memory is an error that says so") {
  for (const char* const child : {"too_big_general", "too_big_single"}) {
    const auto r = leat::test::run_self(
        child, {.environment = {"ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0",
                                "TSAN_OPTIONS=allocator_may_return_null=1"}});
    INFO(r.output);
    CHECK(r.exited(0));
    CHECK(!r.said("made"));
    CHECK(r.said("then: sent"));
    const auto no_memory = [](std::size_t capacity, std::size_t size) {
      return "no memory for a channel that holds " + std::to_string(capacity) + " values of " +
             std::to_string(size) + " bytes\n";
    };
    CHECK(r.said(no_memory(too_many, sizeof(large))));
    for (const std::size_t capacity : too_big) {
      if (capacity > too_many) {
        CHECK(r.said("a channel cannot hold " + std::to_string(capacity) + " values: at most " +
                     std::to_string(too_many) + "\n"));
      } else {
        CHECK(r.said(no_memory(capacity, sizeof(char))));
        CHECK(r.said(no_memory(capacity, sizeof(long long))));
      }
    }
  }
}

TEST_CASE("a channel begins with a cache line, wherever its memory comes from") {
  std::vector<channel<int>> all;
  for (std::size_t i = 0; i < 100; ++i) {
    all.emplace_back(i % 3);
    CHECK(reinterpret_cast<std::uintptr_t>(all.back().base()) % 64 == 0);
    if (i % 7 == 6) all.erase(all.begin(), all.begin() + 3);
  }
}

TEST_CASE("a channel knows its name") {
  CHECK(channel<int>().base()->name().empty());
  CHECK(channel<int>(3, {.name = "levels"}).base()->name() == "levels");
  CHECK(channel<int>(3, {.writers = 1, .readers = 1, .name = "levels"}).base()->name() == "levels");
}

TEST_CASE("latest takes any capacity: it never holds more than one") {
  const channel<int> c(std::numeric_limits<std::size_t>::max(), policy_options(full::latest));
  CHECK(c.capacity() == 1);
  const channel<int> b(broadcast, std::numeric_limits<std::size_t>::max(), policy_options(full::latest));
  const in<int> reader = b;
  CHECK(reader.capacity() == 1);
}

LEAT_CHILD(two_writers) {
  leat::run(with_procs(2), [] {
    const channel<int> c(8, single_options());
    whereabouts w;
    auto first = spawn([&, c] {
      c.send(1);
      w.here();
      (void)in<int>().recv();
    });
    (void)w.will_park(wait_reason::receive);
    c.send(2);
    first.request_stop();
  });
}
LEAT_CHILD(two_readers) {
  leat::run(with_procs(2), [] {
    channel_options o = single_options();
    o.name = "narrow";
    const channel<int> c(8, o);
    whereabouts w;
    auto first = spawn([&, c] {
      (void)c.try_recv();
      w.here();
      (void)in<int>().recv();
    });
    (void)w.will_park(wait_reason::receive);
    (void)c.try_recv();
    first.request_stop();
  });
}
// A child has no test running: it says what it saw by its exit status.
LEAT_CHILD(one_after_the_other) {
  const int wrong = leat::run(with_procs(2), [] {
    int n = 0;
    const channel<int> c(8, single_options());
    for (int i = 0; i < 5; ++i) spawn([=] { c.send(i); }).get();
    for (int i = 0; i < 5; ++i) n += spawn([=] { return c.recv() != i; }).get();
    return n;
  });
  if (wrong != 0) std::exit(1);
}

TEST_CASE("a second live G on a side that was declared to have one is caught in debug builds") {
  if (!leat::detail::lock_order_checked) {
    MESSAGE("skipped: this build has no debug checks (LEAT_DEBUG_CHECKS)");
    return;
  }
  for (const char* const child : {"two_writers", "two_readers"}) {
    const auto r = leat::test::run_self(child);
    INFO(r.output);
    CHECK(r.died_by(SIGABRT));
    CHECK(r.said("a second G uses a side of a channel"));
  }
  const auto r = leat::test::run_self("two_readers");
  CHECK(r.said("narrow"));
  CHECK(r.said("receives from"));
}

TEST_CASE("a side may pass from a G that has ended to the next") {
  const auto r = leat::test::run_self("one_after_the_other");
  INFO(r.output);
  CHECK(r.exited(0));
}

// --- lifetime --------------------------------------------------------------------------------------------

TEST_CASE("the last handle may be dropped by a receiver that was just woken") {
  at_procs_both_flavours([](const channel_options& o) {
    for (const std::size_t capacity : {0u, 1u}) {
      for (int round = 0; round < scaled(2000); ++round) {
        auto c = std::make_unique<channel<counted>>(capacity, o);
        // The receiver's handle is its own; the sender's is gone as soon as its send has returned, or before.
        auto receiver = spawn([mine = *c]() mutable {
          const auto v = mine.recv();
          CHECK(v->value == 1);
          mine = channel<counted>();
        });
        auto sender = spawn([mine = *c]() mutable {
          CHECK(mine.send(counted(1)) == send_status::sent);
          mine = channel<counted>();
        });
        c.reset();
        receiver.get();
        sender.get();
      }
      CHECK(counted::live == 0);
    }
  });
}

TEST_CASE("the last handle may be dropped by a select that was just woken, or by a close") {
  at_procs([] {
    for (int round = 0; round < scaled(1000); ++round) {
      auto a = std::make_unique<channel<counted>>(0), b = std::make_unique<channel<counted>>(1);
      auto t = spawn([x = *a, y = *b]() mutable {
        const int r =
            select(on_recv(x, [](std::optional<counted>) {}), on_recv(y, [](std::optional<counted>) {}));
        x = y = channel<counted>();
        return r;
      });
      auto s = spawn([x = std::move(*a)] { x.close(); });
      auto u = spawn([y = std::move(*b)] { (void)y.send(counted(2)); });
      a.reset();
      b.reset();
      CHECK(t.get() >= 0);
      s.get();
      u.get();
    }
    CHECK(counted::live == 0);
  });
}

TEST_CASE("ends keep the channel alive, and an end made of a moved-from handle is nil") {
  at_procs([] {
    out<counted> to;
    in<counted> from;
    {
      const channel<counted> c(2);
      to = c;
      from = c;
    }
    CHECK(to.send(counted(1)) == send_status::sent);
    CHECK(from.recv()->value == 1);
    CHECK(to.send(counted(2)) == send_status::sent);
    to = {};
    CHECK(counted::live == 1);
    CHECK(from.size() == 1);
    from = {};
    CHECK(counted::live == 0);
    channel<int> a(1);
    const channel<int> b = std::move(a);
    CHECK(!in<int>(a));  // NOLINT: what a moved-from handle is
    CHECK(b.send(1) == send_status::sent);
  });
}
