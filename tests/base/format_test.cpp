// SPDX-License-Identifier: BSL-1.0
#include <leat/base/format.hpp>

#include <doctest/doctest.h>
#include <errno.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

using leat::fixed_text;

namespace {

enum class small : signed char { low = -5 };
enum plain { seven = 7 };

template <class... Args>
std::string format(leat::format_string<std::type_identity_t<Args>...> text, const Args&... args) {
  fixed_text<256> out;
  out.format(text, args...);
  return std::string(out.view());
}

}  // namespace

TEST_CASE("each kind of value prints as expected") {
  CHECK(format("{}", 0) == "0");
  CHECK(format("{}", std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(format("{}", std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(format("{} {}", static_cast<short>(-3), static_cast<unsigned char>(200)) == "-3 200");
  CHECK(format("{} {}", true, false) == "true false");
  CHECK(format("{}", 'x') == "x");
  CHECK(format("{} {}", small::low, seven) == "-5 7");
  CHECK(format("{} {} {}", "literal", std::string("string"), std::string_view("view")) ==
        "literal string view");
  CHECK(format("{}", static_cast<const char*>(nullptr)) == "(null)");
  CHECK(format("{} {}", nullptr, reinterpret_cast<void*>(0xbeef)) == "null 0xbeef");
  CHECK(format("{}", static_cast<int*>(nullptr)) == "null");
  CHECK(format("{} {}", leat::hex{0}, leat::hex{0xFFFFFFFFFFFFFFFF}) == "0x0 0xffffffffffffffff");
}

TEST_CASE("doubles print the shortest text that reads back") {
  CHECK(format("{} {} {}", 0.1, -2.5, 1e100) == "0.1 -2.5 1e+100");
  CHECK(format("{}", 0.5F) == "0.5");
  CHECK(format("{}", 1e15) == "1e+15");
  CHECK(format("{} {}", std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()) ==
        "inf -inf");
  CHECK(format("{}", std::numeric_limits<double>::quiet_NaN()).find("nan") != std::string::npos);
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    static_assert(sizeof value == sizeof bits);
    __builtin_memcpy(&value, &bits, sizeof value);
    if (value != value) continue;
    CHECK(std::strtod(format("{}", value).c_str(), nullptr) == value);
  }
}

TEST_CASE("doubled braces print one, and text around fields is kept") {
  CHECK(format("a{{b}}c{}d", 1) == "a{b}c1d");
  CHECK(format("{{}}") == "{}");
  CHECK(format("{{{}}}", 5) == "{5}");
  CHECK(format("") == "");
  CHECK(format("plain") == "plain");
}

TEST_CASE("fields are counted while compiling") {
  using leat::detail::bad_format;
  using leat::detail::count_fields;
  static_assert(count_fields("{} and {}") == 2);
  static_assert(count_fields("{{}}") == 0);
  static_assert(count_fields("{{{}}}") == 1);
  static_assert(count_fields("{") == bad_format);
  static_assert(count_fields("}") == bad_format);
  static_assert(count_fields("{x}") == bad_format);
  static_assert(count_fields("a } b") == bad_format);
}

TEST_CASE("the unchecked form survives too few and too many arguments and lone braces") {
  const leat::format_arg args[] = {1, 2};
  fixed_text<64> out;
  out.append_fields("{} {} {}", args, 2);
  CHECK(out.view() == "1 2 {?}");
  out.clear();
  out.append_fields("{}", args, 2);
  CHECK(out.view() == "1");
  out.clear();
  out.append_fields("{x} } {", args, 0);
  CHECK(out.view() == "{x} } {");
}

TEST_CASE("text that does not fit is cut and marked, and later text is dropped") {
  fixed_text<10> out;
  out.append("1234567890");
  CHECK(out.view() == "1234567890");
  CHECK_FALSE(out.truncated());
  out.append('x').append("y").append_int(5);
  CHECK(out.truncated());
  CHECK(out.view() == "1234567…");
  out.clear();
  CHECK_FALSE(out.truncated());
  out.append("abc").append("defghijklmnop");
  CHECK(out.view() == "abcdefg…");
}

TEST_CASE("a cut never splits a UTF-8 character") {
  for (int lead = 0; lead < 6; ++lead) {
    fixed_text<12> out;
    out.append(std::string(static_cast<std::size_t>(lead), 'a')).append("äöüäöüäöü");
    CHECK(out.truncated());
    const std::string cut(out.view().substr(0, out.size() - 3));
    CHECK(out.view().substr(cut.size()) == "…");
    CHECK(cut.size() >= 8);
    CHECK((cut.size() - static_cast<std::size_t>(lead)) % 2 == 0);
  }
}

TEST_CASE("a buffer too small for the mark stays empty") {
  char memory[2];
  leat::text_buffer out(memory, sizeof memory);
  out.append("abc");
  CHECK(out.truncated());
  CHECK(out.view().empty());
}

TEST_CASE("append takes any printable value, and a number is no character") {
  fixed_text<64> out;
  out.append(65).append(' ').append(std::string("s")).append(' ').append(true).append(' ').append(small::low);
  CHECK(out.view() == "65 s true -5");
}

TEST_CASE("numbers can be filled up with zeros") {
  fixed_text<32> out;
  out.append_uint(7, 3).append(' ').append_uint(1234, 3).append(' ').append_uint(0, 1);
  CHECK(out.view() == "007 1234 0");
}

TEST_CASE("a time that has passed is told in ms or us, and is never 0 or less") {
  const auto told = [](std::int64_t ns) {
    fixed_text<32> t;
    append_elapsed(t, ns);
    return std::string(t.view());
  };
  CHECK(told(12'999'999) == "12 ms");
  CHECK(told(1'000'000) == "1 ms");
  CHECK(told(999'999) == "999 us");
  CHECK(told(1'000) == "1 us");
  CHECK(told(999) == "less than 1 us");
  CHECK(told(0) == "less than 1 us");
  CHECK(told(-4'000'000) == "less than 1 us");
  CHECK(told(INT64_MAX) == "9223372036854 ms");
}

TEST_CASE("write_text writes all and keeps errno") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  errno = 77;
  leat::write_text(ends[1], "hello");
  CHECK(errno == 77);
  leat::write_text(-1, "nobody hears this");
  CHECK(errno == 77);
  char got[16] = {};
  CHECK(::read(ends[0], got, sizeof got) == 5);
  CHECK(std::string_view(got) == "hello");
  ::close(ends[0]);
  ::close(ends[1]);
}
