// SPDX-License-Identifier: BSL-1.0
//
// A profiler's signal may come between any two instructions, and its handler walks the stack. Here one comes
// after each: through parks of every kind, switches to Gs that wait and to Gs that have never run, and ends.
// The walk must come to an end, and must read nothing that is not there. x86-64: it has a flag for that.
#include <doctest/doctest.h>
#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>
#include <atomic>
#include <cstdio>
#include <mutex>

#include <leat/leat.hpp>

#include "support/child.hpp"

using namespace leat;

namespace {

constexpr greg_t trap_flag = 0x100;
constexpr int deepest = 128;

// Of the handler, on one thread at a time.
std::atomic<long> steps{0};
std::atomic<int> most_frames{0};
std::atomic<bool> over{false};

void walk(int, siginfo_t*, void* at) {
  void* frames[deepest];
  const int n = ::backtrace(frames, deepest);
  steps.fetch_add(1);
  if (n > most_frames.load()) most_frames.store(n);
  if (over.load()) static_cast<ucontext_t*>(at)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
}

[[gnu::noinline]] void begin_stepping() {
  asm volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

void use_everything() {
  const channel<int> meet, back;
  const channel<int> ring(1, {.writers = 1, .readers = 1});
  mutex m;
  for (int round = 0; round < 2; ++round) {
    // Main parks first, and what it switches to has never run.
    auto sends = spawn([=] { (void)meet.send(1); });
    (void)meet.recv();
    auto takes = spawn([=] { (void)meet.recv(); });
    (void)meet.send(2);
    auto fills = spawn([=] {
      for (int i = 0; i < 4; ++i) (void)ring.send(i);
    });
    for (int i = 0; i < 4; ++i) (void)ring.recv();
    auto answers = spawn([=] { (void)back.send(3); });
    select(on_recv(meet, [](int) {}), on_recv(back, [](int) {}));
    std::unique_lock hold(m);
    auto locks = spawn([&] { std::scoped_lock waits(m); });
    yield();
    hold.unlock();
    (void)back.recv_until(nanoseconds(1000));
    for (task<void>* t : {&sends, &takes, &fills, &answers, &locks}) t->get();
  }
}

}  // namespace

LEAT_CHILD(walk_at_each_step) {
  void* frames[deepest];
  (void)::backtrace(frames, deepest);  // the first one loads what it needs
  struct sigaction act = {};
  act.sa_sigaction = walk;
  act.sa_flags = SA_SIGINFO | SA_ONSTACK;
  (void)::sigaction(SIGTRAP, &act, nullptr);
  runtime_options o;
  o.procs = 1;
  o.stack = 256 * 1024;
  (void)run(o, [] {
    begin_stepping();
    use_everything();
    over = true;
  });
  std::printf("%ld steps, at most %d frames\n", steps.load(), most_frames.load());
}

TEST_CASE("a walk of the stack that begins anywhere in a switch ends, and harms nothing") {
  const auto child = test::run_self("walk_at_each_step");
  INFO(child.output);
  CHECK(child.exited(0));
  long n = 0;
  int frames = 0;
  REQUIRE(std::sscanf(child.output.c_str(), "%ld steps, at most %d frames", &n, &frames) == 2);
  CHECK(n > 5'000);
  CHECK(frames > 3);
  CHECK(frames < deepest);
}
