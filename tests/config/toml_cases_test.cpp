// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include <leat/config/toml.hpp>

#include "config/toml_cases.hpp"

namespace leat::config::test {
namespace {

// As to_text shows it, or the rule that it breaks.
std::string outcome(std::string text) {
  source_set sources;
  const std::uint32_t file = sources.add("t.toml", std::move(text));
  diagnostics found;
  const std::optional<value> v = parse_toml(sources, file, found);
  if (found.errors() == 0) return to_text(v.value());
  return "refused: " + std::string(found.all().front().rule);
}

}  // namespace

TEST_CASE("each text of the suite that is TOML is read as what it says") {
  for (const toml_case& c : accepted_toml) {
    CAPTURE(std::string(c.text));
    CHECK(outcome(std::string(c.text)) == c.value);
  }
  for (const std::string_view date : toml_dates) {
    CAPTURE(std::string(date));
    CHECK(outcome("a = " + std::string(date)) == "refused: type");
  }
}

TEST_CASE("each text of the suite that is no TOML is refused, with another rule than that of dates") {
  const auto check = [](const std::string& text) {
    CAPTURE(text);
    const std::string how = outcome(text);
    CHECK(how.starts_with("refused: "));
    CHECK(how != "refused: type");
  };
  for (const std::string_view text : refused_toml_values) check("a = " + std::string(text));
  for (const std::string_view text : refused_toml) check(std::string(text));
}

TEST_CASE("numbers that are none are TOML, and are no numbers") {
  for (const char* text : {"a = nan", "a = +nan", "a = -nan"})
    CHECK(outcome(text).find("nan") != std::string::npos);
}

}  // namespace leat::config::test
