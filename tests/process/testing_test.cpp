// SPDX-License-Identifier: BSL-1.0
#include <leat/testing.hpp>

#include <stdexcept>

#include "csp/fixture.hpp"

using namespace leat::csp::test;
using leat::testing::ended;
using leat::testing::rig;

namespace {

class doubles : public leat::process {
  leat::in<int> from{this, "from"};
  leat::out<int> to{this, "to"};
  leat::setting<int> factor{this, "factor", 2, "", leat::between(1, 10)};

  void run() override {
    for (const int n : from) {
      if (n < 0) throw std::runtime_error("too low");
      to.send(n * factor);
    }
    leat::checkpoint();  // a stop that ended the loop goes out as an exception
  }
};

}  // namespace

TEST_CASE("a rig runs one process between channels that the test holds") {
  at_procs([] {
    rig<doubles> r;
    const auto from = r.channel<int>("from");
    const auto to = r.channel<int>("to");
    r.set("factor", 3).named("tripler").start();
    from.send(2);
    CHECK(*to.recv() == 6);
    CHECK(r.make().name() == "tripler");
    CHECK(r.wait(1ms) == ended::not_yet);
    from.close();
    CHECK(r.wait() == ended::returned);
    r.rethrow();
  });
}

TEST_CASE("a rig tells how its process failed") {
  at_procs([] {
    rig<doubles> r;
    const auto from = r.channel<int>("from");
    r.start();
    from.send(-1);
    CHECK(r.wait() == ended::failed);
    CHECK_THROWS_WITH_AS(r.rethrow(), "too low", std::runtime_error);
  });
}

TEST_CASE("a rig stops its process, at the latest when it ends") {
  at_procs([] {
    rig<doubles> r;
    (void)r.channel<int>("from");
    r.start();
    CHECK(r.stop() == ended::stopped);
    rig<doubles> left;
    (void)left.channel<int>("from");
    left.start();
  });
}

TEST_CASE("a rig refuses what a service would refuse") {
  at_procs([] {
    rig<doubles> r;
    r.set("factor", 11);
    CHECK_THROWS_AS(r.start(), leat::setting_error);
    rig<doubles> s;
    (void)s.channel<double>("from");
    CHECK_THROWS_AS(s.start(), leat::wiring_error);
  });
}
