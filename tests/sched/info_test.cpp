// SPDX-License-Identifier: BSL-1.0
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "fixture.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::test::run_self;

TEST_CASE("outside a runtime there is no G and all figures are zero") {
  CHECK(self().id == 0);
  CHECK(self().name.empty());
  const auto s = stats();
  CHECK(s.procs == 0);
  CHECK(s.threads == 0);
  CHECK(s.live == 0);
  CHECK(s.local_lengths.empty());
  dump(STDERR_FILENO);
  const keep_alive harmless;
}

TEST_CASE("a plain thread beside a runtime is no G but sees its figures") {
  run_clean(with_procs(2), [] {
    std::thread([] {
      CHECK(self().id == 0);
      CHECK(stats().procs == 2);
      CHECK(stats().live == 1);
      yield();
      checkpoint();
      CHECK_FALSE(stop_requested());
    }).join();
  });
}

TEST_CASE("the figures count what happened") {
  run_clean(undisturbed(1), [] {
    const auto a = stats();
    CHECK(a.procs == 1);
    CHECK(a.idle_procs == 0);
    CHECK(a.threads == 1);
    CHECK(a.idle_threads == 0);
    CHECK(a.live == 1);
    CHECK(a.local_lengths.size() == 1);
    std::vector<task<void>> all;
    signal_to_g s[5];
    for (auto& one : s) all.push_back(spawn([&] { one.wait(); }));
    CHECK(stats().spawned == a.spawned + 5);
    CHECK(stats().live == 6);
    CHECK(stats().local_lengths[0] == 5);
    yield();
    CHECK(stats().parks == a.parks + 5);
    CHECK(stats().switches >= a.switches + 5);
    CHECK(stats().local_lengths[0] == 0);
    for (auto& one : s) one.signal();
    CHECK(stats().readies == a.readies + 5);
    CHECK(stats().local_lengths[0] == 5);
    for (auto& t : all) t.get();
    CHECK(stats().finished == a.finished + 5);
    CHECK(stats().live == 1);
  });
}

TEST_CASE("a G in a blocking call, and one that lost its P, are counted as without P") {
  run_clean(undisturbed(1), [] {
    blocking([] { CHECK(stats().without_p == 1); });
    // If its P was taken meanwhile it runs on elsewhere as soon as it is queued, and is counted out right after that.
    CHECK(eventually([] { return stats().without_p == 0; }));
  });
}

TEST_CASE("events tell what happened to a G, in order") {
  run_clean(undisturbed(1), [] {
    signal_to_g s;
    std::uint64_t id = 0;
    auto t = spawn([&] {
      id = self().id;
      s.wait();
    });
    yield();
    s.signal();
    t.get();
    using sched::event_kind;
    std::vector<event_kind> kinds;
    for (const auto& e : sched::events_of(*sched::scheduler::current())) {
      if (e.g != id) continue;
      kinds.push_back(e.kind);
      if (e.kind == event_kind::parked)
        CHECK(e.detail == static_cast<std::uint8_t>(sched::wait_reason::parked));
    }
    CHECK(kinds == std::vector<event_kind>{event_kind::created, event_kind::run, event_kind::parked,
                                           event_kind::readied, event_kind::run, event_kind::finished});
  });
}

TEST_CASE("the ring keeps the latest events of a P, oldest first") {
  run_clean(undisturbed(1), [] {
    for (int i = 0; i < 1000; ++i) spawn([] {}).get();
    const auto all = sched::events_of(*sched::scheduler::current());
    CHECK(all.size() == sched::event_ring::size);
    std::uint64_t last = 0;
    for (const auto& e : all) {
      if (e.kind != sched::event_kind::created) continue;
      CHECK(e.g > last);
      last = e.g;
    }
    CHECK(last != 0);
  });
}

// --- Deadlock ---------------------------------------------------------------------------------------

namespace {

void deadlock(unsigned procs) {
  leat::run(with_procs(procs), [] {
    static signal_to_g never_sent;
    auto stuck = spawn("stuck reader", [] { never_sent.wait(); });
    auto joiner = spawn("joiner", [&] { stuck.get(); });
    joiner.get();
  });
  std::printf("came back\n");
}

}  // namespace

LEAT_CHILD(deadlock_at_one) { deadlock(1); }
LEAT_CHILD(deadlock_at_four) { deadlock(4); }
LEAT_CHILD(deadlock_after_a_sleep_and_a_call) {
  leat::run(with_procs(2), [] {
    static signal_to_g never_sent;
    go("sleeper", [] { (void)sleep_for(20ms); });
    go("caller", [] { blocking([] { std::this_thread::sleep_for(30ms); }); });
    never_sent.wait();
  });
}
LEAT_CHILD(deadlock_that_keep_alive_prevents) {
  const int status = leat::run(with_procs(2), [] {
    static signal_to_g s;
    const keep_alive outside_help;
    std::thread late([] {
      std::this_thread::sleep_for(100ms);
      s.signal();
    });
    s.wait();
    late.join();
    return 3;
  });
  std::printf("run returned %d\n", status);
}
LEAT_CHILD(deadlock_after_keep_alive) {
  leat::run(with_procs(1), [] {
    static signal_to_g s;
    {
      const keep_alive outside_help;
      (void)sleep_for(1ms);
    }
    s.wait();
  });
}
LEAT_CHILD(deadlock_when_keep_alive_ends_late) {
  leat::run(with_procs(1), [] {
    static signal_to_g s;
    auto* help = new keep_alive;
    static std::thread late([help] {
      std::this_thread::sleep_for(50ms);
      delete help;
    });
    s.wait();
  });
}

LEAT_CHILD(deadlock_after_a_printf) {
  // A plain thread that waits for input holds the lock of its stream.
  int in[2];
  if (::pipe(in) != 0) std::abort();
  static FILE* const input = ::fdopen(in[0], "r");
  static std::atomic<bool> reads{false};
  std::thread([] {
    reads = true;
    (void)std::fgetc(input);
  }).detach();
  while (!reads) std::this_thread::yield();
  std::printf("the last line before it");
  deadlock(1);
}

TEST_CASE("what was printed before a deadlock is seen, whoever waits for input") {
  const auto r = run_self("deadlock_after_a_printf");
  INFO(r.output);
  CHECK(r.exited(deadlock_exit_status));
  CHECK(r.said("the last line before it"));
}

TEST_CASE("when all Gs wait for one another the program says who waits for what, and exits") {
  for (const char* child : {"deadlock_at_one", "deadlock_at_four"}) {
    const auto r = run_self(child);
    INFO(r.output);
    CHECK(r.exited(deadlock_exit_status));
    CHECK(r.said("deadlock"));
    CHECK(r.said("'main': waiting for join"));
    CHECK(r.said("'joiner': waiting for join"));
    CHECK(r.said("'stuck reader': waiting for parked"));
    CHECK_FALSE(r.said("came back"));
  }
}

TEST_CASE("a sleep or a blocking call under way is no deadlock, but what remains is") {
  const auto r = run_self("deadlock_after_a_sleep_and_a_call");
  INFO(r.output);
  CHECK(r.exited(deadlock_exit_status));
  CHECK(r.said("all 1 Gs wait"));
  CHECK_FALSE(r.said("'sleeper'"));
  CHECK_FALSE(r.said("'caller'"));
}

TEST_CASE("while a keep_alive lives, waiting for a plain thread is no deadlock") {
  const auto r = run_self("deadlock_that_keep_alive_prevents");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("run returned 3"));
  CHECK(run_self("deadlock_after_keep_alive").exited(deadlock_exit_status));
}

TEST_CASE("a deadlock that a keep_alive hid is reported when it goes") {
  CHECK(run_self("deadlock_when_keep_alive_ends_late").exited(deadlock_exit_status));
}

// --- Trace ------------------------------------------------------------------------------------------

LEAT_CHILD(traces) {
  runtime_options o = with_procs(2);
  o.trace = 5ms;
  leat::run(o, [] {
    log_catcher log;
    const auto lines = [&] {
      std::size_t n = 0;
      const std::string text = log.text();
      for (std::size_t at = 0; (at = text.find("procs=2", at)) != std::string::npos; ++at) ++n;
      return n;
    };
    const auto begin = now();
    (void)sleep_for(50ms);
    while (lines() < 3) (void)sleep_for(10ms);
    const std::size_t n = lines();
    const auto most = static_cast<std::size_t>((now() - begin) / 5ms) + 1;
    std::printf("%s%s\n", log.text().c_str(), n <= most ? "not too many" : "too many");
  });
}

TEST_CASE("trace prints a line of figures each interval") {
  const auto r = run_self("traces");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("not too many"));
  for (const char* word :
       {"idle=", "threads=", "spinning=", "gs=1", "retakes=", "steals=", "global=0", "local=[0 0]"})
    CHECK(r.said(word));
}

TEST_CASE("without trace nothing is printed") {
  log_catcher log;
  run_clean(with_procs(2), [] { (void)sleep_for(20ms); });
  CHECK(log.text().empty());
}
