// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "hang_guard.hpp"
#include "support/child.hpp"
#include "support/soak.hpp"
#include "victims.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

// LEAT_QUARANTINES=10000 for the whole; less by default, since each takes some milliseconds.
LEAT_CHILD(one_after_another) {
  sched::prepare_quarantine();
  const char* const wanted = std::getenv("LEAT_QUARANTINES");
  const int n = wanted ? std::atoi(wanted) : sched::can_leave() ? 100 : 20;
  runtime_options o = with_procs(2);
  o.max_quarantined = static_cast<unsigned>(n);
  o.max_threads = 64;
  leat::run(o, [&] {
    neighbour beside;
    hang_guard watch("quarantines", 0, 90s);
    std::vector<victim> all;
    for (const victim& v : victims)
      if (is_fair(v) && v.how != ends_by::fencing && (v.how != ends_by::freezing || !sched::can_leave()))
        all.push_back(v);
    for (int done = 0; done < n;) {
      std::vector<task<void>> some;
      for (int i = 0; i < 4 && done < n; ++i, ++done)
        some.push_back(
            spawn({.guard = guard_of(1ms, 1ms)}, all[static_cast<std::size_t>(done) % all.size()].body));
      for (auto& t : some) {
        bool told = false;
        try {
          t.get();
        } catch (const quarantined&) {
          told = true;
        }
        expect(told, "a task came back");
        watch.progress();
      }
      // Everybody else's malloc, exceptions and loader are as before.
      spawn([] {
        std::vector<std::string> text(100, std::string(100, 'x'));
        try {
          throw std::runtime_error(text.back());
        } catch (const std::exception& e) {
          sink.store(std::string(e.what()).size());
        }
      }).get();
    }
    const runtime_stats s = stats();
    std::printf("%llu quarantined, %u of them fenced, %u frozen, %u threads, %d beats\n",
                static_cast<unsigned long long>(s.quarantined), s.fenced, s.frozen, s.threads,
                beside.beats());
    expect(s.quarantined == static_cast<std::uint64_t>(n), "not all were quarantined");
    expect(s.threads <= 64, "there are more threads than allowed");
    // Sanitizers' allocators have locks that nobody marks: who stands in one goes on.
    if (sched::can_leave()) {
      if (leat::test::soaking())
        expect(s.frozen <= static_cast<unsigned>(n) / 50 + 4, "too many threads stand still");
      expect(eventually([] { return stats().fenced <= 4; }), "too many threads run on behind a fence");
    }
    expect(beside.goes_on(), "the neighbour stands still");
    beside.stop();
  });
  std::fflush(stdout);
  ::_exit(0);
}
TEST_CASE("many quarantines in one program leave malloc, exceptions and the C library to the others" *
          doctest::timeout(290)) {
  const auto child = leat::test::run_self("one_after_another", {.limit = 280s});
  CHECK_MESSAGE(child.exited(0), child.output);
  MESSAGE(child.output);
}
// A thread is frozen when it was found in no place where it may be left, which a busy machine makes likelier.
TEST_CASE("of many quarantines few leave a frozen thread" * doctest::timeout(290) * leat::test::soak) {
  const auto child = leat::test::run_self("one_after_another", {.limit = 280s});
  CHECK_MESSAGE(child.exited(0), child.output);
}
