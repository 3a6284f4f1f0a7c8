// SPDX-License-Identifier: BSL-1.0
//
// What a store costs, with sync = "1s" and small values. Figures are in docs/stores.md; the limits here are far below
// them, for machines that are busy with other things. LEAT_STORE_VALUES=3600000 is an hour at 1000 a second.
#include <doctest/doctest.h>
#include <chrono>
#include <cstdlib>

#include "channel_fixture.hpp"
#include "support/figure.hpp"

using namespace leat;
using namespace leat::store;
using namespace leat::store::test;

namespace {
double per_second(int n, time_point since) {
  return n / std::chrono::duration<double>(now() - since).count();
}
}  // namespace

TEST_CASE("values a second") {
  const char* const asked = std::getenv("LEAT_STORE_VALUES");
  const int n = asked ? std::atoi(asked) : 300'000;
  const temporary_folder t;
  leat::run([&] {
    {
      life l(t.file(), {.max = 1 << 30});
      const time_point begin = now();
      for (int i = 0; i < n; ++i) (void)l.writer().send(reading_of(i));
      CHECK(l.finish());
      const double rate = per_second(n, begin);
      CHECK(leat::test::at_least("store: values written, without a reader", rate, "1/s", 10'000));
    }
    {
      life l(t.file(), {.max = 1 << 30});
      const time_point begin = now();
      l.any.close();
      int got = 0;
      while (l.reader().recv()) ++got;
      CHECK(got == n);
      CHECK(l.finish());
      const double rate = per_second(n, begin);
      CHECK(leat::test::at_least("store: values read back", rate, "1/s", 10'000));
    }
    {
      life l(t.file(), {.max = 1 << 30});
      const time_point begin = now();
      task_group g;
      g.go([&] {
        for (int i = 0; i < n; ++i) (void)l.writer().send(reading_of(i));
        l.any.close();
      });
      const in<reading> from = l.careful_reader();
      while (from.recv()) {
      }
      g.wait();
      CHECK(l.finish());
      const double rate = per_second(n, begin);
      MESSAGE(l.hub->stats_of_store().written << " of " << n << " written");
      CHECK(leat::test::at_least("store: values through, with a reader that keeps up", rate, "1/s", 10'000));
    }
  });
}
