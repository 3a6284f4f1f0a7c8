// SPDX-License-Identifier: BSL-1.0
//
// One that hangs may do so inside the allocator, or with a lock that the allocator needs. So from the hang to
// its successor's constructor those who watch leave the heap alone: the host for the decision, the log, the ledger,
// the G; sysmon and the threads that run no G, but for a thread that they make. An allocator behind Leat's
// wrappers counts (hangs/spy.cpp): malloc itself, whoever calls it.
#include "fixture.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <atomic>
#include <cstring>

#include <leat/base/format.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/sysmon.hpp>
#include <leat/services/host.hpp>

extern "C" void spy_tells(void (*whom)());

namespace {

std::atomic<bool> watched{false};
std::atomic<int> by_host{0}, by_sysmon{0}, by_threads{0};
thread_local bool inside [[gnu::tls_model("initial-exec")]] = false;

// Threads are made by who runs no G: as spares for the next hang, with a G (keep_spare in sched/threads.cpp), or by
// sysmon when none rests that could take the P of one that hangs.
bool makes_a_thread(void* const* frames, int n) {
  for (int i = 0; i < n; ++i) {
    Dl_info at{};
    if (::dladdr(frames[i], &at) == 0 || !at.dli_sname) continue;
    if (std::strstr(at.dli_sname, "scheduler10new_thread") || std::strstr(at.dli_sname, "g_store4take"))
      return true;
  }
  return false;
}

void note_allocation() {
  if (!watched.load(std::memory_order_relaxed) || inside) return;
  inside = true;
  const leat::sched::M* const m = leat::sched::current_m();
  const leat::sched::G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  std::atomic<int>* count = nullptr;
  if (leat::sched::this_is_sysmon)
    count = &by_sysmon;
  else if (g && std::strcmp(g->name, "main") == 0)
    count = &by_host;
  else if (m && !g)
    count = &by_threads;
  void* frames[24];
  const int n = count ? ::backtrace(frames, 24) : 0;
  if (count && !(count != &by_host && makes_a_thread(frames, n)) &&
      count->fetch_add(1, std::memory_order_relaxed) < 10) {
    ::backtrace_symbols_fd(frames, n, 2);
    leat::write_text(2, "--\n");
  }
  inside = false;
}

}  // namespace

namespace leat::services::test {
namespace {

constexpr int hangs = 80;  // more than the Gs that are made at once
std::atomic<int> rounds{0};

// At least once, so that there is a value in hand at each hang.
class hanging : public process {
  in<number> values{this, "values"};

 public:
  hanging() { watched = false; }

 private:
  void run() override {
    for (const number& n : values) {
      (void)n;
      if (++rounds > hangs) continue;
      watched = true;
      volatile unsigned turns = 0;
      for (;;) turns = turns + 1;
    }
  }
};

}  // namespace
}  // namespace leat::services::test

LEAT_PROCESS_AS("hanging", leat::services::test::hanging, "takes a value and hangs");

namespace leat::services::test {

TEST_CASE("from a hang to the successor those who watch neither allocate nor free") {
  // It loads a library when it is called first.
  void* here[4];
  (void)::backtrace(here, 4);
  spy_tells(note_allocation);
  const config::plan p = plan_of(R"(
[service]
name = "a-service-with-a-long-name"
[runtime]
max_quarantined = 1000
[process.source-of-all-the-values]
use = "counter"
[process.one-with-a-rather-long-name-too]
use = "hanging"
in = { values = "source-of-all-the-values.values" }
delivery = "at-least-once"
attempts = 1000
hang = "5ms"
grace = "2ms"
watchdog = "1h"
restart = { burst = 1000, window = "1h", backoff = ["1ms", "1ms"] }
)");
  const ledger l = run_plan(p, [](const channel<int>& stop) {
    CHECK(eventually([] { return rounds > hangs; }));
    watched = false;
    stop.send(15);
  });
  CHECK(process_of(l, p, "one-with-a-rather-long-name-too").quarantined == hangs);
  spy_tells(nullptr);
  CHECK(by_host.load() == 0);
  CHECK(by_sysmon.load() == 0);
  CHECK(by_threads.load() == 0);
}

}  // namespace leat::services::test
