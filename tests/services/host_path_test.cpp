// SPDX-License-Identifier: BSL-1.0
//
// One that hangs may do so inside the allocator, or with a lock that the allocator needs. So from the hang to
// its successor's constructor the host leaves the heap alone: for the decision, the log, the ledger, the G.
#include "fixture.hpp"

#include <execinfo.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <leat/base/format.hpp>
#include <leat/sched/m.hpp>
#include <leat/services/host.hpp>

namespace {

std::atomic<bool> watched{false};
std::atomic<int> allocations{0};
thread_local bool inside = false;

void note_allocation() noexcept {
  if (!watched.load(std::memory_order_relaxed) || inside) return;
  inside = true;
  const leat::sched::M* const m = leat::sched::current_m();
  const leat::sched::G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (g && std::strcmp(g->name, "main") == 0 && allocations.fetch_add(1, std::memory_order_relaxed) < 40) {
    void* frames[24];
    ::backtrace_symbols_fd(frames, ::backtrace(frames, 24), 2);
    leat::write_text(2, "--\n");
  }
  inside = false;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t n) {
  note_allocation();
  if (void* const p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  if (p) note_allocation();
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

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

TEST_CASE("from a hang to the successor the host neither allocates nor frees") {
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
  CHECK(allocations == 0);
}

}  // namespace leat::services::test
