// SPDX-License-Identifier: BSL-1.0
#include <leat/services/restart_watch.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace leat::services {
namespace {

constexpr std::int64_t second = 1'000'000'000;

// A replica, looked at twice a second.
struct bench {
  restart_watch watch{1};
  replica_row row = {};
  std::int64_t now = 100 * second;

  bench() { row.state = replica_state::runs; }
  void fail(std::string_view why) {
    row.state = replica_state::restarts;
    row.failed_at = now;
    ++row.failures;
    row.failure[why.copy(row.failure.data(), row.failure.size() - 1)] = 0;
  }
  void runs() { row.state = replica_state::runs; }
  void pass(std::int64_t seconds) {
    for (std::int64_t i = 0; i < 2 * seconds; ++i) {
      watch.add(0, row, now);
      now += second / 2;
    }
    watch.add(0, row, now);
  }
  std::string why() const { return watch.why(0, row, now); }
};

TEST_CASE("nothing is said of one that runs, nor of one that is back soon") {
  bench b;
  b.pass(20);
  CHECK(b.why().empty());
  b.fail("no sensor");
  b.pass(1);
  CHECK(b.why().empty());
  b.runs();
  for (int i = 0; i < 20; ++i) {
    b.pass(1);
    CHECK(b.why().empty());
  }
}

TEST_CASE("one that stays away is told with its failure, until it is back") {
  bench b;
  b.pass(1);
  b.fail("no sensor");
  b.pass(4);
  CHECK(b.why().empty());
  b.pass(8);
  CHECK(b.why() == "failed 12 s ago and waits for its restart: no sensor");
  b.runs();
  b.pass(1);
  CHECK(b.why().empty());
}

TEST_CASE("one that fails again and again is told, also while it runs, until it is steady") {
  bench b;
  for (int i = 0; i < 4; ++i) {
    b.fail(i < 3 ? "no sensor" : "no bus");
    b.pass(1);
    b.runs();
    b.pass(2);
  }
  CHECK(b.why() == "is restarted again and again, 4 failures in 12 s: no bus");
  b.pass(6);
  CHECK_FALSE(b.why().empty());
  b.pass(2);
  CHECK(b.why().empty());
  // The next one begins anew.
  b.fail("no sensor");
  b.pass(1);
  b.runs();
  b.pass(6);
  CHECK(b.why().empty());
}

TEST_CASE("one that has ended for good is told elsewhere") {
  bench b;
  b.fail("no sensor");
  b.pass(6);
  b.row.state = replica_state::failed;
  b.pass(1);
  CHECK(b.why().empty());
}

TEST_CASE("failures that came between two looks all count") {
  bench b;
  b.fail("one");
  b.fail("two");
  b.runs();
  b.pass(6);
  CHECK(b.why() == "is restarted again and again, 2 failures in 6 s: two");
}

}  // namespace
}  // namespace leat::services
