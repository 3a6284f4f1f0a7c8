// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/remote/table.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/value_lines.hpp>

#include <algorithm>

namespace leat::remote {

TEST_CASE("nothing that others wrote can move the cursor") {
  CHECK(printable("plain text 1") == "plain text 1");
  CHECK(printable("a\033[2Jb\n\x7f") == "a?[2Jb??");
  CHECK(printable("\xc2\x9b"
                  "2J") == "?2J");  // a control sequence in one character
  CHECK(printable("\xff\xc3(\xe2\x82") ==
        "?"
        "?(??");
  CHECK(printable("\xc3\xa9\xe6\x97\xa5") == "\xc3\xa9\xe6\x97\xa5");
  CHECK(printable("a\xe2\x80\xae"
                  "b") == "a?b");                       // right to left
  CHECK(printable("\xc0\xaf\xed\xa0\x80") == "?????");  // too long a form, half of a pair
}

TEST_CASE("a text of several lines keeps them, and nothing else") {
  CHECK(printable_lines("a\n  b\033\n") == "a\n  b?\n");
  CHECK(printable_lines("").empty());
  CHECK(printable_lines("\n\r\n") == "\n?\n");
}

TEST_CASE("a text is cut by columns, not by bytes") {
  CHECK(columns("abc") == 3);
  CHECK(columns("\xc3\xa9\xe6\x97\xa5") == 3);
  CHECK(columns("e\xcc\x81") == 1);
  CHECK(cut("abcdef", 6) == "abcdef");
  CHECK(cut("abcdef", 5) == "abcd~");
  CHECK(cut("abcdef", 1) == "~");
  CHECK(cut("abcdef", 0).empty());
  CHECK(cut("\xe6\x97\xa5\xe6\x97\xa5", 3) == "\xe6\x97\xa5~");
  CHECK(cut("\xe6\x97\xa5\xe6\x97\xa5", 2) == "~");
  CHECK(to_left("ab", 4) == "ab  ");
  CHECK(to_right("ab", 4) == "  ab");
  CHECK(to_right("abcdef", 4) == "abc~");
}

TEST_CASE("a long text is wrapped at blanks, and its last line is cut") {
  CHECK(wrapped("one two three four", 9, 9) == std::vector<std::string>{"one two", "three", "four"});
  CHECK(wrapped("one two three four", 9, 2) == std::vector<std::string>{"one two", "three fo~"});
  CHECK(wrapped("abcdefghij k", 4, 9).front().size() <= 4);
  CHECK(wrapped("", 4, 9).empty());
  for (std::size_t width = 1; width < 12; ++width)
    for (const std::string& line :
         wrapped("some words and averyverylongone \xe6\x97\xa5\xe6\x97\xa5", width, 50)) {
      CAPTURE(width);
      CHECK(columns(line) <= std::max<std::size_t>(width, 2));
    }
}

TEST_CASE("numbers take few characters") {
  CHECK(rate_text(0) == "0");
  CHECK(rate_text(0.5) == "0.5");
  CHECK(rate_text(50.14) == "50.1");
  CHECK(rate_text(999) == "999");
  CHECK(rate_text(999.96) == "1.0k");
  CHECK(rate_text(12345) == "12.3k");
  CHECK(rate_text(4.5e6) == "4.5M");
  CHECK(count_text(9999) == "9999");
  CHECK(count_text(123456) == "123k");
  CHECK(bytes_text(9123456) == "8.7M");
  CHECK(percent_text(0.073) == "7%");
  CHECK(percent_text(0.003) == "0.3%");
  CHECK(percent_text(0) == "0%");
  CHECK(elapsed_text(0) == "0s");
  CHECK(elapsed_text(0.00008) == "80us");
  CHECK(elapsed_text(0.0012) == "1.2ms");
  CHECK(elapsed_text(0.06) == "60ms");
  CHECK(elapsed_text(1.25) == "1.2s");
  CHECK(elapsed_text(12) == "12s");
  CHECK(elapsed_text(812.4) == "13m32s");
  CHECK(elapsed_text(11100) == "3h05m");
  CHECK(elapsed_text(1e6) == "11d13h");
  CHECK(elapsed_text(1e300).size() < 40);
  CHECK(elapsed_text(-1) == "0s");
}

TEST_CASE("a table keeps its columns, and shrinks where it may") {
  table t({{.title = "NAME", .shrinks_to = 5},
           {.title = "N", .right = true, .least = 4},
           {.title = "NOTE", .shrinks_to = 3}});
  t.add({"a-long-name", "1", "short"});
  t.add({"b", "12345", "a longer note"});
  CHECK(t.text() ==
        "NAME            N NOTE\n"
        "a-long-name     1 short\n"
        "b           12345 a longer note\n");
  const std::vector<std::size_t> narrow = t.widths(20);
  CHECK(t.heading(narrow) == "NAME       N NOTE");
  CHECK(t.row(0, narrow) == "a-lon~     1 short");
  CHECK(t.row(1, narrow) == "b      12345 a long~");
  // No room at all: what may not shrink stays.
  CHECK(t.row(1, t.widths(1)) == "b     12345 a ~");
}

TEST_CASE("lines are put together to values by their brackets") {
  value_lines v;
  CHECK_FALSE(v.add("  "));
  CHECK(v.empty());
  CHECK(v.add("{\"a\": 1}"));
  CHECK(v.text() == "{\"a\": 1}");
  v.clear();
  CHECK_FALSE(v.add("{\"a\": ["));
  CHECK_FALSE(v.add("1, \"]}\\\"\","));
  CHECK_FALSE(v.add(""));
  CHECK(v.add("2]}"));
  CHECK(v.text() == "{\"a\": [\n1, \"]}\\\"\",\n\n2]}");
  v.clear();
  CHECK(v.add("12"));
  v.clear();
  CHECK(v.add("]"));  // never becomes one
  v.clear();
  CHECK(v.add("{\"a"));
}

}  // namespace leat::remote
