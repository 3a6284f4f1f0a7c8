// SPDX-License-Identifier: BSL-1.0
//
// How a value within a record is named in files: names with points between them, indices in brackets.
//
//   where.lat      raw[0]      rows[2].label      ["odd name"].b
//
// A name has no point and no bracket in it, unless it stands in brackets and quotes; there \" and \\ are a quote
// and a backslash. The first step is a name.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

struct field_step {
  std::string name = {};
  std::size_t index = 0;
  bool is_index = false;

  friend bool operator==(const field_step&, const field_step&) = default;
};
using field_steps = std::vector<field_step>;

// What a path may have; a list is filled up to an index that somebody names.
inline constexpr std::size_t most_field_steps = 32;
inline constexpr std::size_t largest_field_index = 65'535;

struct field_path_error {
  std::string why;     // "" if there is none
  std::size_t at = 0;  // bytes from the start
};
// Into `to`, which is empty if there is an error.
field_path_error parse_field_path(std::string_view text, field_steps& to);

void append_field_name(std::string& to, std::string_view name);  // ".lat", or "lat" if it is the first
void append_field_index(std::string& to, std::size_t index);     // "[0]"
// How a description of many records names what a path leads to: an element of a list is "raw[]", whichever it is.
// What is no path stays as it is.
std::string field_pattern(std::string_view path);
// Calls f("a"), f("a.b") for "a.b[]", until it returns true.
template <class F>
bool any_field_around(std::string_view path, F f) {
  for (std::size_t i = 1; i < path.size(); ++i)
    if ((path[i] == '.' || path[i] == '[') && f(path.substr(0, i))) return true;
  return false;
}
// parse_field_path reads the same steps from it.
std::string field_path_text(const field_steps& steps);

}  // namespace leat
