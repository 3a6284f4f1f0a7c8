// SPDX-License-Identifier: BSL-1.0
// A buffered send that finds room and a receive that finds a value allocate nothing and make no system call.
//
// System calls are counted by a seccomp filter on the calling thread, in a process of its own: each call but
// the few that end the window traps, and the handler of SIGSYS counts it. That needs no privilege and sees
// what strace would see.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <vector>

#include "csp/fixture.hpp"
#include "sched/hang_guard.hpp"
#include "support/alloc_count.hpp"
#include "support/child.hpp"

LEAT_COUNT_ALLOCATIONS();

using namespace leat;
using namespace leat::csp::test;

namespace {

constexpr int rounds = scaled(20000), batch = 16;

// --- the window ------------------------------------------------------------------------------------------

constexpr int exit_clean = 0, exit_counted = 40, exit_refused = 41;

std::atomic<int> calls{0}, first_call{-1}, yields{0};

// What a thread does that finds a lock whose holder the kernel has put aside.
bool gives_way(int call) {
#if defined(SYS_clock_nanosleep_time64)
  if (call == SYS_clock_nanosleep_time64) return true;
#endif
#if defined(SYS_clock_nanosleep)
  if (call == SYS_clock_nanosleep) return true;
#endif
#if defined(SYS_nanosleep)
  if (call == SYS_nanosleep) return true;
#endif
  return call == SYS_sched_yield;
}

void count_call(int, siginfo_t* info, void*) {
  if (gives_way(info->si_syscall)) {
    ++yields;
    return;
  }
  ++calls;
  int none = -1;
  first_call.compare_exchange_strong(none, info->si_syscall);
}

// From here on this thread cannot but write to stderr and end the process. Not counted: membarrier, by which
// a lock that is biased to one thread is revoked by another, a few times in a channel's life
// (biased_lock_test.cpp).
void trap_system_calls() {
  struct sigaction action = {};
  action.sa_sigaction = count_call;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSYS, &action, nullptr);
  const auto number = [](long n) { return static_cast<unsigned>(n); };
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number(SYS_rt_sigreturn), 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number(SYS_exit_group), 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number(SYS_membarrier), 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number(SYS_write), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
    std::fprintf(stderr, "the kernel refuses a seccomp filter: %s\n", std::strerror(errno));
    ::_exit(exit_refused);
  }
}

[[noreturn]] void tell_and_end() {
  fixed_text<200> text;
  text.append("calls ").append_int(calls).append(" first ").append_int(first_call);
  text.append(" yields ").append_int(yields).append('\n');
  write_text(STDERR_FILENO, text.view());
  ::_exit(calls == 0 ? exit_clean : exit_counted);
}

// --- what is measured ------------------------------------------------------------------------------------

// One G, both sides: sends that find room and receives that find a value, across the end of the ring.
int send_and_receive(const channel<int>& c) {
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    for (int k = 0; k < batch; ++k) wrong += c.send(i + k) != send_status::sent;
    for (int k = 0; k < batch; ++k) wrong += c.recv() != i + k;
  }
  return wrong;
}
// With deadlines, and through a select that finds its case ready.
int send_and_receive_other_ways(const channel<int>& c) {
  int wrong = 0;
  for (int i = 0; i < rounds; ++i) {
    wrong += c.try_send(i) != send_status::sent;
    wrong += select(on_send(c, i, [] {}), otherwise([] {})) != 0;
    wrong += c.try_recv() != i;
    wrong += select(on_recv(c, [](int) {}), otherwise([] {})) != 0;
  }
  return wrong;
}

void single_g_window(unsigned procs, const channel_options& o, int (*body)(const channel<int>&)) {
  leat::run(undisturbed(procs), [&] {
    const channel<int> c(batch + 3, o);
    if (body(c) != 0) ::_exit(2);  // warm
    trap_system_calls();
    if (body(c) != 0) ::_exit(2);
    tell_and_end();
  });
}

// Two Gs on two threads, one at each end. They look again and never wait; there is room for all, so that a
// busy machine that runs one at a time does not make each spin through its time slices for the other.
void two_gs_window(const channel_options& o) {
  leat::run(undisturbed(2), [&] {
    const channel<int> c(rounds, o);
    std::atomic<int> ready{0}, done{0};
    const auto together = [](std::atomic<int>& at, int n) {
      ++at;
      while (at < n) cpu_pause();
    };
    // From outside: it goes to the idle P, since this one does not enter the runtime until the end.
    from_outside(1, [&, c] {
      together(ready, 2);
      trap_system_calls();
      together(ready, 4);
      for (int i = 0; i < rounds;)
        if (c.try_recv()) ++i;
      together(done, 2);
      while (true) cpu_pause();
    });
    together(ready, 2);
    trap_system_calls();
    together(ready, 4);
    for (int i = 0; i < rounds;)
      if (c.try_send(i) == send_status::sent) ++i;
    together(done, 2);
    tell_and_end();
  });
}

bool can_count() {
  constexpr bool sanitized = sched::test::slow_build > 1;
  if (sanitized) MESSAGE("skipped: the sanitizers make system calls of their own");
  return !sanitized;
}

bool counted_none(const std::string& child) {
  const auto r = leat::test::run_self(child);
  if (r.exited(exit_refused)) {
    MESSAGE("skipped: ", r.output);
    return true;
  }
  INFO(child, ": ", r.output);
  CHECK(r.exited(exit_clean));
  return r.exited(exit_clean);
}

}  // namespace

LEAT_CHILD(one_call) {
  leat::run(undisturbed(1), [] {
    trap_system_calls();
    (void)::getppid();
    (void)::getppid();
    tell_and_end();
  });
}
LEAT_CHILD(general_1) { single_g_window(1, {}, send_and_receive); }
LEAT_CHILD(general_2) { single_g_window(2, {}, send_and_receive); }
LEAT_CHILD(ring_1) { single_g_window(1, single_options(), send_and_receive); }
LEAT_CHILD(ring_2) { single_g_window(2, single_options(), send_and_receive); }
LEAT_CHILD(other_ways_general) { single_g_window(2, {}, send_and_receive_other_ways); }
LEAT_CHILD(other_ways_ring) { single_g_window(2, single_options(), send_and_receive_other_ways); }
LEAT_CHILD(two_gs_general) { two_gs_window({}); }
LEAT_CHILD(two_gs_ring) { two_gs_window(single_options()); }

TEST_CASE("the counter of system calls sees those that are made") {
  if (!can_count()) return;
  const auto r = leat::test::run_self("one_call");
  if (r.exited(exit_refused)) {
    MESSAGE("skipped: ", r.output);
    return;
  }
  INFO(r.output);
  CHECK(r.exited(exit_counted));
  CHECK(r.said("calls 2 first " + std::to_string(SYS_getppid)));
}

TEST_CASE("a buffered send and a receive make no system call, at procs 1 and 2") {
  if (!can_count()) return;
  for (const char* const child : {"general_1", "general_2", "ring_1", "ring_2"}) CHECK(counted_none(child));
}

TEST_CASE("try calls and selects that find their case ready make no system call") {
  if (!can_count()) return;
  for (const char* const child : {"other_ways_general", "other_ways_ring"}) CHECK(counted_none(child));
}

// A lock whose holder the kernel has put aside lets the waiting thread give its core away: that is not
// counted, for the general channel alone can meet it.
TEST_CASE("two Gs on two threads, one at each end, make no system call while neither waits") {
  if (!can_count()) return;
  for (const char* const child : {"two_gs_general", "two_gs_ring"}) CHECK(counted_none(child));
  const auto r = leat::test::run_self("two_gs_ring");
  if (r.exited(exit_clean)) CHECK(r.said("yields 0"));
}

TEST_CASE("a buffered send and a receive allocate nothing, at procs 1 and 2") {
  for (const unsigned procs : {1u, 2u}) {
    for (const bool single : {false, true}) {
      leat::run(undisturbed(procs), [&] {
        const channel<int> c(batch + 3, single ? single_options() : channel_options{});
        CHECK(send_and_receive(c) == 0);
        CHECK(send_and_receive_other_ways(c) == 0);
        const leat::test::alloc_count count;
        const int wrong = send_and_receive(c) + send_and_receive_other_ways(c);
        const auto allocated = count.allocations(), freed = count.deallocations();
        CHECK(wrong == 0);
        CHECK(allocated == 0);
        CHECK(freed == 0);
      });
    }
  }
}

TEST_CASE("a send and a receive that wait allocate nothing either") {
  for (const unsigned procs : {1u, 2u}) {
    for (const bool single : {false, true}) {
      leat::run(undisturbed(procs), [&] {
        const channel<int> there(1, single ? single_options() : channel_options{}), back(0);
        auto other = spawn([=] {
          for (const int v : there) back.send(v);
        });
        const auto play = [&](int n) {
          for (int i = 0; i < n; ++i) {
            there.send(i);
            (void)back.recv();
            (void)select(on_send(there, i, [] {}), on_timeout(1h, [] {}));
            (void)select(on_recv(back, [](int) {}), on_timeout(1h, [] {}));
          }
        };
        // A thread that is started meanwhile would be counted: let all Ps have theirs.
        std::atomic<unsigned> up{0};
        std::vector<task<void>> busy;
        for (unsigned i = 0; i < procs; ++i)
          busy.push_back(spawn([&] {
            ++up;
            while (up < procs) cpu_pause();
          }));
        for (auto& b : busy) (void)b.join();
        play(1000);
        // One may be started all the same, when the one that is free has not come to rest yet: an M and its
        // room for loot. Such a round does not count.
        std::uint64_t least = ~std::uint64_t{0};
        for (const deadline enough = patience; least > 0 && !enough.expired();) {
          const leat::test::alloc_count count;
          play(1000);
          least = std::min(least, count.allocations());
        }
        CAPTURE(procs);
        CAPTURE(single);
        CHECK(least == 0);
        there.close();
        other.get();
      });
    }
  }
}

TEST_CASE("the lines of a trace need no heap: sysmon writes them") {
  static std::atomic<int> lines{0};
  runtime_options o = undisturbed(1);
  o.trace = 1ms;
  leat::run(o, [] {
    set_log_sink([](void*, log_level, std::string_view, std::string_view) { ++lines; }, nullptr);
    while (lines < 3) (void)sleep_for(1ms);  // the first ones make what stays
    const int before = lines;
    const leat::test::alloc_count count;
    while (lines < before + 10) (void)sleep_for(5ms);
    CHECK(count.allocations() == 0);
    set_log_sink(nullptr, nullptr);
  });
}
