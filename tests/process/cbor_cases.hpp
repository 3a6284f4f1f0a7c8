// SPDX-License-Identifier: BSL-1.0
//
// The examples of RFC 8949, appendix A, with the type that each is read as, and data that appendix F calls
// not well-formed: for a test, and where the fuzzers begin. Bytes are in hexadecimal.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "process/json_cases.hpp"

namespace leat::test {

inline std::vector<std::uint8_t> from_hex(std::string_view digits) {
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(nibble(digits[i]) << 4 | nibble(digits[i + 1])));
  return bytes;
}

enum class form_of : std::uint8_t { same, other };  // our writer's bytes are these, or others

struct cbor_case {
  as_type type;
  std::string_view hex;
  std::string_view json;
  form_of written = form_of::same;
};

// clang-format off
inline constexpr cbor_case accepted_cbor[] = {
    {as_type::integer, "00", "0"}, {as_type::integer, "01", "1"}, {as_type::integer, "0a", "10"},
    {as_type::integer, "17", "23"}, {as_type::integer, "1818", "24"}, {as_type::integer, "1819", "25"},
    {as_type::integer, "1864", "100"}, {as_type::integer, "1903e8", "1000"}, {as_type::integer, "1a000f4240", "1000000"},
    {as_type::integer, "1b000000e8d4a51000", "1000000000000"},
    {as_type::real, "1bffffffffffffffff", "18446744073709551616.0", form_of::other},
    {as_type::real, "3bffffffffffffffff", "-18446744073709551616.0", form_of::other},
    {as_type::integer, "20", "-1"}, {as_type::integer, "29", "-10"}, {as_type::integer, "3863", "-100"},
    {as_type::integer, "3903e7", "-1000"},
    {as_type::real, "f90000", "0.0", form_of::other}, {as_type::real, "f98000", "-0.0", form_of::other},
    {as_type::real, "f93c00", "1.0", form_of::other}, {as_type::real, "fb3ff199999999999a", "1.1"},
    {as_type::real, "f93e00", "1.5", form_of::other}, {as_type::real, "f97bff", "65504.0", form_of::other},
    {as_type::real, "fa47c35000", "1e+05", form_of::other},
    {as_type::real, "fa7f7fffff", "3.4028234663852886e+38", form_of::other},
    {as_type::real, "fb7e37e43c8800759c", "1e+300"}, {as_type::real, "f90001", "5.960464477539063e-08", form_of::other},
    {as_type::real, "f90400", "6.103515625e-05", form_of::other}, {as_type::real, "f9c400", "-4.0", form_of::other},
    {as_type::real, "fbc010666666666666", "-4.1"}, {as_type::real, "f97c00", "\"Infinity\"", form_of::other},
    {as_type::real, "f97e00", "\"NaN\"", form_of::other}, {as_type::real, "f9fc00", "\"-Infinity\"", form_of::other},
    {as_type::real, "fa7f800000", "\"Infinity\"", form_of::other}, {as_type::real, "fa7fc00000", "\"NaN\"", form_of::other},
    {as_type::real, "faff800000", "\"-Infinity\"", form_of::other}, {as_type::real, "fb7ff0000000000000", "\"Infinity\""},
    {as_type::real, "fb7ff8000000000000", "\"NaN\""}, {as_type::real, "fbfff0000000000000", "\"-Infinity\""},
    {as_type::truth, "f4", "false"}, {as_type::truth, "f5", "true"}, {as_type::maybe, "f6", "null"},
    // A byte string is read as a text, and written as one if it is UTF-8.
    {as_type::text, "40", "\"\"", form_of::other},
    {as_type::text, "4401020304", "\"\\u0001\\u0002\\u0003\\u0004\"", form_of::other},
    {as_type::text, "60", "\"\""}, {as_type::text, "6161", "\"a\""}, {as_type::text, "6449455446", "\"IETF\""},
    {as_type::text, "62225c", "\"\\\"\\\\\""}, {as_type::text, "62c3bc", "\"\xc3\xbc\""},
    {as_type::text, "63e6b0b4", "\"\xe6\xb0\xb4\""}, {as_type::text, "64f0908591", "\"\xf0\x90\x85\x91\""},
    {as_type::ints, "80", "[]"}, {as_type::ints, "83010203", "[1,2,3]"},
    {as_type::ints, "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
     "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]"},
    {as_type::record, "a0", "{}"},
    {as_type::record, "a56161614161626142616361436164614461656145",
     "{\"a\":\"A\",\"b\":\"B\",\"c\":\"C\",\"d\":\"D\",\"e\":\"E\"}"},
    {as_type::record, "a26161016162820203", "{\"a\":1,\"b\":[2,3]}"},
    {as_type::structure, "a16161820203", "{\"x\":null,\"a\":[2,3],\"id\":null}", form_of::other},
};

// Well-formed, and refused whatever it is read as: tags, lengths that are told by an end, simple values other than
// false, true and null, keys that are no texts, lists of several types.
inline constexpr std::string_view unwanted_cbor[] = {
    "c249010000000000000000", "c349010000000000000000", "f7", "f0", "f8ff", "c074323031332d30332d32315432303a30343a30305a",
    "c11a514b67b0", "c1fb41d452d9ec200000", "d74401020304", "d818456449455446",
    "d82076687474703a2f2f7777772e6578616d706c652e636f6d", "8301820203820405", "a201020304", "826161a161626163",
    "5f42010243030405ff", "7f657374726561646d696e67ff", "9fff", "9f018202039f0405ffff",
    "9f01820203820405ff", "83018202039f0405ff", "83019f0203ff820405",
    "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", "bf61610161629f0203ffff", "826161bf61626163ff",
    "bf6346756ef563416d7421ff",
};

inline constexpr std::string_view malformed_cbor[] = {
    // The end comes within a head, a string, an array or map, a tag.
    "", "18", "19", "1a", "1b", "1901", "1a0102", "1b01020304050607", "38", "58", "78", "98", "9a01ff00", "b8", "d8", "f8",
    "f900", "fa0000", "fb000000", "41", "61", "5affffffff00", "5bffffffffffffffff010203", "7affffffff00",
    "7b7fffffffffffffff010203", "81", "818181818181818181", "8200", "a1", "a20102", "a100", "a2000000", "c0", "5f4100",
    "7f6100", "9f", "9f0102", "bf", "bf01020102", "819f", "9f8000", "9f9f9f9f9fffffffff", "9f819f819f9fffffff",
    // Reserved numbers.
    "1c", "1d", "1e", "3c", "3d", "3e", "5c", "5d", "5e", "7c", "7d", "7e", "9c", "9d", "9e", "bc", "bd", "be", "dc", "dd",
    "de", "fc", "fd", "fe", "f800", "f801", "f814", "f815", "f816", "f818", "f81f",
    // Chunks of another kind, a break where none may be.
    "5f00ff", "5f21ff", "5f6100ff", "5f80ff", "5fa0ff", "5fc000ff", "5fe0ff", "7f4100ff", "5f5f4100ffff", "7f7f6100ffff",
    "ff", "81ff", "8200ff", "a1ff", "a1ff00", "a100ff", "a20000ff", "9f81ff", "9f829f819f9fffffffff", "bf00ff",
    "bf000000ff", "1f", "3f", "df",
    // Something follows; a text that is not UTF-8; a name twice.
    "0000", "f4f4", "6161f6", "61ff", "62c080", "63eda080", "a2616101616102",
};
// clang-format on

}  // namespace leat::test
