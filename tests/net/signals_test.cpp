// SPDX-License-Identifier: BSL-1.0
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include <leat/fiber/annotate.hpp>

#include "net/fixture.hpp"
#include "support/child.hpp"
#include "support/send_self.hpp"

using leat::test::send_self;

namespace leat::net::test {
namespace {

std::atomic<int> own_calls{0};
void own_handler(int) { ++own_calls; }

using handler = void (*)(int);
bool acts_by(int number, handler h) {
  struct sigaction a = {};
  ::sigaction(number, nullptr, &a);
  return a.sa_handler == h;
}

// The program's own handler while it lives.
class own_action {
 public:
  explicit own_action(int number) : number_(number) {
    struct sigaction a = {};
    a.sa_handler = own_handler;
    ::sigaction(number, &a, &before_);
  }
  ~own_action() { ::sigaction(number_, &before_, nullptr); }
  own_action(const own_action&) = delete;
  own_action& operator=(const own_action&) = delete;

 private:
  int number_;
  struct sigaction before_ = {};
};

TEST_CASE("a signal comes out of its channel") {
  at_procs([] {
    const in<int> s = signals(SIGHUP, SIGUSR1);
    send_self(SIGUSR1);
    CHECK(s.recv_until(patience) == SIGUSR1);
    send_self(SIGHUP);
    CHECK(s.recv_until(patience) == SIGHUP);
    CHECK(s.try_recv() == std::nullopt);
  });
}

TEST_CASE("a signal wakes who waits for nothing else") {
  at_procs([] {
    const in<int> s = signals(SIGUSR1);
    auto waiting = start_waiting([&] { CHECK(s.recv() == SIGUSR1); });
    send_self(SIGUSR1);
    waiting.get();
  });
}

TEST_CASE("a program that waits for a signal alone is not in a deadlock") {
  run_clean(with_procs(1), [] {
    const in<int> s = signals(SIGUSR1);
    std::thread sender([] {
      ::usleep(50'000);  // long enough for a wrong report
      send_self(SIGUSR1);
    });
    CHECK(s.recv() == SIGUSR1);
    sender.join();
  });
}

TEST_CASE("every channel gets the signals that it asked for") {
  at_procs([] {
    const in<int> a = signals(SIGUSR1), b = signals(SIGUSR1, SIGUSR2), c = signals(SIGUSR2);
    send_self(SIGUSR1);
    CHECK(a.recv_until(patience) == SIGUSR1);
    CHECK(b.recv_until(patience) == SIGUSR1);
    send_self(SIGUSR2);
    CHECK(b.recv_until(patience) == SIGUSR2);
    CHECK(c.recv_until(patience) == SIGUSR2);
    CHECK(a.try_recv() == std::nullopt);
  });
}

TEST_CASE("a signal to a thread that runs no G is caught") {
  run_clean(with_procs(2), [] {
    const in<int> s = signals(SIGUSR1);
    std::thread([] { ::pthread_kill(::pthread_self(), SIGUSR1); }).join();
    CHECK(s.recv_until(patience) == SIGUSR1);
  });
}

TEST_CASE("a signal is caught while all Ps compute") {
  run_clean(with_procs(2), [] {
    const in<int> s = signals(SIGUSR1);
    std::atomic<bool> over{false};
    task_group group;
    for (int i = 0; i < 2; ++i)
      group.go([&] {
        while (!over) {
        }
      });
    send_self(SIGUSR1);
    CHECK(s.recv_until(patience) == SIGUSR1);
    over = true;
  });
}

TEST_CASE("the former action comes back with the end of the last channel") {
  at_procs([] {
    own_action mine(SIGUSR1);
    own_calls = 0;
    in<int> first = signals(SIGUSR1);
    {
      in<int> second = signals(SIGUSR1, SIGUSR2);
      CHECK_FALSE(acts_by(SIGUSR1, own_handler));
      CHECK_FALSE(acts_by(SIGUSR2, SIG_DFL));
    }
    CHECK(acts_by(SIGUSR2, SIG_DFL));
    send_self(SIGUSR1);
    CHECK(first.recv_until(patience) == SIGUSR1);
    CHECK(own_calls == 0);
    first = {};
    CHECK(acts_by(SIGUSR1, own_handler));
    send_self(SIGUSR1);
    CHECK(eventually([] { return own_calls == 1; }));
  });
}

TEST_CASE("a handler that the program set meanwhile is left alone") {
  run_clean(with_procs(1), [] {
    in<int> s = signals(SIGUSR1);
    own_action mine(SIGUSR1);
    s = {};
    CHECK(acts_by(SIGUSR1, own_handler));
  });
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGUSR1, &standard, nullptr);
}

TEST_CASE("the former action comes back with the end of the runtime, and the channel is closed") {
  in<int> kept;
  leat::run(with_procs(2), [&] { kept = signals(SIGUSR1); });
  CHECK(acts_by(SIGUSR1, SIG_DFL));
  CHECK(kept.closed());
  leat::run(with_procs(2), [&] {
    const in<int> fresh = signals(SIGUSR1);
    send_self(SIGUSR1);
    CHECK(fresh.recv_until(patience) == SIGUSR1);
    kept = {};  // of the runtime before: touches nothing of this one
    CHECK_FALSE(acts_by(SIGUSR1, SIG_DFL));
  });
}

TEST_CASE("a reader that lags behind loses the oldest, and the handlers never wait") {
  run_clean(with_procs(2), [] {
    const in<int> s = signals(SIGUSR1, SIGUSR2);
    const std::size_t room = s.capacity();
    for (std::size_t i = 0; i < room + 5; ++i) {
      const std::uint64_t before = s.stats().sent;
      send_self(SIGUSR1);
      CHECK(eventually([&] { return s.stats().sent > before; }));
    }
    send_self(SIGUSR2);
    CHECK(eventually([&] { return s.stats().sent == room + 6; }));
    CHECK(s.size() == room);
    CHECK(s.stats().dropped == 6);
    for (std::size_t i = 0; i + 1 < room; ++i) CHECK(s.try_recv() == SIGUSR1);
    CHECK(s.try_recv() == SIGUSR2);
  });
}

TEST_CASE("what cannot be caught is refused with a reason") {
  run_clean(with_procs(1), [] {
    for (const int n : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, 0, -1, 65, 1000, 32})
      CHECK_THROWS_AS((void)signals(n), std::invalid_argument);
    CHECK(text_of<std::invalid_argument>([] { (void)signals(SIGKILL); }) ==
          "leat::signals: 9 cannot be caught");
    CHECK(acts_by(SIGUSR1, SIG_DFL));
  });
}

TEST_CASE("without a runtime there is nobody to tell, and nothing is changed") {
  CHECK_THROWS_AS((void)signals(SIGUSR1), spawn_error);
  CHECK(acts_by(SIGUSR1, SIG_DFL));
}

TEST_CASE("channels that come and go while signals come") {
  run_clean(with_procs(4), [] {
    struct sigaction ignore = {}, before = {};
    ignore.sa_handler = SIG_IGN;  // between two channels
    ::sigaction(SIGUSR1, &ignore, &before);
    std::atomic<bool> over{false};
    std::thread sender([&] {
      while (!over) send_self(SIGUSR1);
    });
    {
      task_group group;
      for (int i = 0; i < 4; ++i)
        group.go([&] {
          for (int k = 0; k < 50; ++k) CHECK(signals(SIGUSR1).recv_until(patience) == SIGUSR1);
        });
      group.wait();
    }
    over = true;
    sender.join();
    CHECK(acts_by(SIGUSR1, SIG_IGN));
    ::sigaction(SIGUSR1, &before, nullptr);
  });
}

LEAT_CHILD(second_signal_kills) {
  leat::run([] {
    in<int> quit = signals(SIGTERM);
    send_self(SIGTERM);
    (void)quit.recv();
    std::printf("first\n");
    std::fflush(stdout);
    quit = {};
    send_self(SIGTERM);
    (void)sleep_for(10s);
  });
}

TEST_CASE("the second signal kills a program that has let go of its channel") {
  const auto r = leat::test::run_self("second_signal_kills");
  CHECK(r.said("first"));
  CHECK(r.died_by(SIGTERM));
}

}  // namespace
}  // namespace leat::net::test

LEAT_CHILD(signals_with_few_descriptors) {
  leat::run([] {
    const int first_free = ::dup(STDIN_FILENO);
    ::close(first_free);
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    const auto allow = [&](int n) {
      const rlimit few{static_cast<rlim_t>(first_free + n), files.rlim_max};
      return ::setrlimit(RLIMIT_NOFILE, &few) == 0;
    };
    constexpr int needed = 5;  // the bell, its copy, the poller's three
    for (int n = 0; n < needed; ++n) {
      if (!allow(n)) std::_Exit(1);
      try {
        (void)leat::signals(SIGUSR1);
        std::_Exit(2);
      } catch (const std::system_error& e) {
        if (std::string(e.what()).find("ulimit -n") == std::string::npos) std::_Exit(3);
      }
    }
    // What a refused call had opened is closed again.
    if (!allow(needed)) std::_Exit(1);
    const leat::in<int> taken = leat::signals(SIGUSR1);
    send_self(SIGUSR1);
    if (taken.recv() != SIGUSR1) std::_Exit(4);
  });
}

TEST_CASE("with too few descriptors signals are refused, not silently lost") {
  // UndefinedBehaviorSanitizer opens a pipe to look at an object, and takes it for a bad one if it cannot.
  if (leat::fiber::under_asan) return;
  const leat::test::child_result r = leat::test::run_self("signals_with_few_descriptors");
  INFO(r.output);
  CHECK(r.exited(0));
}
