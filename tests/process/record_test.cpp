// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/leat.hpp>

using namespace std::chrono_literals;
using leat::field_kind;
using leat::record;

namespace {

enum class mood { calm, wild };
LEAT_ENUM(mood, calm, wild);

struct position {
  double lat, lon;
};
LEAT_MESSAGE(position, lat, lon);

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

// Passes records on, and says that it does.
class relay : public leat::process {
  leat::record_in from{this, "from", leat::needs{{"value", field_kind::real}}};
  leat::record_out to{this, "to", leat::fields_like("from")};
  leat::field_setting<> field{this, "field", "from", field_kind::real, "value", "which"};

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
        R"({"name":"buoy","where.lat":54.5,"where.lon":10.25,"satellites":9,"age":null,"took":"250ms",)"
        R"("at":"1970-01-01T00:00:00Z","sea":"wild","used":"[3,7]","good":true})");
  CHECK(leat::from_record<fix>(r) == sample);
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
  r.erase("where.lat");
  CHECK(why_not(r) == "field 'where.lat' is missing");
  r["where.lat"] = 1;
  r.erase("age");
  r["more"] = "is left out";
  CHECK(why_not(r).empty());
}

TEST_CASE("records read from JSON keep what they were") {
  const auto r = leat::from_json<record>(R"({"a":1,"b":1.0,"c":{"d":"x","e":{"f":false}},"g":null,"h":1e3})");
  CHECK(r == record{{"a", 1}, {"b", 1.0}, {"c.d", "x"}, {"c.e.f", false}, {"g", {}}, {"h", 1000.0}});
  CHECK(leat::to_json(r) == R"({"a":1,"b":1.0,"c.d":"x","c.e.f":false,"g":null,"h":1000.0})");
  CHECK_THROWS_WITH_AS(leat::from_json<record>(R"({"a":1,"a":2})"),
                       "line 1, column 8: the field \"a\" comes twice", leat::message_error);
  CHECK_THROWS_WITH_AS(leat::from_json<record>(R"({"a":[1]})"),
                       "line 1, column 6: a: expected a number, a text, true, false or null, got a list",
                       leat::message_error);
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
  CHECK(refused("{\"" + std::string(250, 'x') + "\":{\"abcdefg\":1}}").find("more than 256 bytes") !=
        std::string::npos);
  CHECK(refused("{\"" + std::string(250, 'x') + "\":{\"abc\":1}}").empty());
  std::string many = "{\"0\":1";
  for (int i = 1; i < 1024; ++i) many += ",\"" + std::to_string(i) + "\":1";
  CHECK(refused(many + "}").empty());
  CHECK(refused(many + ",\"x\":1}").find("more than 1024 fields") != std::string::npos);
  std::string deep = "1";
  for (int i = 0; i < 17; ++i) deep = "{\"a\":" + deep + "}";
  CHECK(refused(deep).find("deeper than 16 levels") != std::string::npos);
}

TEST_CASE("fields change their names at a port") {
  const leat::field_renames names{{"temperature", "celsius"}};
  record r{{"celsius", 3}, {"temperature", 99}, {"sensor", 1}};
  names.come_in(r);
  CHECK(r == record{{"temperature", 3}, {"sensor", 1}});
  names.go_out(r);
  CHECK(r == record{{"celsius", 3}, {"sensor", 1}});
}

TEST_CASE("a number that no int64 holds is told as a real") {
  CHECK(leat::field_value(std::uint64_t{1} << 63).kind() == field_kind::real);
  CHECK(leat::field_value(std::uint64_t{1} << 62).kind() == field_kind::integer);
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
