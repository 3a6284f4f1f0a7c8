// SPDX-License-Identifier: BSL-1.0
#include <leat/control/json_writer.hpp>

#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <leat/remote/json.hpp>

namespace leat::control {

using remote::json;
using remote::json_result;
using remote::read_json;

namespace {

TEST_CASE("what the writer writes the reader reads") {
  json_writer w;
  w.object([&] {
    w.member("quote\"\\\x01", "line\nbreak\xff");
    w.member("inf", std::numeric_limits<double>::infinity());
    w.member("most", std::numeric_limits<std::uint64_t>::max());
    w.member("none", std::optional<double>());
    w.list("empty", [] {});
    w.object("inner", [&] { w.member("yes", true); });
  });
  const json_result r = read_json(w.text());
  REQUIRE(r.value.has_value());
  CHECK(r.value->members[0].key == "quote\"\\\x01");
  CHECK(r.value->find("inf")->what == json::kind::null);
  CHECK(r.value->find("most")->text == "18446744073709551615");
  CHECK(r.value->find("inner")->flag_of("yes"));
}

}  // namespace
}  // namespace leat::control
