// SPDX-License-Identifier: BSL-1.0
#include <leat/base/units.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

using namespace std::chrono_literals;
using leat::format_duration;
using leat::format_size;
using leat::nanoseconds;
using leat::parse_duration;
using leat::parse_size;

namespace {

constexpr std::uint64_t max_size = std::numeric_limits<std::uint64_t>::max();

void refuses(const leat::parsed<nanoseconds>& got, std::size_t at, const std::string& error) {
  CHECK_FALSE(got);
  CHECK(got.error_at == at);
  CHECK(std::string(got.error).find(error) != std::string::npos);
}

void refuses(const leat::parsed<std::uint64_t>& got, std::size_t at, const std::string& error) {
  CHECK_FALSE(got);
  CHECK(got.error_at == at);
  CHECK(std::string(got.error).find(error) != std::string::npos);
}

}  // namespace

TEST_CASE("durations are read in each unit, with fractions and in series") {
  CHECK(parse_duration("7ns").value == 7ns);
  CHECK(parse_duration("10us").value == 10us);
  CHECK(parse_duration("250ms").value == 250ms);
  CHECK(parse_duration("3s").value == 3s);
  CHECK(parse_duration("5m").value == 5min);
  CHECK(parse_duration("2h").value == 2h);
  CHECK(parse_duration("1d").value == 24h);
  CHECK(parse_duration("1.5s").value == 1500ms);
  CHECK(parse_duration("0.000000001s").value == 1ns);
  CHECK(parse_duration("1.50000000000000000000000000s").value == 1500ms);
  CHECK(parse_duration("0.1d").value == 144min);
  CHECK(parse_duration("1h30m").value == 90min);
  CHECK(parse_duration("1d2h3m4s5ms6us7ns").value == 24h + 2h + 3min + 4s + 5ms + 6us + 7ns);
  CHECK(parse_duration("1m1.5s").value == 61500ms);
  CHECK(parse_duration("90m").value == 90min);
  CHECK(parse_duration("007s").value == 7s);
  CHECK(parse_duration("9223372036854775807ns").value == nanoseconds::max());
}

TEST_CASE("zero needs no unit") {
  CHECK(parse_duration("0").value == 0ns);
  CHECK(parse_duration("0.0").value == 0ns);
  CHECK(parse_duration("0h").value == 0ns);
  CHECK(parse_size("0").value == 0U);
}

TEST_CASE("a wrong duration is refused with the reason and the place") {
  refuses(parse_duration(""), 0, "missing");
  refuses(parse_duration("250"), 3, "a unit is missing");
  refuses(parse_duration("1h30"), 4, "a unit is missing");
  refuses(parse_duration("1h0"), 3, "a unit is missing");
  refuses(parse_duration("-5s"), 0, "negative");
  refuses(parse_duration("1h-5m"), 2, "negative");
  refuses(parse_duration("+5s"), 0, "expected a digit");
  refuses(parse_duration(" 5s"), 0, "expected a digit");
  refuses(parse_duration("5s "), 2, "expected a digit");
  refuses(parse_duration("5 s"), 1, "no blank");
  refuses(parse_duration("s"), 0, "expected a digit");
  refuses(parse_duration(".5s"), 0, "expected a digit");
  refuses(parse_duration("5.s"), 2, "digit after the point");
  refuses(parse_duration("5."), 2, "digit after the point");
  refuses(parse_duration("1.2.3s"), 3, "expected a unit");
  refuses(parse_duration("5S"), 1, "unknown unit");
  refuses(parse_duration("5sec"), 1, "unknown unit");
  refuses(parse_duration("1e3s"), 1, "unknown unit");
  refuses(parse_duration("1h5x"), 3, "unknown unit");
  refuses(parse_duration("30m1h"), 4, "from large to small");
  refuses(parse_duration("1h1h"), 3, "each once");
  refuses(parse_duration("1.5h30m"), 4, "nothing may follow");
  refuses(parse_duration("0.5ns"), 0, "finer than a nanosecond");
  refuses(parse_duration("1s1.0001us"), 2, "finer than a nanosecond");
  refuses(parse_duration("0.1234567890123456789s"), 20, "too many digits");
  refuses(parse_duration("9223372036854775808ns"), 0, "292 years");
  refuses(parse_duration("106752d"), 0, "292 years");
  refuses(parse_duration("106751d24h"), 7, "292 years");
  refuses(parse_duration("99999999999999999999s"), 0, "too large");
  refuses(parse_duration(std::string_view("5\0s", 3)), 1, "expected a unit");
  refuses(parse_duration("5\xc2\xb5s"), 1, "expected a unit");
}

TEST_CASE("sizes are read in bytes and in units of 1024") {
  CHECK(parse_size("4096").value == 4096U);
  CHECK(parse_size("64K").value == 65536U);
  CHECK(parse_size("64k").value == 65536U);
  CHECK(parse_size("8M").value == 8U << 20);
  CHECK(parse_size("1G").value == 1U << 30);
  CHECK(parse_size("2T").value == std::uint64_t{2} << 40);
  CHECK(parse_size("1P").value == std::uint64_t{1} << 50);
  CHECK(parse_size("15E").value == std::uint64_t{15} << 60);
  CHECK(parse_size("1KiB").value == 1024U);
  CHECK(parse_size("3MiB").value == 3U << 20);
  CHECK(parse_size("1EiB").value == std::uint64_t{1} << 60);
  CHECK(parse_size("1.5M").value == 1536U << 10);
  CHECK(parse_size("0.5K").value == 512U);
  CHECK(parse_size("2.0").value == 2U);
  CHECK(parse_size("18446744073709551615").value == max_size);
}

TEST_CASE("a wrong size is refused with the reason and the place") {
  refuses(parse_size(""), 0, "missing");
  refuses(parse_size("-1"), 0, "negative");
  refuses(parse_size("K"), 0, "expected a digit");
  refuses(parse_size(" 1K"), 0, "expected a digit");
  refuses(parse_size("1 K"), 1, "nothing may follow");
  refuses(parse_size("64m"), 2, "unknown unit");
  refuses(parse_size("64g"), 2, "unknown unit");
  refuses(parse_size("64kib"), 2, "unknown unit");
  refuses(parse_size("64iB"), 2, "unknown unit");
  refuses(parse_size("64B"), 2, "unknown unit");
  refuses(parse_size("64KB"), 2, "may mean 1000 or 1024");
  refuses(parse_size("64kb"), 2, "may mean 1000 or 1024");
  refuses(parse_size("1K5"), 2, "nothing may follow");
  refuses(parse_size("1G512M"), 2, "nothing may follow");
  refuses(parse_size("0x10"), 1, "unknown unit");
  refuses(parse_size("0.3K"), 0, "not a whole number of bytes");
  refuses(parse_size("1.5"), 0, "not a whole number of bytes");
  refuses(parse_size("16E"), 0, "64 bits");
  refuses(parse_size("15.99999999999999999999E"), 21, "too many digits");
  refuses(parse_size("18446744073709551616"), 0, "too large");
  refuses(parse_size("99999999999P"), 0, "64 bits");
}

TEST_CASE("durations print in the shortest exact form") {
  CHECK(format_duration(0ns) == "0");
  CHECK(format_duration(1ns) == "1ns");
  CHECK(format_duration(250ms) == "250ms");
  CHECK(format_duration(100ms) == "100ms");
  CHECK(format_duration(1500ms) == "1.5s");
  CHECK(format_duration(1500us) == "1.5ms");
  CHECK(format_duration(60s) == "1m");
  CHECK(format_duration(90min) == "90m");
  CHECK(format_duration(24h) == "1d");
  CHECK(format_duration(36h) == "36h");
  CHECK(format_duration(61s) == "61s");
  CHECK(format_duration(1h + 1ns) == "1h1ns");
  CHECK(format_duration(24h + 7ns) == "1d7ns");
  CHECK(format_duration(1'000'000'001ns) == "1s1ns");
  CHECK(format_duration(-1500ms) == "-1.5s");
  CHECK(parse_duration(format_duration(nanoseconds::max())).value == nanoseconds::max());
  CHECK(format_duration(nanoseconds::min()).substr(0, 1) == "-");
}

TEST_CASE("sizes print in the shortest exact form") {
  CHECK(format_size(0) == "0");
  CHECK(format_size(1) == "1");
  CHECK(format_size(1000) == "1000");
  CHECK(format_size(1024) == "1K");
  CHECK(format_size(4096) == "4K");
  CHECK(format_size(1536) == "1536");
  CHECK(format_size(1536 * 1024) == "1.5M");
  CHECK(format_size(std::uint64_t{3} << 60) == "3E");
  CHECK(format_size(max_size) == "18446744073709551615");
}

TEST_CASE("every duration parses back to itself, and none of its units alone is shorter") {
  std::mt19937_64 random(1);
  const std::uint64_t units[] = {1, 1'000, 1'000'000, 1'000'000'000, 60'000'000'000, 3'600'000'000'000};
  for (int i = 0; i < 20'000; ++i) {
    // Spread over magnitudes, and rounded to a unit half of the time.
    std::uint64_t ns = random() >> (1 + random() % 63);
    const std::uint64_t unit = units[random() % 6];
    if (random() % 2 != 0 && ns > unit) ns -= ns % unit;
    const nanoseconds d(static_cast<std::int64_t>(ns));
    const std::string text = format_duration(d);
    CAPTURE(text);
    CHECK(parse_duration(text).value == d);
    CHECK((ns == 0 || text.size() <= std::to_string(ns).size() + 2));
    if (ns != 0 && ns % units[3] == 0) CHECK(text.size() <= std::to_string(ns / units[3]).size() + 1);
  }
}

TEST_CASE("every size parses back to itself, and plain bytes are never shorter") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 50'000; ++i) {
    std::uint64_t bytes = random() >> (random() % 64);
    if (random() % 2 != 0) bytes = bytes >> (random() % 60) << (random() % 60);
    const std::string text = format_size(bytes);
    CAPTURE(text);
    CHECK(parse_size(text).value == bytes);
    CHECK(text.size() <= std::to_string(bytes).size());
  }
}

TEST_CASE("junk never crashes the parsers, and an error lies within the text") {
  std::mt19937 random(3);
  const std::string alphabet = "0123456789.dhmsunKMGTPEiBk- \xc2";
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (auto size = random() % 12; size != 0; --size) text += alphabet[random() % alphabet.size()];
    const auto duration = parse_duration(text);
    const auto size = parse_size(text);
    const bool sane = duration.error_at <= text.size() && size.error_at <= text.size() &&
                      duration.value.has_value() == duration.error.empty() &&
                      size.value.has_value() == size.error.empty() &&
                      (!duration.value || *duration.value >= 0ns);
    CAPTURE(text);
    CHECK(sane);
  }
}

TEST_CASE("what is written of a duration is read back, with its sign, from the shortest to the longest") {
  for (const std::int64_t ns :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min() + 1,
        std::int64_t{-1'500'000'000}, std::int64_t{-1}, std::int64_t{0}, std::int64_t{250'000'000},
        std::numeric_limits<std::int64_t>::max()}) {
    CAPTURE(ns);
    const auto read = leat::parse_signed_duration(leat::format_duration(leat::nanoseconds(ns)));
    REQUIRE(read);
    CHECK(read.value->count() == ns);
  }
  CHECK_FALSE(leat::parse_signed_duration("9223372036854775808ns"));
  CHECK_FALSE(leat::parse_signed_duration("-9223372036854775809ns"));
  CHECK_FALSE(leat::parse_signed_duration("--1s"));
  CHECK(leat::parse_signed_duration("-x").error_at == 1);
}
