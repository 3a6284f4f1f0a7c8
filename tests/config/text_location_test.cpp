// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/config/text_location.hpp>

namespace leat::config {
namespace {

// Where the bytes of `text` from `offset` are in a file whose second line begins the text at column 5.
std::string place(const std::string& written, const std::string& text, std::size_t offset,
                  std::size_t length) {
  source_set sources;
  (void)sources.add("a.toml", "leat = 1\nx = " + written + "\ny = 1\n");
  const source_location whole{0, 2, 5, 99};
  const source_location at = location_in_text(sources, whole, text, offset, length);
  if (at == whole) return "whole";
  return std::to_string(at.line) + ':' + std::to_string(at.column) + '+' + std::to_string(at.length);
}

TEST_CASE("a part of a text is found through its quotes and escapes") {
  CHECK(place("'a > b'", "a > b", 4, 1) == "2:10+1");
  CHECK(place("\"a > b\"", "a > b", 0, 5) == "2:6+5");
  CHECK(place(R"("a == \"b\" && c")", "a == \"b\" && c", 5, 3) == "2:11+5");
  CHECK(place(R"("\u00e4 + \U0001F600 + x")", "\xc3\xa4 + \xf0\x9f\x98\x80 + x", 12, 1) == "2:28+1");
  CHECK(place("'\xc3\xa4\xc3\xa4 > b'", "\xc3\xa4\xc3\xa4 > b", 7, 1) == "2:11+1");
}

TEST_CASE("a part of a text of several lines is found in its line") {
  CHECK(place("'''\na >\n  b'''", "a >\n  b", 6, 1) == "4:3+1");
  CHECK(place("\"\"\"a >\nb\"\"\"", "a >\nb", 4, 1) == "3:1+1");
  CHECK(place("\"\"\"a \\\n    > b\"\"\"", "a > b", 2, 1) == "3:5+1");
  CHECK(place("'''\r\na\r\nb'''", "a\nb", 2, 1) == "4:1+1");
}

TEST_CASE("what ends with the text is told at its end") {
  CHECK(place("'a >'", "a >", 3, 1) == "2:9+1");
  CHECK(place("''", "", 0, 1) == "2:6+1");
}

TEST_CASE("a text that the file spells otherwise is told as a whole") {
  CHECK(place("'${WHAT} > b'", "a > b", 4, 1) == "whole");
  CHECK(place("\"\\q > b\"", "a > b", 4, 1) == "whole");
  CHECK(place("12", "12", 1, 1) == "whole");
  CHECK(place("'a", "a > b", 4, 1) == "whole");
}

}  // namespace
}  // namespace leat::config
