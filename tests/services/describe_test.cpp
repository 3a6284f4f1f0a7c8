// SPDX-License-Identifier: BSL-1.0
//
// What `describe` and the JSON Schema show of a structure of settings.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/json_schema.hpp>
#include <leat/leat.hpp>
#include <leat/services/describe.hpp>

using namespace std::chrono_literals;

namespace {

struct peer {
  std::string host;
  int attempts = 3;
  std::chrono::milliseconds pause = 250ms;
};
LEAT_SETTINGS(peer, (host, leat::required, leat::help{"whom to ask"}), (attempts, leat::between(1, 9)),
              (pause, leat::help{"between two attempts"}, leat::at_least(1ms)));

class asks_peers : public leat::process {
  leat::setting<peer> first{this, "first", leat::help{"the first"}};
  leat::setting<std::vector<peer>> others{this, "others"};
  void run() override {}
};
LEAT_PROCESS_AS("asks-peers", asks_peers, "has structures in its settings");

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("describe shows the fields of a structure, with type, limits, default and help") {
  const leat::catalog& all = leat::program_catalog();
  const leat::class_schema* const c = all.find_class("asks-peers");
  REQUIRE(c);
  CHECK(leat::services::describe_text(*c, all) ==
        "asks-peers: has structures in its settings\n"
        "  config\n"
        "    first   { host, attempts, pause }, required  # the first\n"
        "      host      text, required  # whom to ask\n"
        "      attempts  integer 1 to 9, default 3\n"
        "      pause     duration of at least \"1ms\", default \"250ms\"  # between two attempts\n"
        "    others  list of { host, attempts, pause }, default []\n"
        "      host      text, required  # whom to ask\n"
        "      attempts  integer 1 to 9, default 3\n"
        "      pause     duration of at least \"1ms\", default \"250ms\"  # between two attempts\n");
  const std::string json = leat::services::describe_json(*c);
  const std::string fields =
      R"("fields":[{"name":"host","type":"text","required":true,"live":false,"secret":false,"default":"","help":"whom to ask"},)"
      R"({"name":"attempts","type":"integer 1 to 9","required":false,"live":false,"secret":false,"default":"3","help":""},)"
      R"({"name":"pause","type":"duration of at least \"1ms\"","required":false)";
  CHECK(
      has(json,
          R"("name":"first","type":"{ host, attempts, pause }","required":true,"live":false,"secret":false,)"
          R"("default":"","help":"the first",)" +
              fields));
  CHECK(has(json, R"("default":"[]","help":"",)" + fields));
}

TEST_CASE("the JSON Schema has the fields of a structure") {
  const std::string schema = leat::config::json_schema(&leat::program_catalog());
  const std::string fields = R"({"type":"object","additionalProperties":false,"properties":{)"
                             R"("host":{"type":"string","description":"whom to ask"},)"
                             R"("attempts":{"type":["integer","string"],"pattern":)";
  CHECK(has(schema, R"("first":)" + fields));
  CHECK(has(schema, R"("minimum":1,"maximum":9,"default":3},"pause":{"type":"string","pattern":)"));
  CHECK(has(schema, R"("others":{"type":["array","string"],"pattern":)"));
  CHECK(has(schema, R"("items":)" + fields));
  CHECK(has(schema,
            R"x("description":"between two attempts (duration of at least \"1ms\")","default":"250ms"}},)x"
            R"x("required":["host"])x"));
  CHECK(has(schema, R"x("required":["first"])x"));
}
