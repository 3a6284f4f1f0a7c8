// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <utility>

#include <leat/base/suggest.hpp>
#include <leat/expression/compiler.hpp>

namespace leat::expression {
namespace {

struct memory_function {
  std::string_view name;
  remembering what;
  const char* use;
};
constexpr memory_function memories[] = {
    {"previous", remembering::previous, "previous(x)"}, {"rate", remembering::rate, "rate(x)"},
    {"avg", remembering::avg, "avg(x, 10s)"},           {"min", remembering::min, "min(x, 10s)"},
    {"max", remembering::max, "max(x, 10s)"},           {"sum", remembering::sum, "sum(x, 10s)"},
    {"count", remembering::count, "count(x, 10s)"},
};

}  // namespace

compiler::part compiler::name() {
  const std::string_view word = next_.source;
  const span at = skip();
  if (std::optional<part> simple = simple_name(word, at)) return *simple;
  for (const memory_function& m : memories)
    if (m.name == word) return remember(word, m.what, at);
  return call(word, at);
}

// All but functions of other expressions.
std::optional<compiler::part> compiler::simple_name(std::string_view word, span at) {
  if (word == "true" || word == "false" || word == "null") {
    out_.constants.emplace_back();
    if (word != "null") out_.constants.back().emplace<bool>(word == "true");
    emit({opcode::constant, 0, 0, static_cast<std::uint32_t>(out_.constants.size() - 1)}, at, 1);
    return part{word == "null" ? kinds(kind::null) : truth, at};
  }
  if (word == "not") fail(at, "write ! for 'not'");
  for (const std::string_view reserved : {"in", "is", "by", "missing"})
    if (word == reserved)
      fail(at, "'" + std::string(word) + "' is a word of the language; a field of that name is field(\"" +
                   std::string(word) + "\")");
  if (!next_.is("(")) return field(std::string(word), at);
  skip();
  if (word == "now") return now(at);
  if (word != "field") return std::nullopt;
  const std::string literal = quoted_name();
  return field(literal, at + expect(")", "behind the name of the field").at);
}

compiler::part compiler::now(span at) {
  at = at + expect(")", "behind now(").at;
  emit({opcode::now}, at, 1);
  return {kind::moment, at};
}

std::string compiler::quoted_name() {
  if (next_.kind != token_kind::text) unexpected("the name of a field in quotes");
  return take().text;
}

const function_schema& compiler::function_named(std::string_view word, span at) {
  if (const function_schema* const f = find_function(word)) return *f;
  std::vector<std::string_view> names = function_names();
  for (const memory_function& m : memories) names.push_back(m.name);
  names.push_back("now");
  names.push_back("field");
  fail(at, "there is no function '" + std::string(word) + "'" + did_you_mean(nearest(word, names)));
}

compiler::part compiler::call(std::string_view word, span at) {
  const function_schema& f = function_named(word, at);
  std::vector<kinds> types;
  while (!next_.is(")")) {
    if (!types.empty()) separator("or ')' behind an argument");
    argument(f, expression(), types);
  }
  return finish_call(f, types, at + skip());
}

void compiler::argument(const function_schema& f, const part& a, std::vector<kinds>& types) {
  const kinds takes = f.takes[std::min<std::size_t>(types.size(), 2)];
  const bool extra = types.size() >= f.most;
  if (a.is_path && (f.which == function::default_ || f.which == function::kind)) code_->steps.back().arg = 1;
  if (!extra && (a.type & takes).empty())
    wrong(a.at, std::string(f.name) + " takes " + in_words(takes) + " here, not " + in_words(a.type));
  if (types.size() > most_arguments) fail(a.at, "too many arguments: " + std::string(f.use));
  types.push_back(extra || (a.type & takes).empty() ? takes : a.type & takes);
}

compiler::part compiler::finish_call(const function_schema& f, std::vector<kinds>& types, span at) {
  const std::size_t n = types.size();
  if (n < f.least || n > f.most) {
    wrong(at, std::string(n < f.least ? "too few" : "too many") + " arguments: " + f.use);
    types.resize(std::max<std::size_t>(f.least, 1), anything);
  }
  const kinds gives = result_of(f, types);
  if (gives.empty())
    wrong(at, "the arguments of " + std::string(f.name) + " cannot be compared with one another");
  const bool makes = f.which == function::lower || f.which == function::upper ||
                     f.which == function::replace || f.which == function::text;
  emit({opcode::call, static_cast<std::uint8_t>(f.which), static_cast<std::uint16_t>(n),
        makes ? text_place() : 0},
       at, 1 - static_cast<int>(n));
  return {gives.empty() ? anything : gives, at};
}

void compiler::window_length(memory_plan& plan, std::string_view name) {
  const std::string use = "write " + std::string(name) + "(x, 10s) for a time or " + std::string(name) +
                          "(x, 16) for the last values";
  if (!next_.is(",")) fail(next_.at, "a window is missing: " + use);
  take();
  if (next_.kind == token_kind::duration) {
    if (next_.integer <= 0) fail(next_.at, "a window must be longer than 0");
    plan.time = nanoseconds(next_.integer);
  } else if (next_.kind == token_kind::integer) {
    if (next_.too_large || next_.integer < 1 || next_.integer > most_window_values)
      fail(next_.at,
           "a window has 1 to " + std::to_string(most_window_values) + " values, or a time such as 10s");
    plan.values = static_cast<std::uint32_t>(next_.integer);
  } else {
    std::string why = "a window is a duration or a whole number that stands here itself: " + use;
    if (name == "min" || name == "max")
      why += std::string("; the ") + (name == "min" ? "least" : "greatest") + " of several is " +
             (name == "min" ? "least" : "greatest") + "(x, y)";
    fail(next_.at, std::move(why));
  }
  take();
}

// Counted before its argument is read, so that those within it count, too.
void compiler::remember_one_more(span at) {
  if (++remembering_ > how_.most_memories)
    fail(at, "there are more than " + std::to_string(how_.most_memories) +
                 " of previous, rate and windows, which is too many here");
}

// The argument goes where memories are fed, before all else; what stands here is the result.
compiler::part compiler::remember(std::string_view word, remembering what, span at) {
  remember_one_more(at);
  code own;
  code* const outer = std::exchange(code_, &own);
  const std::size_t depth = std::exchange(depth_, 0);
  const part of = expression();
  const bool numbers = what != remembering::previous;
  const kinds takes = numbers ? numeric : scalar | kind::null;
  if ((of.type & takes).empty())
    wrong(of.at, std::string(word) + " takes " + (numbers ? "a number" : "a single value") + ", not " +
                     in_words(of.type));
  memory_plan plan{.what = what};
  if (numbers && what != remembering::rate) window_length(plan, word);
  plan.keyed = key(word);
  at = at + expect(")", "behind " + std::string(word) + "(...").at;
  const auto number_of = static_cast<std::uint32_t>(out_.memories.size());
  emit({opcode::remember, 0, static_cast<std::uint16_t>(plan.keyed), number_of}, at, plan.keyed ? -2 : -1);
  out_.memories.push_back(plan);
  // Jumps count from the beginning of `before`.
  const auto begin = static_cast<std::uint32_t>(out_.before.steps.size());
  for (instruction& i : own.steps)
    if (i.what == opcode::and_ || i.what == opcode::or_ || i.what == opcode::choose || i.what == opcode::jump)
      i.index += begin;
  out_.before.steps.insert(out_.before.steps.end(), own.steps.begin(), own.steps.end());
  out_.before.places.insert(out_.before.places.end(), own.places.begin(), own.places.end());
  code_ = outer;
  depth_ = depth;
  emit({opcode::slot, 0, 0, number_of}, at, 1);
  if (what == remembering::previous) return {(of.type & takes).empty() ? anything : of.type & takes, at};
  return {what == remembering::count ? kind::integer : kind::real, at};
}

bool compiler::key(std::string_view function) {
  if (accept("by")) {
    if (next_.kind != token_kind::name) unexpected("a field behind 'by'");
    const token first = take();
    std::string begin(first.source);
    if (begin == "field" && accept("(")) {
      begin = quoted_name();
      expect(")", "behind the name of the field");
    }
    (void)field(std::move(begin), first.at);
    return true;
  }
  if (next_.is(","))
    fail(next_.at, "too many arguments: " + std::string(function) + " goes by a key with 'by'");
  if (how_.key.empty()) return false;
  emit({opcode::field, 0, 0, add_path(path_of(how_.key))}, next_.at, 1);
  return true;
}

}  // namespace leat::expression
