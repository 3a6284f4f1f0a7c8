// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include <leat/config/render.hpp>

#include "checking.hpp"
#include "json.hpp"
#include "support/paths.hpp"

using namespace leat::config;
using namespace leat::config::test;
using leat::source_location;

namespace {

std::string shown_alone(std::string text, source_location at) {
  source_set sources;
  sources.add("f", std::move(text));
  diagnostics found;
  found.error("rule", at, "wrong");
  return render(found, sources);
}

}  // namespace

TEST_CASE("errors come before warnings, each by place") {
  source_set sources;
  sources.add("a", "");
  sources.add("b", "");
  diagnostics found;
  found.warning("r", {0, 1, 1, 1}, "w1");
  found.error("r", {1, 1, 1, 1}, "e3");
  found.error("r", {0, 2, 5, 1}, "e2");
  found.error("r", {0, 2, 1, 1}, "e1");
  found.sort();
  std::string order;
  for (const diagnostic& f : found.all()) order += f.text + ' ';
  CHECK(order == "e1 e2 e3 w1 ");
  CHECK(found.errors() == 3);
  CHECK(summary(found) == "3 errors, 1 warning");
  CHECK(summary(diagnostics()) == "no errors");
}

TEST_CASE("carets stand under what they mean, also behind tabs and wide characters") {
  CHECK(shown_alone("\ta\t= 1\n", {0, 1, 6, 1}) ==
        "f:1:6: error: wrong\n    1 |         a       = 1\n      |                   ^\n");
  CHECK(shown_alone("\"温度\" = 1\n", {0, 1, 8, 1}) ==
        "f:1:8: error: wrong\n    1 | \"温度\" = 1\n      |          ^\n");
  CHECK(shown_alone("\"温度\" = 1\n", {0, 1, 1, 4}) ==
        "f:1:1: error: wrong\n    1 | \"温度\" = 1\n      | ^^^^^^\n");
  // e and a combining accent
  CHECK(shown_alone("e\xcc\x81 = 1\n", {0, 1, 6, 1}) ==
        "f:1:6: error: wrong\n    1 | e\xcc\x81 = 1\n      |     ^\n");
}

TEST_CASE("what is missing at the end of a line is shown behind it") {
  CHECK(shown_alone("a =\n", {0, 1, 4, 1}) == "f:1:4: error: wrong\n    1 | a =\n      |    ^\n");
  CHECK(shown_alone("", {0, 1, 1, 1}) == "f:1:1: error: wrong\n    1 |\n      | ^\n");
}

TEST_CASE("a file cannot send commands to the terminal") {
  const std::string out = shown_alone("a = \"\x1b[31m\xff\x7f\" # \xc2\x9b\n", {0, 1, 5, 1});
  CHECK(out.find('\x1b') == std::string::npos);
  CHECK(out.find('\x7f') == std::string::npos);
  CHECK(out.find("\xc2\x9b") == std::string::npos);
  CHECK(out.find("a = \"\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd\" # \xef\xbf\xbd\n") != std::string::npos);
  diagnostics found;
  found.error("rule", {}, "a\x1b[2Jb");
  CHECK(render(found, {}) == "leat: error: a\xef\xbf\xbd[2Jb\n");
}

TEST_CASE("of a very long line, the part with the carets is shown") {
  const std::string out =
      shown_alone(std::string(100000, 'x') + "HERE" + std::string(100000, 'y'), {0, 1, 100001, 4});
  CHECK(out.size() < 1000);
  const std::size_t line = out.find("HERE"), carets = out.find("^^^^");
  REQUIRE(line != std::string::npos);
  REQUIRE(carets != std::string::npos);
  const auto column = [&](std::size_t at) { return at - out.rfind('\n', at); };
  CHECK(column(line) == column(carets));
  CHECK(out.find("^^^^^") == std::string::npos);
}

TEST_CASE("line numbers of any length keep the bar straight") {
  std::string text(1234566, '\n');
  text += "a = 1\n";
  const std::string out = shown_alone(text, {0, 1234567, 1, 1});
  CHECK(out == "f:1234567:1: error: wrong\n1234567 | a = 1\n        | ^\n");
}

TEST_CASE("colours are there only when they are asked for, and change no text") {
  std::filesystem::current_path(leat::test::in_source("tests/config"));
  const checked c = check({"broken/combined.toml"}, classes());
  const std::string plain = render(c.found, c.sources, false);
  std::string coloured = render(c.found, c.sources, true);
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(coloured.find('\x1b') != std::string::npos);
  for (std::size_t i = 0; (i = coloured.find('\x1b', i)) != std::string::npos;)
    coloured.erase(i, coloured.find('m', i) - i + 1);
  CHECK(coloured == plain);
}

TEST_CASE("diagnostics as JSON say the same as the text") {
  std::filesystem::current_path(leat::test::in_source("tests/config"));
  for (const auto& e : std::filesystem::directory_iterator("broken")) {
    if (e.path().extension() != ".toml") continue;
    CAPTURE(e.path());
    const checked c = check({e.path().string()}, classes());
    const std::optional<json> got = json_reader::read(render_json(c.found, c.sources));
    REQUIRE(got);
    REQUIRE(got->find("errors"));
    REQUIRE(got->find("warnings"));
    CHECK(got->find("errors")->elements.size() == c.found.errors());
    CHECK(got->find("warnings")->elements.size() == c.found.warnings());
  }
}

TEST_CASE("a diagnostic as JSON has place, message, second places and the suggestion alone") {
  std::filesystem::current_path(leat::test::in_source("tests/config"));
  const auto json_of = [](const char* file) {
    const checked c = check({file}, classes());
    return render_json(c.found, c.sources);
  };
  CHECK(
      json_of("broken/channel-unknown-key.toml") ==
      R"({"errors":[{"severity":"error","rule":"unknown-key","file":"broken/channel-unknown-key.toml","line":9,"column":1,"length":8,"message":"unknown key 'capasity' in [channel.raw]; did you mean 'capacity'?","suggestion":"capacity"}],"warnings":[]})");
  CHECK(
      json_of("broken/channel-types.toml") ==
      R"({"errors":[{"severity":"error","rule":"type-mismatch","file":"broken/channel-types.toml","line":4,"column":17,"length":5,"message":"channel 'raw' joins ports of different types","label":"probe.value writes 'sample'","notes":[{"file":"broken/channel-types.toml","line":7,"column":20,"length":5,"message":"log.readings reads 'reading'"}]}],"warnings":[]})");
  CHECK(json_of("broken/cycle-self.toml")
            .rfind(R"({"errors":[],"warnings":[{"severity":"warning","rule":"cycle")", 0) == 0);
}

TEST_CASE("JSON text is escaped, whatever it holds") {
  CHECK(json_quoted("a\"b\\c\n\x01") == R"("a\"b\\c\u000a\u0001")");
  CHECK(json_quoted("\xff") == "\"\xef\xbf\xbd\"");
}
