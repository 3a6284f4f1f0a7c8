// SPDX-License-Identifier: BSL-1.0
//
// Ports for records among ports for messages.
#include <leat/process/record_port.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

class adds : public process {
  record_in values{this, "values"};
  record_out out{this, "out", fields_like("values")};
  field_setting<> field{this, "field", "values", field_kind::real, "value", "what is added to"};
  setting<int> fails_at{this, "fails-at", 0, "throws when it gets this"};
  void run() override {
    for (record& r : values) {
      const auto n = static_cast<int>(r.number(*field).value());
      if (n == fails_at) throw std::runtime_error("that one");
      r[*field] = n + 100;
      if (out.send(r) != send_status::sent) return;
    }
  }
};

class keeps : public process {
  record_in values{this, "values"};
  void run() override {
    for (const record& r : values) notes.note(name(), static_cast<int>(r.number("n").value_or(-1)));
  }
};

}  // namespace

LEAT_PROCESS_AS("adds", adds, "adds 100");
LEAT_PROCESS_AS("keeps", keeps, "notes n");

TEST_CASE("a process for records stands between processes for messages") {
  const config::plan p = plan_of(R"(
[process.source]
use    = "counter"
config = { count = 50 }
out    = { values = "raw" }
[process.adds]
use = "adds"
in  = { values = "raw" }
out = { out = "more" }
map = { values = { value = "n" }, out = { value = "n" } }
[process.typed]
use = "noting"
in  = { values = "more" }
[process.loose]
use = "keeps"
in  = { values = "more" }
[channel.raw]
[channel.more]
fanout = "copy"
)");
  const ledger l = run_plan(p);
  std::vector<int> wanted = from_one(50);
  for (int& n : wanted) n += 100;
  CHECK(notes.of("t/typed") == wanted);
  CHECK(notes.of("t/loose") == wanted);
  CHECK(account_of(l, p, "raw").stats.sent == 50);
}

TEST_CASE("between ports for records alone a channel carries records") {
  const config::plan p = plan_of(R"(
[process.source]
use    = "counter"
config = { count = 20 }
[process.adds]
use    = "adds"
config = { field = "n" }
in     = { values = "source.values" }
[process.loose]
use      = "keeps"
replicas = 2
in       = { values = "adds.out" }
)");
  (void)run_plan(p);
  std::vector<int> wanted = from_one(20);
  for (int& n : wanted) n += 100;
  CHECK(sorted(notes.of("t/loose")) == wanted);
}

TEST_CASE("a value that a process for records fails on is handed out again, and given up as it came") {
  const config::plan p = plan_of(R"(
[process.source]
use    = "counter"
config = { count = 20 }
out    = { values = "raw" }
[process.adds]
use         = "adds"
config      = { field = "n", fails-at = 7 }
in          = { values = "raw" }
delivery    = "at-least-once"
attempts    = 2
dead_letter = "lost"
restart     = { backoff = ["1ms", "1ms"] }
[process.loose]
use = "keeps"
in  = { values = "adds.out" }
[process.bin]
use = "noting"
in  = { values = "lost" }
[channel.raw]
[channel.lost]
)");
  const ledger l = run_plan(p);
  CHECK(notes.of("t/bin") == std::vector<int>{7});
  CHECK(notes.of("t/loose").size() == 19);
  CHECK(process_of(l, p, "adds").restarts == 2);
}
