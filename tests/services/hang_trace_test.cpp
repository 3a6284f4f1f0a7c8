// SPDX-License-Identifier: BSL-1.0
//
// What is told of where a process hung: the functions of the program that made the call it hangs in; and if the system
// lets nobody ask, that.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>

#include "misbehaving.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

[[gnu::noinline]] void sleeps_in_a_call() {
  for (;;) ::sleep(1000);
}
[[gnu::noinline]] void reads_in_a_call() {
  int ends[2];
  char c = 0;
  if (::pipe(ends) == 0)
    for (ssize_t n = -1; n < 0;) n = ::read(ends[0], &c, 1);
}
[[gnu::noinline]] void polls_in_a_call() {
  for (;;) ::poll(nullptr, 0, 1'000'000);
}

}  // namespace

TEST_CASE("who hangs in a system call is told with the functions of the program that called it") {
  if (fiber::under_tsan) return;
  static constexpr struct {
    void (*body)();
    const char* name;
  } calls[] = {{sleeps_in_a_call, "sleeps_in_a_call"},
               {reads_in_a_call, "reads_in_a_call"},
               {polls_in_a_call, "polls_in_a_call"}};
  for (const auto& c : calls) {
    log_catcher log;
    const config::plan p = plan_of(
        "[service]\nname = \"s\"\n[process.p]\nuse = \"acts\"\nhang = \"30ms\"\ngrace = \"10ms\"\nrestart = "
        "{ "
        "backoff = [\"0\", \"0\"] }\n");
    act_runs = 0;
    // On a busy machine a thread may not say in time where it stands: then the next one does.
    const std::string line = std::string(c.name) + "()";
    act = [&](int, const in<number>&) {
      for (int i = 0; act_runs > 1 && i < 1000 && !log.said(line); ++i) (void)sleep_for(1ms);
      if (log.said(line)) return;
      c.body();
    };
    const ledger l = run_plan(p);
    INFO(log.text());
    CHECK(exit_code(l) == 0);
    CHECK(log.said(line));
    CHECK(log.said("leat::services::test::acts::run()"));
    CHECK(log.said("it is asked to stop; it waits in the system call "));
  }
}

constexpr int cannot = 77;  // the kernel has no seccomp filters

LEAT_CHILD(hangs_where_tgkill_is_refused) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0 ||
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    ::_exit(cannot);
  act = [](int run, const in<number>&) {
    if (run <= 2) sleeps_in_a_call();
  };
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\n[runtime]\nprocs = 2\n[process.p]\nuse = \"acts\"\nhang = \"30ms\"\ngrace = "
      "\"10ms\"\nrestart = { backoff = [\"0\", \"0\"] }\n");
  log_catcher log;
  ledger l;
  leat::run(runtime_options_of(p), [&] { l = host(p).run({}); });
  std::fprintf(stderr, "%sruns %u, exit code %d\n", log.text().c_str(), process_of(l, p, "p").runs,
               exit_code(l));
  std::fflush(stderr);
  ::_exit(0);
}

TEST_CASE(
    "where the system refuses tgkill, one that hangs is replaced, and it is said once what is refused") {
  if (fiber::under_tsan) return;
  const auto r = leat::test::run_self("hangs_where_tgkill_is_refused");
  if (r.exited(cannot)) {
    MESSAGE("this kernel has no seccomp filters");
    return;
  }
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(count_of(r.output, "it is quarantined; what it holds stays held") == 2);
  CHECK(count_of(r.output, "tgkill is refused (SystemCallFilter= of its unit, seccomp): ") == 1);
  CHECK_FALSE(r.said("LimitSIGPENDING="));
  CHECK(r.said("runs 3, exit code 0\n"));
}
