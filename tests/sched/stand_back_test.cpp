// SPDX-License-Identifier: BSL-1.0
#include "fixture.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

// Elsewhere each of them takes long enough to be worth it.
#if defined(LEAT_ASAN) || defined(LEAT_TSAN) || LEAT_DEBUG_CHECKS_ON
constexpr bool quick_build = false;
#else
constexpr bool quick_build = true;
#endif

void start_and_join(int n, void (*body)()) {
  std::vector<task<void>> all;
  for (int i = 0; i < n; ++i) all.push_back(spawn(body));
  for (task<void>& t : all) t.get();
}

void compute() {
  const auto until = now() + 200us;
  while (now() < until) cpu_pause();
}

}  // namespace

TEST_CASE("Gs that end at once are left to the P that starts them" * leat::test::soak) {
  run_clean(with_procs(2), [] {
    const auto before = stats();
    for (int i = 0; i < (fiber::under_tsan ? 20 : 200); ++i) start_and_join(many / 5, [] {});
    const auto after = stats();
    const auto spawned = after.spawned - before.spawned;
    const auto stolen = after.stolen_gs - before.stolen_gs;
    if (quick_build)
      CHECK(leat::test::at_most("Gs that end at once and were stolen", static_cast<double>(stolen), "",
                                static_cast<double>(spawned / 4)));
  });
}

TEST_CASE("Gs that compute are fetched as ever after many that were not worth it") {
  for (const unsigned procs : {2u, 16u}) {
    CAPTURE(procs);
    run_clean(with_procs(procs), [] {
      for (int i = 0; i < 20; ++i) start_and_join(many / 5, [] {});
      const auto before = stats();
      const auto until = now() + patience;
      while (stats().stolen_gs == before.stolen_gs && now() < until) start_and_join(200, compute);
      CHECK(stats().stolen_gs > before.stolen_gs);
    });
  }
}
