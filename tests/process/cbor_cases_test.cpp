// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <limits>

#include "process/cbor_cases.hpp"

namespace leat::test {
namespace {

struct what_came {
  std::string json;  // or why it was refused
  std::vector<std::uint8_t> written = {};
};
what_came outcome(as_type type, const std::vector<std::uint8_t>& bytes) {
  return with_type(type, [&]<class T>() -> what_came {
    try {
      const T v = from_cbor<T>(bytes);
      return {to_json(v), to_cbor(v)};
    } catch (const message_error& e) {
      return {std::string("refused: ") + e.what()};
    }
  });
}

}  // namespace

TEST_CASE("each example of RFC 8949 that a message can hold is read, and written again") {
  for (const cbor_case& c : accepted_cbor) {
    CAPTURE(std::string(c.hex));
    const std::vector<std::uint8_t> bytes = from_hex(c.hex);
    const what_came read = outcome(c.type, bytes);
    CHECK(read.json == c.json);
    CHECK((read.written == bytes) == (c.written == form_of::same));
    CHECK(outcome(c.type, read.written).json == c.json);
  }
}

TEST_CASE(
    "examples of RFC 8949 that no message can hold, and what is not well-formed, are refused as any type") {
  const auto refused_as_all = [](std::string_view hex) {
    CAPTURE(std::string(hex));
    for (auto t = as_type::record; t <= last_type; t = static_cast<as_type>(static_cast<int>(t) + 1))
      CHECK(outcome(t, from_hex(hex)).json.starts_with("refused: "));
  };
  for (const std::string_view hex : unwanted_cbor) refused_as_all(hex);
  for (const std::string_view hex : malformed_cbor) refused_as_all(hex);
}

TEST_CASE("integers of 64 bits are read up to their ends") {
  CHECK(from_cbor<std::uint64_t>(from_hex("1bffffffffffffffff")) ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(from_cbor<std::int64_t>(from_hex("3b7fffffffffffffff")) == std::numeric_limits<std::int64_t>::min());
  CHECK_THROWS_AS((void)from_cbor<std::int64_t>(from_hex("3b8000000000000000")), message_error);
  CHECK_THROWS_AS((void)from_cbor<std::int64_t>(from_hex("1b8000000000000000")), message_error);
}

}  // namespace leat::test
