// SPDX-License-Identifier: BSL-1.0
#include "heartbeat.hpp"

#include <cstdio>

#include <leat/testing.hpp>

namespace {

int failures = 0;

void expect(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "not true: %s\n", what);
  ++failures;
}

void it_counts_and_ends() {
  leat::testing::rig<heartbeat> rig;
  const auto beats = rig.channel<beat>("beats");
  rig.set("period", std::chrono::milliseconds(1)).set("count", 3);
  rig.start();
  for (std::int64_t n = 1; n <= 3; ++n) {
    const auto got = beats.recv();
    expect(got && got->number == n, "each beat has the next number");
  }
  expect(rig.wait() == leat::testing::ended::returned, "it ends after the last beat");
}

void it_stops_when_asked() {
  leat::testing::rig<heartbeat> rig;
  const auto beats = rig.channel<beat>("beats");
  rig.set("period", std::chrono::milliseconds(1)).start();
  expect(beats.recv().has_value(), "it beats");
  expect(rig.stop() != leat::testing::ended::failed, "a stop is no failure");
}

}  // namespace

int main() {
  leat::run([] {
    it_counts_and_ends();
    it_stops_when_asked();
  });
  return failures == 0 ? 0 : 1;
}
