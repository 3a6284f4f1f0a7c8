// SPDX-License-Identifier: BSL-1.0
#include <leat/base/value.hpp>

#include <charconv>
#include <cmath>

#include <leat/base/check.hpp>

namespace leat {

namespace {

std::string text_of(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v);
  std::string out(buffer, end.ptr);
  // A real must not be read back as an integer.
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

bool is_bare_key(std::string_view key) {
  if (key.empty()) return false;
  for (const char c : key) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '-') return false;
  }
  return true;
}

}  // namespace

value::value() noexcept = default;
value::value(scalar, bool v, source_location at) noexcept : what_(v), at_(at) {}
value::value(scalar, std::int64_t v, source_location at) noexcept : what_(v), at_(at) {}
value::value(scalar, nanoseconds v, source_location at) noexcept : what_(v), at_(at) {}
value::value(double v, source_location at) : what_(v), at_(at) {}
value::value(std::string v, source_location at) : what_(std::move(v)), at_(at) {}
value::value(std::string_view v, source_location at) : what_(std::string(v)), at_(at) {}
value::value(const char* v, source_location at) : what_(std::string(v)), at_(at) {}
value::value(byte_size v, source_location at) : what_(v), at_(at) {}
value::value(list v, source_location at) : what_(std::move(v)), at_(at) {}
value::value(table v, source_location at) : what_(std::move(v)), at_(at) {}

value::value(const value&) = default;
value::value(value&&) noexcept = default;
value& value::operator=(const value&) = default;
value& value::operator=(value&&) noexcept = default;
value::~value() = default;

const value* value::find(std::string_view key) const noexcept {
  const table* members = get_if<table>();
  if (!members) return nullptr;
  for (const value_member& m : *members)
    if (m.key == key) return &m.value;
  return nullptr;
}

bool operator==(const value& a, const value& b) noexcept {
  if (a.kind() != b.kind()) return false;
  const value::table* left = a.get_if<value::table>();
  if (!left) return a.what_ == b.what_;
  const auto& right = b.get<value::table>();
  if (left->size() != right.size()) return false;
  for (const value_member& m : *left) {
    const value* other = b.find(m.key);
    if (!other || !(m.value == *other)) return false;
  }
  return true;
}

void value::wrong_kind() const noexcept {
  LEAT_UNREACHABLE("a checked value was read as another kind", "kind", to_string(kind()), "line", at_.line,
                   "column", at_.column);
}

std::string in_quotes(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out(1, '"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string to_text(const value& v) {
  switch (v.kind()) {
    case value_kind::boolean: return v.get<bool>() ? "true" : "false";
    case value_kind::integer: return std::to_string(v.get<std::int64_t>());
    case value_kind::real: return text_of(v.get<double>());
    case value_kind::text: return in_quotes(v.get<std::string>());
    case value_kind::duration: return in_quotes(format_duration(v.get<nanoseconds>()));
    case value_kind::size: return in_quotes(format_size(v.get<byte_size>().bytes));
    case value_kind::list: {
      std::string out(1, '[');
      for (const value& e : v.get<value::list>()) {
        if (out.size() > 1) out += ", ";
        out += to_text(e);
      }
      return out += ']';
    }
    case value_kind::table: {
      std::string out(1, '{');
      for (const value_member& m : v.get<value::table>()) {
        out += out.size() > 1 ? ", " : " ";
        out += is_bare_key(m.key) ? m.key : in_quotes(m.key);
        out += " = ";
        out += to_text(m.value);
      }
      return out += out.size() > 1 ? " }" : "}";
    }
    default: return {};  // none
  }
}

}  // namespace leat
