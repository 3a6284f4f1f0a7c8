// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/lexer.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include <leat/base/units.hpp>

namespace leat::expression {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
// Any character beyond ASCII may be part of a name.
bool begins_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_in_name(char c) noexcept { return begins_name(c) || is_digit(c); }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

bool is_name(std::string_view text) noexcept {
  return !text.empty() && begins_name(text.front()) && std::all_of(text.begin(), text.end(), is_in_name);
}

token lexer::next() {
  while (at_ < source_.size() && is_blank(source_[at_])) ++at_;
  const std::size_t from = at_;
  token t;
  if (from == source_.size()) {
    t = make(token_kind::end, from, from);
  } else if (begins_name(source_[from])) {
    std::size_t to = from;
    while (to < source_.size() && is_in_name(source_[to])) ++to;
    t = make(token_kind::name, from, to);
  } else if (is_digit(source_[from])) {
    t = number(from);
  } else if (source_[from] == '"' || source_[from] == '\'') {
    t = quoted(from);
  } else {
    t = symbol(from);
  }
  at_ = t.at.end();
  return t;
}

// Numbers and durations: 80, 1.5, 2e3, 5s, 1h30m. A point belongs to it only before a digit.
token lexer::number(std::size_t from) {
  std::size_t to = from;
  bool letters = false;
  for (; to < source_.size(); ++to) {
    const char c = source_[to];
    const bool digit_next = to + 1 < source_.size() && is_digit(source_[to + 1]);
    if (is_digit(c) || (c == '.' && digit_next)) continue;
    if ((c == '+' || c == '-') && digit_next && !letters &&
        (source_[to - 1] == 'e' || source_[to - 1] == 'E'))
      continue;
    if (!begins_name(c)) break;
    if (c != 'e' && c != 'E') letters = true;
  }
  token t = make(token_kind::integer, from, to);
  const std::string_view digits = t.source;
  const char* const end = digits.data() + digits.size();
  if (std::all_of(digits.begin(), digits.end(), is_digit)) {
    std::uint64_t n = 0;
    const auto got = std::from_chars(digits.data(), end, n);
    constexpr std::uint64_t beyond = std::uint64_t{1} << 63;
    if (got.ec != std::errc() || n > beyond)
      return wrong(from, to, "this number is too large: an integer has 64 bits");
    t.too_large = n == beyond;
    t.integer = t.too_large ? 0 : static_cast<std::int64_t>(n);
    return t;
  }
  if (letters) {
    const parsed<nanoseconds> d = parse_duration(digits);
    if (!d)
      return wrong(from, to,
                   "this is neither a number nor a duration such as 250ms or 1h30m: " + std::string(d.error));
    t.kind = token_kind::duration;
    t.integer = d.value->count();
    return t;
  }
  const auto got = std::from_chars(digits.data(), end, t.real);
  if (got.ec != std::errc() || got.ptr != end || !std::isfinite(t.real))
    return wrong(from, to, "this number is too large for a real");
  t.kind = token_kind::real;
  return t;
}

token lexer::quoted(std::size_t from) {
  const char quote = source_[from];
  std::string text;
  for (std::size_t i = from + 1; i < source_.size(); ++i) {
    char c = source_[i];
    if (c == quote) {
      token t = make(token_kind::text, from, i + 1);
      t.text = std::move(text);
      return t;
    }
    if (c == '\\') {
      if (++i == source_.size()) break;
      switch (source_[i]) {
        case 'n': c = '\n'; break;
        case 't': c = '\t'; break;
        case '\\':
        case '"':
        case '\'': c = source_[i]; break;
        default: return wrong(i - 1, i + 1, R"(an unknown escape: there are \\ \" \' \n and \t)");
      }
    }
    text += c;
  }
  return wrong(from, source_.size(), "this text has no end: a quote is missing");
}

token lexer::symbol(std::size_t from) const {
  for (const std::string_view two : {"==", "!=", "<=", ">=", "&&", "||"})
    if (source_.substr(from).starts_with(two)) return make(token_kind::symbol, from, from + 2);
  switch (source_[from]) {
    case '=': return wrong(from, from + 1, "'=' sets nothing here: write == to compare");
    case '&': return wrong(from, from + 1, "write && for 'and'");
    case '|': return wrong(from, from + 1, "write || for 'or'");
    default: break;
  }
  if (std::string_view("<>!+-*/%?:()[],.").find(source_[from]) != std::string_view::npos)
    return make(token_kind::symbol, from, from + 1);
  return wrong(from, from + 1, "this character has no meaning here");
}

}  // namespace leat::expression
