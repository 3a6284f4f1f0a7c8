// SPDX-License-Identifier: BSL-1.0
//
// JSON (RFC 8259) as a tree, for the answers of a deployment. Any bytes may come: what is not JSON, is nested too
// deep or is too long is refused with its place, and nothing is read beyond the end. A value knows which part of
// the text it was read from, so that it can be printed as it came.
//
//   const json_result r = read_json(R"({"pid": 4711})");
//   if (r.value) r.value->number_of("pid");
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::remote {

struct json {
  enum class kind { null, boolean, number, text, list, table };

  kind what = kind::null;
  bool flag = false;
  double number = 0;
  std::string text = {};  // of a text, without quotes; of a number, as it was written
  std::vector<json> elements = {};
  // Of a table, in the order of the text; of a key that comes twice the first counts.
  std::vector<json> members = {};
  std::string key = {};            // of a member
  std::size_t begin = 0, end = 0;  // in the text that was read

  // The member; nullptr: there is none, or this is no table.
  const json* find(std::string_view name) const noexcept;
  // What a member says; the default if it is not there or of another kind. Who reads what a later version writes
  // must not stumble over it.
  std::string_view text_of(std::string_view name) const noexcept;
  double number_of(std::string_view name, double otherwise = 0) const noexcept;
  std::uint64_t count_of(std::string_view name) const noexcept;  // saturates; 0 for what is negative
  bool flag_of(std::string_view name, bool otherwise = false) const noexcept;
  std::vector<std::string> texts_of(std::string_view name) const;
  const std::vector<json>& list_of(std::string_view name) const noexcept;  // empty if there is none

  std::string_view source(std::string_view whole) const noexcept { return whole.substr(begin, end - begin); }
};

struct json_error {
  std::string text = {};             // "a comma or '}' is missing"
  std::size_t at = 0;                // a byte of the text, or its end
  std::size_t line = 1, column = 1;  // columns in characters
};

struct json_result {
  std::optional<json> value = {};  // nothing: see error
  json_error error = {};
};

inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t json_size = std::size_t{64} << 20;

// A tree takes many times the room of its text.
struct json_bounds {
  std::size_t most_values = std::size_t{4} << 20;  // in the tree
  // What is nested deeper is checked, and is not in the tree; the text is 0 deep, its members 1.
  std::size_t kept_depth = json_depth;
};

// The whole text is one value, with blanks around it.
json_result read_json(std::string_view text, const json_bounds& bounds = {});

}  // namespace leat::remote
