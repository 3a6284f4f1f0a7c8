// SPDX-License-Identifier: BSL-1.0
//
// The functions of the language that remember nothing: names, what they take and give, what they do.
// docs/expressions.md has the same list for people. Not installed.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leat/expression/rules.hpp>

namespace leat::expression {

enum class function : std::uint8_t {
  abs,
  ceil,
  clamp,
  contains,
  day,
  default_,
  duration,
  ends_with,
  exp,
  floor,
  greatest,
  hour,
  kind,
  least,
  length,
  log,
  lower,
  minute,
  moment,
  month,
  number,
  pow,
  replace,
  round,
  second,
  sqrt,
  starts_with,
  substring,
  text,
  trim,
  upper,
  weekday,
  year,
};

struct function_schema {
  std::string_view name;
  function which;
  std::uint8_t least, most;  // arguments
  kinds takes[3];            // the last counts for all that follow
  kinds gives;               // empty: as result_of says
  const char* use;           // "round(x) or round(x, digits)"
};
inline constexpr std::size_t most_arguments = 16;

// Null: there is none of that name.
const function_schema* find_function(std::string_view name) noexcept;
const function_schema& schema_of(function f) noexcept;
std::vector<std::string_view> function_names();

// For arguments of these kinds, each of which it takes.
kinds result_of(const function_schema& f, std::span<const kinds> arguments);

// None of the arguments is missing, but those of default_. Each is of a kind that the function takes.
operand call(function f, std::span<const operand> arguments, const text_room& room, evaluation_error& why);

// As to_text of a field: "71.5", "250ms". Of a scalar, or null.
void append_text(const operand& v, std::string& to);

}  // namespace leat::expression
