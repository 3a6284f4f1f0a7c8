// SPDX-License-Identifier: BSL-1.0
//
// The watch over the loop of a supervisor, with times that are passed in.
#include <doctest/doctest.h>
#include <algorithm>

#include <leat/sched/heartbeat.hpp>

using namespace leat;
using namespace std::chrono_literals;

namespace {

constexpr nanoseconds limit = 10s;

class noting_beat final : public sched::heartbeat {
 public:
  noting_beat() : heartbeat(limit) {}
  bool awaited = false;
  int late = 0;
  nanoseconds since{0};

 private:
  bool is_awaited() const noexcept override { return awaited; }
  void is_late(nanoseconds for_so_long, std::uint64_t) noexcept override {
    ++late;
    since = for_so_long;
  }
};

// Looks whenever it is asked to, until so much time has passed. Returns when that is.
std::int64_t look_for(noting_beat& b, std::int64_t from, nanoseconds time) {
  const std::int64_t until = from + time.count();
  for (std::int64_t at = from; at < until;) {
    at = std::min(b.look(at), until);
  }
  (void)b.look(until);
  return until;
}

}  // namespace

TEST_CASE("a step that lasts longer than the limit is told, once") {
  noting_beat b;
  b.step();
  std::int64_t at = look_for(b, now_ns(), limit - 1ms);
  CHECK(b.late == 0);
  at = look_for(b, at, 1s);
  CHECK(b.late == 1);
  CHECK(b.since >= limit);
  (void)look_for(b, at, 1h);
  CHECK(b.late == 1);
}

TEST_CASE("a loop that rests is late when something has waited for it for so long") {
  noting_beat b;
  std::int64_t at = look_for(b, now_ns(), 1h);
  CHECK(b.late == 0);
  b.awaited = true;
  at = look_for(b, at, limit - 1ms);
  CHECK(b.late == 0);
  at = look_for(b, at, 1s);
  CHECK(b.late == 1);
  // Another time.
  b.awaited = false;
  at = look_for(b, at, 1s);
  b.awaited = true;
  (void)look_for(b, at, limit + 1s);
  CHECK(b.late == 2);
}

TEST_CASE("the time while the whole program stood still does not count") {
  noting_beat b;
  b.step();
  // Stopped before sysmon has seen the step, and again while it lasts.
  std::int64_t at = now_ns() + nanoseconds(1h).count();
  at = look_for(b, at, 2s) + nanoseconds(1h).count();
  at = look_for(b, at, 2s);
  CHECK(b.late == 0);
  (void)look_for(b, at, limit);
  CHECK(b.late == 1);
}
