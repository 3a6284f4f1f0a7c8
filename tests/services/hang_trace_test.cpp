// SPDX-License-Identifier: BSL-1.0
//
// What is told of where a process hung: the functions of the program that made the call it hangs in.
#include <poll.h>
#include <unistd.h>

#include "misbehaving.hpp"

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
