// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/base/schema.hpp>
#include <leat/base/value.hpp>

using namespace leat;
using namespace std::chrono_literals;

namespace {

value sample_table(std::uint32_t line) {
  value::table t;
  t.push_back({"period", {}, value(250ms, {0, line, 3, 7})});
  t.push_back({"two words", {}, value(value::list{value(1), value("a\"b\n")})});
  return value(std::move(t));
}

}  // namespace

TEST_CASE("a value keeps its kind") {
  CHECK(value(true).kind() == value_kind::boolean);
  CHECK(value(7u).get<std::int64_t>() == 7);
  CHECK(value(1.5).get<double>() == 1.5);
  CHECK(value("x").get<std::string>() == "x");
  CHECK(value(2s).get<nanoseconds>() == 2s);
  CHECK(value(byte_size{4096}).get<byte_size>().bytes == 4096);
  CHECK_FALSE(value());
  CHECK(value(0));
  CHECK(value(1).get_if<double>() == nullptr);
}

TEST_CASE("a value is written as a file would have it") {
  CHECK(to_text(sample_table(1)) == R"({ period = "250ms", "two words" = [1, "a\"b\n"] })");
  CHECK(to_text(value(3.0)) == "3.0");
  CHECK(to_text(value(0.1)) == "0.1");
  CHECK(to_text(value(byte_size{65536})) == R"("64K")");
  CHECK(to_text(value(value::table{})) == "{}");
  CHECK(to_text(value(value::list{})) == "[]");
  CHECK(to_text(value()).empty());
  CHECK(in_quotes(std::string_view("\x01", 1)) == R"("\u0001")");
}

TEST_CASE("values are equal when they say the same, wherever they stand") {
  CHECK(sample_table(1) == sample_table(9));
  CHECK_FALSE(sample_table(1) == value(value::table{}));
  CHECK_FALSE(value(1) == value(1.0));
  CHECK_FALSE(value(1) == value(2));
}

TEST_CASE("a member of a table is found by its key") {
  const value t = sample_table(4);
  REQUIRE(t.find("period"));
  CHECK(t.find("period")->at() == source_location{0, 4, 3, 7});
  CHECK(t.find("missing") == nullptr);
  CHECK(value(1).find("period") == nullptr);
}

TEST_CASE("a type describes itself with its limits") {
  CHECK(describe_type({.kind = value_kind::integer, .least = value(1), .most = value(1024)}) ==
        "integer 1 to 1024");
  CHECK(describe_type({.kind = value_kind::duration, .least = value(1ms)}) == "duration of at least \"1ms\"");
  CHECK(describe_type({.kind = value_kind::size, .most = value(byte_size{1024})}) ==
        "size of at most \"1K\"");
  CHECK(describe_type({.kind = value_kind::list, .element = {{.kind = value_kind::text}}}) == "list of text");
  CHECK(describe_type({.kind = value_kind::enumeration, .names = {"skip", "burst"}}) ==
        R"(one of "skip" "burst")");
  setting_schema structure{.kind = value_kind::table};
  structure.fields.push_back({.name = "host"});
  structure.fields.push_back({.name = "port"});
  CHECK(describe_type(structure) == "{ host, port }");
}

TEST_CASE("ports and settings of a class are found by name") {
  class_schema c{.name = "smooth"};
  c.ports.push_back({.name = "raw", .direction = port_direction::in, .message = "sample"});
  c.settings.push_back({.name = "window"});
  REQUIRE(find_port(c, "raw"));
  CHECK(find_port(c, "raw")->message == "sample");
  CHECK(find_port(c, "row") == nullptr);
  CHECK(find_setting(c.settings, "window") == &c.settings[0]);
  CHECK(find_setting(c.settings, "windows") == nullptr);
}
