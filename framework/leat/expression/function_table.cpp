// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <array>

#include <leat/expression/functions.hpp>

namespace leat::expression {
namespace {

constexpr kinds ordered = numeric | kind::text | kind::duration | kind::moment;
constexpr kinds nothing;

// Sorted by name, in the order of the enumeration.
constexpr std::array all_functions = {
    function_schema{"abs", function::abs, 1, 1, {numeric | kind::duration}, nothing, "abs(x)"},
    function_schema{"ceil", function::ceil, 1, 1, {numeric}, kind::integer, "ceil(x)"},
    function_schema{
        "clamp", function::clamp, 3, 3, {ordered, ordered, ordered}, nothing, "clamp(x, least, most)"},
    function_schema{"contains",
                    function::contains,
                    2,
                    2,
                    {kind::text, kind::text},
                    kind::boolean,
                    "contains(text, part)"},
    function_schema{"day", function::day, 1, 1, {kind::moment}, kind::integer, "day(moment)"},
    function_schema{
        "default", function::default_, 2, 2, {anything, anything}, nothing, "default(x, otherwise)"},
    function_schema{"duration",
                    function::duration,
                    1,
                    1,
                    {kind::text | kind::duration},
                    kind::duration,
                    "duration(text)"},
    function_schema{"ends_with",
                    function::ends_with,
                    2,
                    2,
                    {kind::text, kind::text},
                    kind::boolean,
                    "ends_with(text, end)"},
    function_schema{"exp", function::exp, 1, 1, {numeric}, kind::real, "exp(x)"},
    function_schema{"floor", function::floor, 1, 1, {numeric}, kind::integer, "floor(x)"},
    function_schema{"greatest",
                    function::greatest,
                    2,
                    most_arguments,
                    {ordered, ordered, ordered},
                    nothing,
                    "greatest(x, y, ...)"},
    function_schema{"hour", function::hour, 1, 1, {kind::moment}, kind::integer, "hour(moment)"},
    function_schema{"kind", function::kind, 1, 1, {anything}, kind::text, "kind(x)"},
    function_schema{"least",
                    function::least,
                    2,
                    most_arguments,
                    {ordered, ordered, ordered},
                    nothing,
                    "least(x, y, ...)"},
    function_schema{"length",
                    function::length,
                    1,
                    1,
                    {kind::text | kind::list | kind::table},
                    kind::integer,
                    "length(text or list)"},
    function_schema{"log", function::log, 1, 1, {numeric}, kind::real, "log(x)"},
    function_schema{"lower", function::lower, 1, 1, {kind::text}, kind::text, "lower(text)"},
    function_schema{"minute", function::minute, 1, 1, {kind::moment}, kind::integer, "minute(moment)"},
    function_schema{
        "moment", function::moment, 1, 1, {kind::text | kind::moment}, kind::moment, "moment(text)"},
    function_schema{"month", function::month, 1, 1, {kind::moment}, kind::integer, "month(moment)"},
    function_schema{
        "number", function::number, 1, 1, {numeric | kind::text | kind::boolean}, numeric, "number(text)"},
    function_schema{"pow", function::pow, 2, 2, {numeric, numeric}, kind::real, "pow(x, y)"},
    function_schema{"replace",
                    function::replace,
                    3,
                    3,
                    {kind::text, kind::text, kind::text},
                    kind::text,
                    "replace(text, part, by)"},
    function_schema{
        "round", function::round, 1, 2, {numeric, kind::integer}, nothing, "round(x) or round(x, digits)"},
    function_schema{"second", function::second, 1, 1, {kind::moment}, kind::integer, "second(moment)"},
    function_schema{"sqrt", function::sqrt, 1, 1, {numeric}, kind::real, "sqrt(x)"},
    function_schema{"starts_with",
                    function::starts_with,
                    2,
                    2,
                    {kind::text, kind::text},
                    kind::boolean,
                    "starts_with(text, begin)"},
    function_schema{"substring",
                    function::substring,
                    2,
                    3,
                    {kind::text, kind::integer, kind::integer},
                    kind::text,
                    "substring(text, from) or substring(text, from, count)"},
    function_schema{"text", function::text, 1, 1, {scalar | kind::null}, kind::text, "text(x)"},
    function_schema{"trim", function::trim, 1, 1, {kind::text}, kind::text, "trim(text)"},
    function_schema{"upper", function::upper, 1, 1, {kind::text}, kind::text, "upper(text)"},
    function_schema{"weekday", function::weekday, 1, 1, {kind::moment}, kind::integer, "weekday(moment)"},
    function_schema{"year", function::year, 1, 1, {kind::moment}, kind::integer, "year(moment)"},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < all_functions.size(); ++i)
    if (all_functions[i].which != static_cast<function>(i) ||
        (i > 0 && all_functions[i].name <= all_functions[i - 1].name))
      return false;
  return true;
}
static_assert(is_in_order());

}  // namespace

const function_schema* find_function(std::string_view name) noexcept {
  const auto at = std::lower_bound(all_functions.begin(), all_functions.end(), name,
                                   [](const function_schema& f, std::string_view n) { return f.name < n; });
  return at != all_functions.end() && at->name == name ? &*at : nullptr;
}

const function_schema& schema_of(function f) noexcept { return all_functions[static_cast<std::size_t>(f)]; }

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> all;
  all.reserve(all_functions.size());
  for (const function_schema& f : all_functions) all.push_back(f.name);
  return all;
}

kinds result_of(const function_schema& f, std::span<const kinds> a) {
  switch (f.which) {
    case function::abs: return a[0] & f.takes[0];
    case function::default_: return a[0].without(kind::null) | a[1];
    case function::round: return a.size() == 1 ? kind::integer : kind::real;
    case function::least:
    case function::greatest:
    case function::clamp: {
      kinds out = a[0] & f.takes[0];
      for (const kinds k : a.subspan(1)) {
        const bool numbers = !(out & numeric).empty() && !(k & numeric).empty();
        out = (out & k).without(numeric) | (numbers ? (out | k) & numeric : kinds());
      }
      return out;
    }
    default: return f.gives;
  }
}

}  // namespace leat::expression
