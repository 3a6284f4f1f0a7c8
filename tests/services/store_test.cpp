// SPDX-License-Identifier: BSL-1.0
//
// Channels with a store, from TOML to the next start.
#include <sqlite3.h>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace store_test {

// Notes each value; of `fails_at` it fails so often, at `stops_at` it waits for ever with the value in hand.
std::atomic<int> failures_left{0};
class picky : public process {
  in<number> values{this, "values"};
  setting<int> fails_at{this, "fails_at", 0, "a number"};
  setting<int> stops_at{this, "stops_at", 0, "a number"};
  void run() override {
    for (const number& v : values) {
      notes.note(name(), v.n);
      if (v.n == fails_at && failures_left-- > 0) throw std::runtime_error("at this one");
      if (v.n == stops_at)
        while (sleep_for(1h) != sleep_result::stopped) {
        }
      if (stop_requested()) return;
    }
  }
};

struct opaque_thing {
  int n = 0;
};
LEAT_OPAQUE(opaque_thing);
class opaque_source : public process {
  out<opaque_thing> to{this, "to"};
  void run() override {}
};
class opaque_sink : public process {
  in<opaque_thing> from{this, "from"};
  void run() override {
    while (from.recv()) {
    }
  }
};

struct folder {
  std::string path = (std::filesystem::temp_directory_path() / "leat-stores-XXXXXX").string();
  folder() { REQUIRE(::mkdtemp(path.data())); }
  ~folder() { std::filesystem::remove_all(path); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  // `count` numbers from `first` on, through a stored channel, to a picky one.
  std::string text(int first, int count, const std::string& config = "", const std::string& reader = "",
                   const std::string& store = "") const {
    return "[service]\nname = \"s\"\ndrain = \"10ms\"\n[process.source]\nuse = \"counter\"\nconfig = { first "
           "= " +
           std::to_string(first) + ", count = " + std::to_string(count) +
           " }\nout = { values = \"kept\" }\n[channel.kept]\nstore = { folder = \"" + path + "/deep/er\"" +
           store +
           " }\n[process.sink]\nuse = \"picky\"\nin = { values = \"kept\" }\nrestart = { backoff = [\"1ms\", "
           "\"1ms\"] "
           "}\nconfig = { " +
           config + " }\n" + reader;
  }
  std::string file() const { return path + "/deep/er/s.kept.store"; }
};

std::string errors_of(const std::string& text) {
  const config::checked c = config::check_text("t.toml", "leat = 1\n" + text, program_catalog());
  return c.plan ? "" : render(c.found, c.sources);
}

std::string failure_of(const std::string& text) {
  try {
    (void)run_plan(plan_of(text));
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

const auto stop_at = [](int n) {
  return [n](const channel<int>& stop) {
    CHECK(eventually([&] {
      const std::vector<int> got = notes.of("s/sink");
      return !got.empty() && got.back() == n;
    }));
    (void)stop.send(1);
  };
};

constexpr const char* careful = "delivery = \"at-least-once\"\n";

}  // namespace store_test
using namespace store_test;
LEAT_PROCESS_AS("picky", picky, "fails at some");
LEAT_PROCESS_AS("opaque-source", opaque_source, "sends what has no content");
LEAT_PROCESS_AS("opaque-sink", opaque_sink, "takes it");

TEST_CASE("a service that keeps up leaves nothing in its store") {
  const folder f;
  const config::plan p = plan_of(f.text(1, 500));
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(notes.of("s/sink") == from_one(500));
  CHECK(to_text(l, p).find(
            "sent 500 = received 500 + dropped 0 + left 0  (stored: 0 for the next start; restored: 0)") !=
        std::string::npos);
  CHECK(std::filesystem::exists(f.file()));
}

TEST_CASE("what was in hand at a stop, and what nobody received, comes at the next start, in order") {
  const folder f;
  {
    const config::plan p = plan_of(f.text(1, 500, "stops_at = 100", careful));
    const ledger l = run_plan(p, stop_at(100));
    CHECK(l.promise);
    const channel_account& a = account_of(l, p, "kept");
    REQUIRE(a.store);
    CHECK(a.store->kept == a.stats.left + 1);
    CHECK(process_of(l, p, "sink").dead_letters == 0);
  }
  const int sent = 500;
  const config::plan p = plan_of(f.text(sent + 1, 10, "", careful));
  const ledger l = run_plan(p);
  std::vector<int> all = from_one(sent + 10);
  // The source may have been stopped before its last.
  const std::vector<int> got = notes.of("s/sink");
  REQUIRE(got.size() >= 11);
  CHECK(got.front() == 100);
  CHECK(std::is_sorted(got.begin(), got.end()));
  CHECK(got.back() == sent + 10);
  CHECK(account_of(l, p, "kept").store->restored + 10 == got.size());
  CHECK(exit_code(l) == 0);
}

TEST_CASE("a reader that is not careful does not get again what it has taken") {
  const folder f;
  (void)run_plan(plan_of(f.text(1, 300, "stops_at = 50")), stop_at(50));
  (void)run_plan(plan_of(f.text(301, 1)));
  CHECK(notes.of("s/sink").front() == 51);
}

TEST_CASE("a value that fails too often is given up, and does not come again at the next start") {
  const folder f;
  failures_left = 3;
  const config::plan p = plan_of(f.text(1, 20, "fails_at = 7", careful));
  const ledger l = run_plan(p);
  CHECK(process_of(l, p, "sink").dead_letters == 1);
  CHECK(process_of(l, p, "sink").redelivered == 2);
  CHECK(account_of(l, p, "kept").store->kept == 0);
}

TEST_CASE("replicas share a store, and each acknowledges its own") {
  const folder f;
  const ledger l = run_plan(plan_of(f.text(1, 2000, "", std::string(careful) + "replicas = 3\n")));
  CHECK(exit_code(l) == 0);
  std::vector<int> all = notes.of("s/sink");
  CHECK(sorted(all) == from_one(2000));
}

TEST_CASE("a file that does not fit stops the start, with its place and the reason") {
  const folder f;
  std::filesystem::create_directories(f.path + "/deep/er");
  SUBCASE("foreign") {
    std::ofstream(f.file()) << std::string(3000, '?');
    const std::string why = failure_of(f.text(1, 1));
    CHECK(why.find("t.toml:") == 0);
    CHECK(why.find("channel 's/kept'") != std::string::npos);
    CHECK(why.find("it is no SQLite database") != std::string::npos);
  }
  SUBCASE("another shape") {
    (void)run_plan(plan_of(f.text(1, 1)));
    sqlite3* db = nullptr;
    REQUIRE(::sqlite3_open(f.file().c_str(), &db) == SQLITE_OK);
    REQUIRE(::sqlite3_exec(db, "UPDATE about SET content = 'number\nn text\n' WHERE name = 'shape'", nullptr,
                           nullptr, nullptr) == SQLITE_OK);
    ::sqlite3_close(db);
    CHECK(failure_of(f.text(1, 1)).find("field 'n' is text in the file, and int32 in the program") !=
          std::string::npos);
  }
  SUBCASE("values without a content") {
    const std::string text =
        "[service]\nname = \"s\"\n[process.a]\nuse = \"opaque-source\"\nout = { to = \"c\" }\n"
        "[process.b]\nuse = \"opaque-sink\"\nin = { from = \"c\" }\n[channel.c]\n"
        "store = { folder = \"" +
        f.path + "\" }\n";
    CHECK(failure_of(text).find("it cannot be stored") != std::string::npos);
  }
}

TEST_CASE("a folder is one program's at a time") {
  const folder f;
  const config::plan p = plan_of(f.text(1, 10, "stops_at = 5"));
  (void)run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([] { return notes.total >= 5; }));
    try {
      const wiring second(p);
      FAIL("it was opened twice");
    } catch (const wiring_error& e) {
      CHECK(std::string(e.what()).find("in use by another program") != std::string::npos);
    }
    (void)stop.send(1);
  });
}

TEST_CASE("what does not go with a store is told at its place") {
  const folder f;
  const auto error_with = [&](const std::string& channel_keys, const std::string& store = "") {
    std::string text = f.text(1, 1, "", "", store);
    return errors_of(text.insert(text.find("store = {"), channel_keys));
  };
  CHECK(error_with("full = \"latest\"\n").find("say 'full' there") != std::string::npos);
  CHECK(error_with("fanout = \"copy\"\n").find("copy first") != std::string::npos);
  CHECK(error_with("key = \"n\"\n").find("has no 'key'") != std::string::npos);
  CHECK(error_with("", ", max = \"lots\"").find("'max'") != std::string::npos);
  CHECK(error_with("", ", max = \"1K\"").find("'max'") != std::string::npos);
  CHECK(error_with("", ", sync = \"often\"").find("must be \"each\", \"never\" or a duration") !=
        std::string::npos);
  CHECK(error_with("", ", full = \"latest\"").find("\"drop-oldest\"") != std::string::npos);
  CHECK(error_with("", ", maximum = 1").find("unknown field 'maximum'") != std::string::npos);
  CHECK(errors_of("[channel.c]\nstore = { max = \"1M\" }\n").find("folder") != std::string::npos);
  CHECK(error_with("", ", sync = \"each\"").empty());
}
