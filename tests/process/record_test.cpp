// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <limits>

#include <leat/leat.hpp>

using namespace std::chrono_literals;
using leat::record;
using leat::value_kind;

namespace {

enum class mood { calm, wild };
LEAT_ENUM(mood, calm, wild);

struct position {
  double lat, lon;
};
LEAT_MESSAGE(position, lat, lon);

struct station {
  std::string name;
  std::optional<position> at;
  std::optional<double> height;
};
LEAT_MESSAGE(station, name, at, height);

struct fix {
  std::string name;
  position where;
  std::uint8_t satellites;
  std::optional<int> age;
  std::chrono::milliseconds took;
  std::chrono::system_clock::time_point at;
  mood sea;
  std::vector<int> used;
  bool good;
};
LEAT_MESSAGE(fix, name, where, satellites, age, took, at, sea, used, good);

const fix sample{"buoy", {54.5, 10.25}, 9, std::nullopt, 250ms, {}, mood::wild, {3, 7}, true};

std::string why_not(const record& r) {
  try {
    (void)leat::from_record<fix>(r);
  } catch (const leat::message_error& e) {
    return e.what();
  }
  return {};
}

struct wide {
  std::vector<float> some;
  float none;
  std::uint64_t many;
};
LEAT_MESSAGE(wide, some, none, many);

// Passes records on, and says that it does.
class relay : public leat::process {
  leat::record_in from{this, "from", leat::needs{{"value", value_kind::real}}};
  leat::record_out to{this, "to", leat::fields_like("from")};
  leat::field_setting<> field{this, "field", "from", value_kind::real, "value", "which"};

  void run() override {
    for (record& r : from) {
      r[*field] = r.number(*field).value_or(0) * 2;
      to.send(r);
    }
  }
};
LEAT_PROCESS_AS("record-relay", relay, "doubles a field");

struct reading {
  double celsius;
  int sensor;
};
LEAT_MESSAGE(reading, celsius, sensor);

}  // namespace

TEST_CASE("a message becomes a record and a message again") {
  const record r = leat::to_record(sample);
  CHECK(leat::to_json(r) ==
        R"({"name":"buoy","where":{"lat":54.5,"lon":10.25},"satellites":9,"age":null,"took":"250ms",)"
        R"("at":"1970-01-01T00:00:00Z","sea":"wild","used":[3,7],"good":true})");
  CHECK(leat::to_json(r) == leat::to_json(sample));
  CHECK(leat::from_record<fix>(r) == sample);
  CHECK(leat::from_cbor<record>(leat::to_cbor(sample)) == r);
  CHECK(leat::to_cbor(r) == leat::to_cbor(sample));
  // Through JSON, times are texts; they still say the same.
  CHECK(leat::from_record<fix>(leat::from_json<record>(leat::to_json(r))) == sample);
  CHECK(leat::from_cbor<record>(leat::to_cbor(r)) == r);
}

TEST_CASE("what a message cannot take is told by its field") {
  record r = leat::to_record(sample);
  r["satellites"] = 256;
  CHECK(why_not(r) == "field 'satellites': 256 does not fit into uint8");
  r["satellites"] = 4.0;
  CHECK(why_not(r).empty());
  r["satellites"] = 4.5;
  CHECK(why_not(r) == "field 'satellites': expected a whole number, got a number (\"4.5\")");
  r["satellites"] = 4;
  r["sea"] = "rough";
  CHECK(why_not(r) == "field 'sea': expected one of \"calm\", \"wild\", got a text (\"rough\")");
  r["sea"] = "calm";
  r["used"] = "[1,";
  CHECK(why_not(r).starts_with("field 'used': line 1, column 4"));
  r["used"] = "[]";
  leat::field_path::parse("where.lat").erase(r);
  CHECK(why_not(r) == "field 'where.lat' is missing");
  // Fields with a point in their names are the same.
  r.erase("where");
  CHECK(why_not(r) == "field 'where.lat' is missing");
  r["where.lat"] = 1;
  r["where.lon"] = 2;
  CHECK(leat::from_record<fix>(r).where == position{1, 2});
  r.erase("age");
  r["more"] = "is left out";
  CHECK(why_not(r).empty());
}

TEST_CASE("an object within JSON fills the part of a message that may be missing, or is an error") {
  const auto read = [](const char* json) {
    return leat::from_record<station>(leat::from_json<record>(json));
  };
  const station whole = read(R"({"name":"peak","at":{"lat":46.5,"lon":8},"height":4274})");
  REQUIRE(whole.at.has_value());
  CHECK(whole.at->lat == 46.5);
  CHECK(whole.at->lon == 8);
  CHECK(whole.height == 4274.0);
  CHECK(!read(R"({"name":"sea"})").at);
  CHECK(!read(R"({"name":"sea","at":null,"height":null})").at);
  // As it comes from another message.
  CHECK(leat::from_record<station>(leat::to_record(whole)).at->lat == 46.5);

  const auto why = [&](const char* json) {
    try {
      (void)read(json);
    } catch (const leat::message_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(why(R"({"name":"peak","at":{"lat":46.5}})") == "field 'at.lon' is missing");
  CHECK(why(R"({"name":"peak","height":{"metres":4274}})") ==
        "field 'height': expected a number, got a table");
  CHECK(why(R"({"name":"peak","height.metres":4274})") ==
        "field 'height': expected optional double, got a table ('height.metres')");
  CHECK(why(R"({"name":{"de":"Gipfel"}})") == "field 'name': expected a text, got a table");
  CHECK(why(R"({"name":"peak","at":{"lat":{"deg":46},"lon":8}})") ==
        "field 'at.lat': expected a number, got a table");
}

TEST_CASE("records read from JSON keep what they were") {
  const auto r = leat::from_json<record>(
      R"({"a":1,"b":1.0,"c":{"d":"x","e":{"f":false},"i":{}},"g":null,"h":1e3,"j":[1,[],null,{"k":2.5}]})");
  const record inner{{"d", "x"}, {"e", record{{"f", false}}}, {"i", record()}};
  const leat::field_list list{1, leat::field_list(), {}, record{{"k", 2.5}}};
  CHECK(r == record{{"a", 1}, {"b", 1.0}, {"c", inner}, {"g", {}}, {"h", 1000.0}, {"j", list}});
  CHECK(
      leat::to_json(r) ==
      R"({"a":1,"b":1.0,"c":{"d":"x","e":{"f":false},"i":{}},"g":null,"h":1000.0,"j":[1,[],null,{"k":2.5}]})");
  CHECK(leat::from_cbor<record>(leat::to_cbor(r)) == r);
  CHECK_THROWS_WITH_AS(leat::from_json<record>(R"({"a":1,"a":2})"),
                       "line 1, column 8: the field \"a\" comes twice", leat::message_error);
  CHECK_THROWS_WITH_AS(leat::from_json<record>(R"({"a":{"b":[1,{"c":nil}]}})"),
                       "line 1, column 19: a.b[1].c: expected a number, got \"n\"", leat::message_error);
  CHECK_THROWS_AS(leat::from_json<record>(std::string(200, '[')), leat::message_error);
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += R"({"a":)";
  CHECK_THROWS_AS(leat::from_json<record>(deep), leat::message_error);
}

TEST_CASE("a short text cannot make a record that takes long, or much room") {
  const auto refused = [](const std::string& text) {
    try {
      (void)leat::from_json<record>(text);
    } catch (const leat::message_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused("{\"" + std::string(257, 'x') + "\":1}").find("more than 256 bytes") != std::string::npos);
  CHECK(refused("{\"" + std::string(256, 'x') + "\":1}").empty());
  std::string many = "{\"0\":1";
  for (int i = 1; i < 1024; ++i) many += ",\"" + std::to_string(i) + "\":1";
  CHECK(refused(many + "}").empty());
  CHECK(refused(many + ",\"x\":1}").find("more than 1024 fields") != std::string::npos);
  std::string deep = "1";
  for (int i = 0; i < 17; ++i) deep = "{\"a\":" + deep + "}";
  CHECK(refused(deep).find("deeper than 16 levels") != std::string::npos);
  CHECK(refused("{\"a\":" + std::string(16, '[')).find("deeper than 16 levels") != std::string::npos);
  std::string tables = "{\"a\":[{}";
  for (int i = 0; i < 65; ++i) tables += "," + many + "}";
  CHECK(refused(tables + "]}").find("more than 65536 fields in all of it") != std::string::npos);
}

TEST_CASE("what a message has no place for is told by its path") {
  struct : leat::conversion_losses {
    void unknown_field(std::string_view path) override { told += std::string(path) + ';'; }
    void rough_number(std::string_view path) override { told += "~" + std::string(path) + ';'; }
    std::string told = {};
  } losses;
  record r = leat::to_record(sample, &losses);
  (void)leat::from_record<fix>(r, &losses);
  CHECK(losses.told.empty());
  r["more"] = 1;
  leat::field_path::parse("where.height").make(r) = 2;
  (void)leat::from_record<fix>(r, &losses);
  CHECK(losses.told == "where.height;more;");
  losses.told.clear();
  r.erase("more");
  r.erase("where");
  for (const char* const name : {"where.lat", "where.lon", "where.height"}) r[name] = 3;
  (void)leat::from_record<fix>(r, &losses);
  CHECK(losses.told == "where.height;");
  // The table counts, and what stands beside it is lost.
  losses.told.clear();
  r = leat::to_record(sample);
  r["where.lat"] = 3;
  CHECK(leat::from_record<fix>(r, &losses) == sample);
  CHECK(losses.told == R"(["where.lat"];)");
  losses.told.clear();
  r["where"] = leat::field_value();
  r["where.lon"] = 4;
  CHECK(leat::from_record<fix>(r, &losses).where == position{3, 4});
  CHECK(losses.told.empty());
}

TEST_CASE("a message that holds many numbers is written alike as a record") {
  const wide w{{0.1f, 3, -2.5e-30f, 16777216, 1e38f}, std::numeric_limits<float>::infinity(), 7};
  const record r = leat::to_record(w);
  CHECK(leat::to_json(r) == leat::to_json(w));
  CHECK(leat::from_record<wide>(r) == w);
  CHECK(leat::from_record<wide>(leat::from_json<record>(leat::to_json(w))) == w);
  CHECK(leat::from_record<wide>(leat::from_cbor<record>(leat::to_cbor(w))) == w);
}

TEST_CASE("fields change their names at a port") {
  const leat::field_renames names{{"temperature", "celsius"}};
  record r{{"celsius", 3}, {"temperature", 99}, {"sensor", 1}};
  names.come_in(r);
  CHECK(r == record{{"temperature", 3}, {"sensor", 1}});
  names.go_out(r);
  CHECK(r == record{{"celsius", 3}, {"sensor", 1}});
}

TEST_CASE("what a path leads to changes its name as well") {
  const leat::field_renames names{{"value", "where.lat"}, {"first", "raw[0]"}, {"name", "name"}};
  const record there{
      {"where", record{{"lat", 3}, {"lon", 4}}}, {"raw", leat::field_list{1, 2}}, {"name", "x"}};
  record r = there;
  names.come_in(r);
  CHECK(leat::to_json(r) == R"({"where":{"lon":4},"raw":[1,2],"value":3,"first":1,"name":"x"})");
  names.go_out(r);
  CHECK(leat::to_json(r) == R"({"where":{"lon":4,"lat":3},"raw":[1,2],"name":"x"})");
}

TEST_CASE("a field cannot change its name to none") {
  using leat::field_renames;
  CHECK_THROWS_AS((field_renames{{"value", ""}, {"x", "a.b"}}), std::invalid_argument);
  CHECK_THROWS_AS((field_renames{{"", "value"}}), std::invalid_argument);
}

TEST_CASE("a number that no int64 holds is told as a real") {
  CHECK(leat::field_value(std::uint64_t{1} << 63).kind() == value_kind::real);
  CHECK(leat::field_value(std::uint64_t{1} << 62).kind() == value_kind::integer);
}

TEST_CASE("a port for records joins a channel of messages, and renames their fields") {
  leat::run({.procs = 2}, [] {
    leat::channel<reading> raw(4), out(4);
    leat::process_options o;
    o.ports = {{"from", {raw}, {}, leat::field_renames{{"value", "celsius"}}},
               {"to", {out}, {}, leat::field_renames{{"value", "celsius"}}}};
    const std::unique_ptr<leat::process> p = leat::make<relay>(o);
    auto runs = leat::spawn([&] { p->run(); });
    raw.send({20.5, 7});
    CHECK(out.recv() == reading{41, 7});
    raw.close();
    runs.join();
  });
}

TEST_CASE("a port for records joins channels of records, and says what it cannot join") {
  leat::run({.procs = 1}, [] {
    leat::channel<record> records(4);
    leat::record_out out{leat::any_channel(records)};
    leat::record_in in{leat::any_channel(records)};
    CHECK(out.send({{"a", 1}}) == leat::send_status::sent);
    CHECK(in.recv() == record{{"a", 1}});
    CHECK_FALSE(in.try_recv());
    records.close();
    std::optional<record> none;
    CHECK(in.recv(none) == leat::recv_status::closed);
    CHECK_THROWS_WITH_AS(leat::record_in(leat::any_channel(leat::channel<int>(1))),
                         "channel '' carries 'int32', which has no fields that a record could have",
                         leat::wiring_error);
    leat::channel<reading> typed(1);
    const leat::record_out to{leat::any_channel(typed)};
    CHECK_THROWS_WITH_AS(to.send({{"celsius", 1.5}}), "field 'sensor' is missing", leat::message_error);
    CHECK(typed.size() == 0);
  });
}

TEST_CASE("a class tells the check what fields its ports have") {
  const leat::class_schema& c = leat::find_process_class("record-relay")->schema();
  CHECK(c.ports[0].message == "record");
  CHECK(c.ports[0].converts);
  CHECK(c.ports[0].fields.front().name == "value");
  CHECK(c.ports[1].fields_of == "from");
  CHECK(c.settings[0].field_of == "from");
  CHECK(leat::program_catalog().find_message("reading")->as_record.size() == 2);
}
