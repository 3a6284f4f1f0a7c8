// SPDX-License-Identifier: BSL-1.0
//
// The M that blocks in the poller is woken, in time, by all who may want it. Built twice: with
// LEAT_TEST_WITH_ASIO it blocks in Asio's io_context, else in the poller's own epoll set.
#include <sys/socket.h>
#include <algorithm>
#include <thread>

#include <leat/net/poller.hpp>

#include "core_fixture.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::net::test;

namespace {

// Whichever kind of wait this program is about, in the runtime that runs.
void use_network() {
#ifdef LEAT_TEST_WITH_ASIO
  (void)io();
  CHECK(net::poller::get().has_callbacks());
#else
  CHECK_FALSE(net::poller::get().has_callbacks());
#endif
}

template <class F>
void at_procs_with_network(F body) {
  at_procs([&] {
    use_network();
    body();
  });
}

bool echoes() {
  connection c;
  auto t = spawn([&] {
    char one = 0;
    c.far.read_exactly({&one, 1}, 20s);
    c.far.write({&one, 1});
  });
  c.near.write("x");
  char one = 0;
  c.near.read_exactly({&one, 1}, 20s);
  t.get();
  return one == 'x';
}

}  // namespace

TEST_CASE("the network may come into use while the runtime runs, and in one runtime after another") {
  at_procs([] {
    (void)sleep_for(1ms);
    use_network();
    CHECK(echoes());
  });
}

TEST_CASE("Gs that threads start while an M is on its way into the poller, or out of it, all run") {
  at_procs_with_network([] {
    const std::uint64_t seed = seed_for("submitters");
    hang_guard guard("submitters", seed, 90s);
    const keep_alive alive;
    constexpr int threads = 3;
    const int each = scaled(3000);
    std::atomic<int> left{threads};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        random_numbers random(seed + static_cast<unsigned>(i));
        for (rounds_of turns(each); turns.more();) {
          std::atomic<bool> ran{false};
          go([&] {
            guard.progress();
            ran = true;
          });
          while (!ran) std::this_thread::yield();
          spin_for(std::chrono::microseconds(random.below(30)));
        }
        --left;
      });
    while (left.load() > 0) (void)sleep_for(100us);
    for (auto& t : all) t.join();
  });
}

TEST_CASE("bytes and timers end the same wait") {
  at_procs_with_network([] {
    const std::uint64_t seed = seed_for("bytes and timers");
    hang_guard guard("bytes and timers", seed, 90s);
    random_numbers random(seed);
    connection c;
    auto t = spawn([&] {
      char one = 0;
      while (c.far.read_some({&one, 1}) > 0) guard.progress();
    });
    for (rounds_of all(scaled(3000)); all.more();) {
      c.near.write("x");
      (void)sleep_for(std::chrono::microseconds(random.below(100)));
      guard.progress();
    }
    c.near.close();
    t.get();
  });
}

TEST_CASE("sleeps are not rounded up to milliseconds while an M blocks in the poller" * leat::test::soak) {
  at_procs_with_network([] {
    connection c;
    auto t = spawn([&] {
      char one = 0;
      (void)c.far.read_some({&one, 1});
    });
    std::vector<nanoseconds> late;
    for (int i = 0; i < 100; ++i) {
      const auto until = now() + 1300us;
      (void)sleep_until(until);
      late.push_back(now() - until);
    }
    std::sort(late.begin(), late.end());
    CHECK(late.front() >= 0ns);
    // Rounded up, each would be 700 us late; on a busy machine many are.
    CHECK(leat::test::at_most("how late a sleep ends while an M polls, best", late.front(), 500us));
    c.near.close();
    t.get();
  });
}

namespace {

void serve_beside_a_hog() {
  run_clean(with_procs(1), [] {
    use_network();
    connection c;
    auto t = spawn([&] {
      char one = 0;
      while (c.far.read_some({&one, 1}) > 0) c.far.write({&one, 1});
    });
    std::atomic<bool> over{false};
    std::vector<nanoseconds> took;
    std::thread client([&] {
      const int fd = c.near.handle().fd();
      for (int i = 0; i < 15; ++i) {
        const auto start = now();
        char one = 'x';
        (void)!::send(fd, &one, 1, 0);
        while (::recv(fd, &one, 1, MSG_DONTWAIT) != 1) ::usleep(200);
        took.push_back(now() - start);
      }
      over = true;
    });
    CHECK(eventually_without_entering([&] { return over.load(); }));
    client.join();
    std::sort(took.begin(), took.end());
    // The others show a busy machine.
    if (leat::test::soaking())
      CHECK(leat::test::at_most("an answer beside a G that computes, best", took.front(), 30ms * slow_build));
    c.near.close();
    t.get();
  });
}

}  // namespace

TEST_CASE("I/O of others is served while the only P computes") { serve_beside_a_hog(); }
TEST_CASE("I/O of others is served within 30 ms while the only P computes" * leat::test::soak) {
  serve_beside_a_hog();
}

TEST_CASE("Gs that wait for bytes that never come cost no CPU" * leat::test::soak) {
  rlimit was{};
  ::getrlimit(RLIMIT_NOFILE, &was);
  rlimit more = was;
  more.rlim_cur = std::min<rlim_t>(was.rlim_max, 4096);
  ::setrlimit(RLIMIT_NOFILE, &more);
  run_clean(with_procs(2), [] {
    use_network();
    constexpr int n = fiber::under_tsan ? 200 : 1000;
    std::vector<net::stream> near;
    std::vector<task<void>> all;
    for (int i = 0; i < n; ++i) {
      int ends[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
      near.emplace_back(net::descriptor(ends[0]));
      all.push_back(spawn([s = net::stream(net::descriptor(ends[1]))]() mutable {
        char one = 0;
        (void)s.read_some({&one, 1});
      }));
    }
    CHECK(eventually([] { return sched::scheduler::current()->io_waits() == n; }));
    // Looked at from outside, and once sysmon has gone to sleep: a second after the last G ran.
    nanoseconds used{};
    std::thread observer([&] {
      std::this_thread::sleep_for(1500ms);
      const auto before = cpu_time();
      std::this_thread::sleep_for(2s);
      used = cpu_time() - before;
    });
    (void)sleep_for(3800ms);
    blocking([&] { observer.join(); });
    CHECK(used < 2ms * slow_build);
    for (auto& s : near) s.close();
    for (auto& t : all) t.get();
  });
  ::setrlimit(RLIMIT_NOFILE, &was);
}
