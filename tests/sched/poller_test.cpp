// SPDX-License-Identifier: BSL-1.0
#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

// Each look of an M finds something. Counts who looks, and for how many times 5 ms the Ms left it alone.
class watched_poller final : public sched::poller {
 public:
  void poll() noexcept override {
    if (!sched::current_m()) {
      ++by_sysmon;
      return;
    }
    const std::int64_t now = now_ns();
    if (const std::int64_t last = last_.exchange(now); last != 0)
      long_gaps += static_cast<int>((now - last) / 5'000'000);
    ++by_ms;
    came.signal();
  }
  void wait(std::int64_t until) noexcept override { sleeper_.wait(until); }
  void interrupt() noexcept override { sleeper_.interrupt(); }
  bool has_callbacks() const noexcept override { return watching; }

  std::atomic<bool> watching{false};
  std::atomic<int> by_sysmon{0}, by_ms{0}, long_gaps{0};
  signal_to_g came;

 private:
  std::atomic<std::int64_t> last_{0};
  sched::sleep_poller sleeper_;
};

watched_poller& the_poller() {
  static watched_poller p;
  return p;
}

}  // namespace

TEST_CASE("sysmon leaves the network alone while Ms look at it all the time") {
  watched_poller& p = the_poller();
  sched::use_poller(p);
  run_clean(with_procs(1), [&] {
    p.watching = true;
    const auto until = now() + 300ms;
    while (now() < until || p.by_ms <= 100) p.came.wait();
    p.watching = false;
  });
  CAPTURE(p.by_ms.load());
  CAPTURE(p.long_gaps.load());
  CHECK(p.by_sysmon <= p.long_gaps + 3);
}

TEST_CASE("sysmon looks at the network when no M does") {
  watched_poller& p = the_poller();
  sched::use_poller(p);
  // The P stays with the G that computes: if it were retaken, another M would wait in the poller.
  runtime_options o = with_procs(1);
  o.slice = 1h;
  run_clean(o, [&] {
    p.by_sysmon = 0;
    p.watching = true;
    CHECK(eventually_without_entering([&] { return p.by_sysmon > 2; }));
    p.watching = false;
  });
}
