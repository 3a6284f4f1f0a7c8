// SPDX-License-Identifier: BSL-1.0
//
// What the fuzzers of JSON, CBOR and records read: messages that have one of everything between them.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <leat/process/message.hpp>
#include <leat/process/record.hpp>

#include "process/cbor_cases.hpp"
#include "process/json_cases.hpp"
#include "process/messages.hpp"

namespace leat::fuzz {

struct times_and_sizes {
  byte_size size;
  nanoseconds exact{};
  std::chrono::hours rough{};
  std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds> at{};
  std::optional<bool> sure;
  plant::place where;
  std::vector<float> singles;
};
LEAT_MESSAGE(times_and_sizes, size, exact, rough, at, sure, where, singles);

inline times_and_sizes some_times() {
  return {byte_size{65536},
          nanoseconds(-1),
          std::chrono::hours(3),
          std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds>(std::chrono::seconds(1)),
          true,
          {"attic", 3},
          {0.1f, -1e30f}};
}

// Behind the types of the tables.
inline constexpr unsigned plain_types = static_cast<unsigned>(test::last_type) + 1;
inline constexpr unsigned type_count = plain_types + 5;
inline constexpr unsigned type_reading = plain_types, type_times = plain_types + 1,
                          type_tree = plain_types + 2, type_records = plain_types + 3,
                          type_singles = plain_types + 4;

template <class F>
void with_type(unsigned which, F&& f) {
  switch (which) {
    case type_reading: return f.template operator()<plant::reading>();
    case type_times: return f.template operator()<times_and_sizes>();
    case type_tree: return f.template operator()<plant::tree>();
    case type_records: return f.template operator()<std::vector<record>>();
    case type_singles: return f.template operator()<std::vector<float>>();
    default: return test::with_type(static_cast<test::as_type>(which), f);
  }
}

inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string text_of(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace leat::fuzz
