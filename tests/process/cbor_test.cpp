// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "process/messages.hpp"

using namespace plant;
using leat::from_cbor;
using leat::message_error;
using leat::to_cbor;
using bytes = std::vector<std::uint8_t>;

namespace {

template <class T>
std::string refusal(const bytes& data, const leat::message_limits& limits = {}) {
  try {
    (void)from_cbor<T>(data, limits);
  } catch (const message_error& e) {
    return e.what();
  }
  return "was read";
}

}  // namespace

TEST_CASE("numbers take the shortest form") {
  CHECK(to_cbor(23) == bytes{0x17});
  CHECK(to_cbor(24) == bytes{0x18, 24});
  CHECK(to_cbor(-1) == bytes{0x20});
  CHECK(to_cbor(1000) == bytes{0x19, 0x03, 0xe8});
  CHECK(to_cbor(std::int64_t{-9223372036854775807} - 1) ==
        bytes{0x3b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  CHECK(to_cbor(1.1) == bytes{0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a});
  CHECK(to_cbor(100000.0f) == bytes{0xfa, 0x47, 0xc3, 0x50, 0x00});
  CHECK(to_cbor(std::vector<bool>::size_type{1}) == bytes{0x01});
}

TEST_CASE("a message is a map with the names of its fields") {
  CHECK(to_cbor(place{"a", -1}) ==
        bytes{0xa2, 0x64, 'r', 'o', 'o', 'm', 0x61, 'a', 0x65, 'f', 'l', 'o', 'o', 'r', 0x20});
}

TEST_CASE("what CBOR says is read back as it was") {
  CHECK(from_cbor<reading>(to_cbor(full_reading())) == full_reading());
  CHECK(from_cbor<reading>(to_cbor(reading{})) == reading{});
  CHECK(from_cbor<nothing>(to_cbor(nothing{})) == nothing{});
  CHECK(std::isnan(from_cbor<double>(to_cbor(std::nan("")))));
  const std::string not_utf8("a\xff\0b", 4);
  CHECK(from_cbor<std::string>(to_cbor(not_utf8)) == not_utf8);
}

TEST_CASE("floats of all widths are read") {
  CHECK(from_cbor<double>(bytes{0xf9, 0x3c, 0x00}) == 1.0);
  CHECK(from_cbor<double>(bytes{0xf9, 0xc4, 0x00}) == -4.0);
  CHECK(from_cbor<double>(bytes{0xf9, 0x00, 0x01}) == 5.960464477539063e-8);
  CHECK(from_cbor<double>(bytes{0xf9, 0x7b, 0xff}) == 65504.0);
  CHECK(std::isinf(from_cbor<double>(bytes{0xf9, 0x7c, 0x00})));
  CHECK(std::isnan(from_cbor<double>(bytes{0xf9, 0x7e, 0x00})));
  CHECK(from_cbor<double>(bytes{0x38, 0x63}) == -100.0);
}

TEST_CASE("every data that is cut short is refused") {
  const bytes whole = to_cbor(full_reading());
  for (std::size_t n = 0; n < whole.size(); ++n)
    CHECK_THROWS_AS((void)from_cbor<reading>(std::span(whole).first(n)), message_error);
  bytes longer = whole;
  longer.push_back(0);
  CHECK(refusal<reading>(longer).find("something follows after the end") != std::string::npos);
}

TEST_CASE("lengths are not believed") {
  CHECK(refusal<std::string>({0x7b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) ==
        "byte 0: says it has 9223372036854775807 bytes, but 0 are left");
  CHECK(refusal<std::vector<int>>({0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}) ==
        "byte 0: says it has 18446744073709551615 elements, but 1 bytes are left");
  CHECK(refusal<place>({0xba, 0xff, 0xff, 0xff, 0xff}) ==
        "byte 0: says it has 4294967295 elements, but 0 bytes are left");
}

TEST_CASE("errors say what and where") {
  CHECK(refusal<std::uint8_t>({0x19, 0x01, 0x00}) == "byte 0: 256 is not in the range 0 to 255");
  CHECK(refusal<std::vector<int>>({0x82, 0x01, 0x61, 'a'}) ==
        "byte 2: [1]: expected a whole number, got a text");
  CHECK(refusal<std::string>({0x61, 0xff}) == "byte 0: a text that is not UTF-8");
  CHECK(refusal<std::string>({0x7f, 0x61, 'a', 0xff}) == "byte 0: indefinite lengths are not accepted");
  CHECK(refusal<int>({0xc1, 0x00}) == "byte 0: expected a whole number, got a tag");
  CHECK(refusal<int>({0x1c}) == "byte 0: a reserved form");
  CHECK(refusal<int>({0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) ==
        "byte 0: a number that does not fit into 64 bits");
  CHECK(refusal<place>({0xa1, 0x61, 'x', 0x00}) == "byte 1: 'place' has no field \"x\"");
  CHECK(refusal<place>({0xa0}) == "byte 1: the field \"room\" is missing");
  CHECK(refusal<float>({0xfb, 0x7f, 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) ==
        "byte 0: does not fit into a float");
}

TEST_CASE("a reader has limits of depth, elements and bytes") {
  bytes deep;
  for (int i = 0; i < 1000; ++i)
    deep.insert(deep.end(), {0xa1, 0x68, 'b', 'r', 'a', 'n', 'c', 'h', 'e', 's', 0x81});
  CHECK(refusal<tree>(deep).find("deeper than 64 levels") != std::string::npos);
  CHECK(refusal<std::vector<int>>({0x83, 1, 2, 3}, {.elements = 2}).find("more than 2 elements") !=
        std::string::npos);
  CHECK(refusal<int>({0x18, 0x18}, {.bytes = 1}) == "byte 0: 2 bytes; the limit is 1");
}

TEST_CASE("data that is wrong at any byte is refused or read, never more") {
  std::mt19937 random(1);
  const bytes whole = to_cbor(full_reading());
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    bytes broken = whole;
    for (int k = 0; k < 3; ++k) broken[random() % broken.size()] = static_cast<std::uint8_t>(random());
    try {
      (void)from_cbor<reading>(broken);
    } catch (const message_error& e) {
      CHECK(e.at() <= broken.size());
      ++refused;
    }
  }
  CHECK(refused > 0);
}
