// SPDX-License-Identifier: BSL-1.0
#include <leat/base/json_scalar.hpp>

#include <charconv>
#include <system_error>

#include <leat/base/utf8.hpp>

namespace leat {
namespace {

json_scalar flawed(json_flaw f, std::size_t at) noexcept { return {.flaw = f, .at = at}; }

// At `at`, four of them; moves on behind them.
json_flaw read_hex(std::string_view text, std::size_t& at, std::uint32_t& to) noexcept {
  if (text.size() - at < 4) {
    at = text.size();
    return json_flaw::open_hex;
  }
  const char* const first = text.data() + at;
  if (std::from_chars(first, first + 4, to, 16).ptr != first + 4) return json_flaw::no_hex;
  at += 4;
  return json_flaw::none;
}

// Behind "\u"; `begin` is the backslash.
json_scalar read_code_point(std::string_view text, std::size_t at, std::size_t begin, std::string& out,
                            json_texts how) {
  std::uint32_t code = 0, low = 0;
  if (const json_flaw f = read_hex(text, at, code); f != json_flaw::none) return flawed(f, at);
  bool half = code >= 0xdc00 && code < 0xe000;
  if (code >= 0xd800 && code < 0xdc00) {
    half = true;
    std::size_t next = at + 2;
    if (text.substr(at).starts_with("\\u")) {
      if (const json_flaw f = read_hex(text, next, low); f != json_flaw::none) return flawed(f, next);
      half = low < 0xdc00 || low > 0xdfff;
    }
    if (!half) {
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      at = next;
    }
  }
  if (half && how == json_texts::strict) return flawed(json_flaw::half_a_pair, begin);
  append_utf8(out, half ? 0xfffd : code);
  return {.end = at};
}

// `at` is behind the backslash.
json_scalar read_escape(std::string_view text, std::size_t at, std::string& out, json_texts how) {
  if (at >= text.size()) return flawed(json_flaw::open_escape, at);
  const char c = text[at];
  switch (c) {
    case '"':
    case '\\':
    case '/': out += c; break;
    case 'b': out += '\b'; break;
    case 'f': out += '\f'; break;
    case 'n': out += '\n'; break;
    case 'r': out += '\r'; break;
    case 't': out += '\t'; break;
    case 'u': return read_code_point(text, at + 1, at - 1, out, how);
    default: return flawed(json_flaw::unknown_escape, at - 1);
  }
  return {.end = at + 1};
}

}  // namespace

const char* to_string(json_flaw f) noexcept {
  switch (f) {
    case json_flaw::none: break;
    case json_flaw::no_number: return "a number is missing";
    case json_flaw::leading_zero: return "a number does not start with 0";
    case json_flaw::no_fraction: return "a digit must follow the point";
    case json_flaw::no_exponent: return "a digit must follow the exponent's sign";
    case json_flaw::open_text: return "a text without its closing quote";
    case json_flaw::control_character: return "a control character must be escaped";
    case json_flaw::not_utf8: return "a byte that is not UTF-8";
    case json_flaw::open_escape: return "the text ends within an escape";
    case json_flaw::unknown_escape: return "an unknown escape";
    case json_flaw::open_hex: return "the text ends within a \\u escape";
    case json_flaw::no_hex: return "\\u needs four hexadecimal digits";
    case json_flaw::half_a_pair: return "half of a surrogate pair";
  }
  return "";
}

json_scalar scan_json_number(std::string_view text, std::size_t at) noexcept {
  std::size_t i = at;
  const auto digits = [&] {
    const std::size_t first = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - first;
  };
  const auto here = [&](char c) { return i < text.size() && text[i] == c; };
  if (here('-')) ++i;
  const std::size_t first_digit = i;
  const std::size_t n = digits();
  if (n == 0) return flawed(json_flaw::no_number, at);
  if (n > 1 && text[first_digit] == '0') return flawed(json_flaw::leading_zero, at);
  json_scalar found;
  if (here('.')) {
    found.whole = false;
    ++i;
    if (digits() == 0) return flawed(json_flaw::no_fraction, i);
  }
  if (here('e') || here('E')) {
    found.whole = false;
    ++i;
    if (here('+') || here('-')) ++i;
    if (digits() == 0) return flawed(json_flaw::no_exponent, i);
  }
  found.end = i;
  return found;
}

json_scalar scan_json_text(std::string_view text, std::size_t at, std::string& out, json_texts how) {
  for (std::size_t i = at;;) {
    const std::size_t plain = i;
    const auto byte = [&] { return static_cast<unsigned char>(text[i]); };
    while (i < text.size() && byte() >= 0x20 && byte() < 0x80 && byte() != '"' && byte() != '\\') ++i;
    out.append(text.substr(plain, i - plain));
    if (i >= text.size()) return flawed(json_flaw::open_text, i);
    if (byte() == '"') return {.end = i + 1};
    if (byte() < 0x20) return flawed(json_flaw::control_character, i);
    if (byte() == '\\') {
      const json_scalar e = read_escape(text, i + 1, out, how);
      if (e.flaw != json_flaw::none) return e;
      i = e.end;
      continue;
    }
    std::size_t n = utf8_length(text, i);
    if (n == 0 && how == json_texts::strict) return flawed(json_flaw::not_utf8, i);
    if (n == 0) n = 1;
    out.append(text.substr(i, n));
    i += n;
  }
}

}  // namespace leat
