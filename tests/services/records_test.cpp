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
  field_setting<> field{this, "field", "values", value_kind::real, "value", "what is added to"};
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

namespace {

struct spot {
  double lat;
  std::vector<int> raw;
};
LEAT_MESSAGE(spot, lat, raw);
struct place {
  int n;
  spot where;
};
LEAT_MESSAGE(place, n, where);

class makes_places : public process {
  record_out out{this, "out"};
  setting<int> count{this, "count", 3, "so many"};
  void run() override {
    for (int n = 1; n <= count; ++n)
      out.send({{"n", n},
                {"where", record{{"lat", 54.5}, {"raw", field_list{n, 2}}, {"height", 3}}},
                {"colour", "red"}});
  }
};
class takes_places : public process {
  in<place> values{this, "values"};
  void run() override {
    for (const place& p : values)
      notes.note(name(), p.where.lat == 54.5 && p.where.raw == std::vector<int>{p.n, 2} ? p.n : -1);
  }
};

const char* const places = R"(
[process.maker]
use = "makes-places"
out = { out = "places" }
restart = { when = "never" }
[process.taker]
use = "takes-places"
in  = { values = "places" }
[channel.places]
)";

}  // namespace

LEAT_PROCESS_AS("makes-places", makes_places, "sends records with structure");
LEAT_PROCESS_AS("takes-places", takes_places, "takes messages with structure");

TEST_CASE("fields that a message does not have are left out, counted, and told once each") {
  std::mutex lock;
  std::vector<std::string> told;
  struct heard {
    std::mutex& lock;
    std::vector<std::string>& told;
  } ear{lock, told};
  set_log_sink(
      [](void* to, log_level, std::string_view, std::string_view text) {
        auto& e = *static_cast<heard*>(to);
        const std::lock_guard hold(e.lock);
        if (text.find("is left out") != text.npos) e.told.emplace_back(text);
      },
      &ear);
  const config::plan p = plan_of(places);
  const ledger l = run_plan(p);
  set_log_sink(nullptr, nullptr);
  CHECK(notes.of("t/taker") == from_one(3));
  REQUIRE(account_of(l, p, "places").losses.size() == 1);
  CHECK(account_of(l, p, "places").losses[0].fields == 6);
  CHECK(exit_code(l) == 0);
  CHECK(to_text(l, p).find("(left out: 6 fields that messages of 'maker' have no place for)") !=
        std::string::npos);
  REQUIRE(told.size() == 2);
  CHECK(told[0].find("port 'out': field 'where.height' is left out: message 'place' has none of that name "
                     "(unknown = \"drop\"") != std::string::npos);
  CHECK(told[1].find("field 'colour' is left out") != std::string::npos);
}

TEST_CASE("a record with a field that its message does not have is refused if the channel says so") {
  const config::plan p = plan_of(std::string(places) + "unknown = \"error\"\n");
  const ledger l = run_plan(p);
  CHECK(notes.of("t/taker").empty());
  CHECK(l.failed);
  CHECK(account_of(l, p, "places").stats.sent == 0);
}
