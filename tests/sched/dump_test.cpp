// SPDX-License-Identifier: BSL-1.0
#include <fcntl.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "fixture.hpp"
#include "support/child.hpp"
#include "support/send_self.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::test::run_self;
using leat::test::send_self;

// With external linkage: the program exports its symbols, so the dump can name them.
[[gnu::noinline]] void wait_in_a_named_function(signal_to_g& s) {
  s.wait();
  asm volatile("" ::: "memory");  // no tail call: the frame stays
}
[[gnu::noinline]] void sleep_in_another_named_function() {
  (void)sleep_for(1h);
  asm volatile("" ::: "memory");
}

namespace {

std::string dumped() {
  int pipe[2];
  if (::pipe(pipe) != 0 || ::fcntl(pipe[0], F_SETFL, O_NONBLOCK) != 0) std::abort();
  dump(pipe[1]);
  ::close(pipe[1]);
  std::string text;
  char part[4096];
  for (ssize_t n = 0; (n = ::read(pipe[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  ::close(pipe[0]);
  return text;
}

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("a dump shows each G with id, name, status, what it waits for, and where it stands") {
  sweep_clean([] {
    signal_to_g s;
    auto reader = spawn("reader", [&] { wait_in_a_named_function(s); });
    auto sleeper = spawn("sleeper", [] { sleep_in_another_named_function(); });
    auto joiner = spawn("joiner", [&] { reader.get(); });
    std::string text;
    // All of it at once: a G is said to wait a moment before it has left its stack, and shows no trace then.
    const bool shown = eventually([&] {
      text = dumped();
      return has(text, "for parked") && has(text, "for sleep") && has(text, "for join") &&
             has(text, "wait_in_a_named_function") && has(text, "sleep_in_another_named_function");
    });
    CHECK_MESSAGE(shown, text);
    CHECK_MESSAGE(has(text, "4 Gs"), text);
    CHECK(has(text, "G " + std::to_string(self().id) + " 'main': running"));
    CHECK(has(text, "'reader': waiting for parked, since "));
    CHECK(has(text, "'sleeper': waiting for sleep, since "));
    CHECK(has(text, "'joiner': waiting for join, since "));
    s.signal();
    joiner.get();
  });
}

// Others park while it is written, by a clock that has gone on since it began.
TEST_CASE("a dump never says that a G has waited for no time, or for less") {
  run_clean(with_procs(2), [] {
    std::atomic<bool> over{false};
    std::vector<task<void>> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(spawn([&] {
        while (!over) (void)sleep_for(50us);
      }));
    const auto until = now() + 200ms;
    while (now() < until) {
      const std::string text = blocking([] { return dumped(); });
      CHECK_MESSAGE(!has(text, "since -"), text);
      CHECK_MESSAGE(!has(text, "since 0"), text);
    }
    over = true;
    for (auto& t : all) t.join();
  });
}

TEST_CASE("a dump can be taken at any time by anyone while Gs come and go") {
  run_clean(with_procs(2), [] {
    std::atomic<bool> over{false};
    std::vector<task<void>> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(spawn([&] {
        while (!over) {
          spawn([] { (void)sleep_for(10us); }).get();
          yield();
        }
      }));
    }
    const int nowhere = ::open("/dev/null", O_WRONLY);
    REQUIRE(nowhere >= 0);
    std::thread outside([&] {
      for (int i = 0; i < 50; ++i) dump(nowhere);
    });
    for (int i = 0; i < 50; ++i) {
      dump(nowhere);
      yield();
    }
    blocking([&] { outside.join(); });
    over = true;
    for (auto& t : all) t.get();
    ::close(nowhere);
  });
}

namespace {

// What goes to stderr while it lives; printed to stdout at its end.
class caught_stderr {
 public:
  caught_stderr() {
    ::fflush(stderr);
    earlier_ = ::dup(STDERR_FILENO);
    if (earlier_ < 0 || ::pipe2(pipe_, O_NONBLOCK) != 0 || ::dup2(pipe_[1], STDERR_FILENO) < 0) std::abort();
  }
  ~caught_stderr() {
    ::dup2(earlier_, STDERR_FILENO);
    std::printf("%s", text().c_str());
    std::fflush(stdout);
  }
  caught_stderr(const caught_stderr&) = delete;
  caught_stderr& operator=(const caught_stderr&) = delete;

  const std::string& text() {
    char part[4096];
    for (ssize_t n = 0; (n = ::read(pipe_[0], part, sizeof part)) > 0;)
      text_.append(part, static_cast<std::size_t>(n));
    return text_;
  }

 private:
  int earlier_ = -1;
  int pipe_[2] = {-1, -1};
  std::string text_;
};

}  // namespace

LEAT_CHILD(dumps_on_sigquit) {
  const int status = leat::run(with_procs(2), [] {
    static signal_to_g s;
    auto reader = spawn("reader", [] { wait_in_a_named_function(s); });
    (void)eventually([] { return has(dumped(), "wait_in_a_named_function"); });
    {
      caught_stderr said;
      send_self(SIGQUIT);
      (void)eventually([&] { return has(said.text(), "wait_in_a_named_function"); });
    }
    s.signal();
    reader.get();
    return 9;
  });
  std::printf("run returned %d\n", status);
}
LEAT_CHILD(dumps_when_idle) {
  leat::run(with_procs(1), [] {
    auto sleeper = spawn("sleeper", [] { sleep_in_another_named_function(); });
    static std::atomic<bool> shown{false};
    std::thread late([] {
      (void)eventually([] { return stats().idle_procs == 1; });
      {
        caught_stderr said;
        send_self(SIGQUIT);
        (void)eventually([&] { return has(said.text(), "sleep_in_another_named_function"); });
      }
      shown = true;
    });
    // In naps long enough for all to be idle.
    while (!shown) (void)sleep_for(100ms);
    late.join();
  });
}
// Standard error is full, and nobody reads it.
LEAT_CHILD(sysmon_goes_on_beside_a_dump_that_waits) {
  int full[2];
  if (::pipe(full) != 0) return;
  (void)::fcntl(full[1], F_SETFL, O_NONBLOCK);
  const std::string much(4096, 'x');
  while (::write(full[1], much.data(), much.size()) > 0) {
  }
  (void)::fcntl(full[1], F_SETFL, 0);
  (void)::dup2(full[1], STDERR_FILENO);
  leat::run(with_procs(1), [] {
    for (int round = 0; round < 3; ++round) {
      send_self(SIGQUIT);
      static std::atomic<bool> goes_on;
      goes_on = true;
      // A G that computes is put aside for others by sysmon alone.
      auto hog = spawn("hog", [] {
        while (goes_on) {
        }
      });
      (void)sleep_for(1ms);
      goes_on = false;
      hog.get();
    }
    std::printf("all went on\n");
    std::fflush(stdout);
    std::_Exit(7);  // the thread of the dump waits for ever
  });
}
LEAT_CHILD(sigquit_after_run_is_as_before) {
  leat::run(with_procs(1), [] {});
  ::raise(SIGQUIT);
  std::printf("still here\n");
}

TEST_CASE("SIGQUIT dumps all Gs and the program goes on") {
  const auto r = run_self("dumps_on_sigquit");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("'reader': waiting for parked"));
  CHECK(r.said("wait_in_a_named_function(leat::sched::test::signal_to_g&)+0x"));
  CHECK(r.said("'main'"));
  CHECK(r.said("run returned 9"));
  const auto idle = run_self("dumps_when_idle");
  INFO(idle.output);
  CHECK(idle.exited(0));
  CHECK(idle.said("'sleeper': waiting for sleep"));
  CHECK(idle.said("sleep_in_another_named_function()+0x"));
}

TEST_CASE("a dump that nobody takes keeps sysmon from its work for a moment at most") {
  const auto r = run_self("sysmon_goes_on_beside_a_dump_that_waits");
  CHECK(r.exited(7));
  CHECK(r.said("all went on"));
}

TEST_CASE("after run, SIGQUIT does what it did before") {
  const auto r = run_self("sigquit_after_run_is_as_before");
  CHECK(r.died_by(SIGQUIT));
  CHECK_FALSE(r.said("still here"));
}
