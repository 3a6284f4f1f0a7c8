// SPDX-License-Identifier: BSL-1.0
//
// Writing JSON. Never fails: what JSON has no word for is written as a text.
#include <charconv>
#include <cmath>
#include <utility>

#include <leat/base/value.hpp>
#include <leat/process/message.hpp>
#include <leat/process/record.hpp>
#include <leat/process/scalar.hpp>

namespace leat::shapes {
namespace {

void write_real(const type_shape& s, const void* v, std::string& out) {
  const double d = load_real(s, v);
  if (std::isnan(d)) {
    out += "\"NaN\"";
  } else if (std::isinf(d)) {
    out += d < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  } else {
    char text[64];
    const auto r = s.size == sizeof(float) ? std::to_chars(text, text + sizeof text, as<float>(v))
                                           : std::to_chars(text, text + sizeof text, d);
    const std::string_view digits(text, static_cast<std::size_t>(r.ptr - text));
    out += digits;
    // Whoever reads it without knowing the type is to see a real.
    if (digits.find_first_not_of("-0123456789") == std::string_view::npos) out += ".0";
  }
}

void write_text(const std::string& text, std::string& out) {
  if (is_utf8(text)) {
    out += in_quotes(text);
    return;
  }
  std::string clean;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text, i);
    if (n == 0) {
      append_utf8(clean, 0xfffd);
      ++i;
    } else {
      clean.append(text, i, n);
      i += n;
    }
  }
  out += in_quotes(clean);
}

void write_record(const record& r, std::string& out) {
  out += '{';
  bool first = true;
  for (const record::field& f : r) {
    if (!std::exchange(first, false)) out += ',';
    write_text(f.name, out);
    out += ':';
    write_json(f.value, out);
  }
  out += '}';
}

}  // namespace

void write_json(const field_value& v, std::string& out) {
  switch (v.kind()) {
    case value_kind::boolean: out += std::get<bool>(v) ? "true" : "false"; return;
    case value_kind::integer: out += std::to_string(std::get<std::int64_t>(v)); return;
    case value_kind::real: return write_real(shape_of<double>(), &std::get<double>(v), out);
    case value_kind::text: return write_text(std::get<std::string>(v), out);
    case value_kind::duration: out += in_quotes(format_duration(std::get<nanoseconds>(v))); return;
    case value_kind::moment:
      out += in_quotes(moment_text(std::get<moment>(v).time_since_epoch().count()));
      return;
    case value_kind::list: {
      out += '[';
      bool first = true;
      for (const field_value& element : std::get<field_list>(v)) {
        if (!std::exchange(first, false)) out += ',';
        write_json(element, out);
      }
      out += ']';
      return;
    }
    case value_kind::table: return write_record(std::get<record>(v), out);
    default: out += "null"; return;
  }
}

void write_json(const type_shape& s, const void* v, std::string& out) {
  switch (s.kind) {
    case value_kind::boolean: out += as<bool>(v) ? "true" : "false"; return;
    case value_kind::integer: out += load_integer(s, v).text(); return;
    case value_kind::real: write_real(s, v, out); return;
    case value_kind::text: write_text(as<std::string>(v), out); return;
    case value_kind::enumeration:
      if (const enumerator* const e = find_value(s, s.get(v))) {
        out += in_quotes(e->name);
      } else {
        out += std::to_string(s.get(v));
      }
      return;
    case value_kind::duration: out += in_quotes(format_duration(nanoseconds(s.get(v)))); return;
    case value_kind::moment: out += in_quotes(moment_text(s.get(v))); return;
    case value_kind::size: out += std::to_string(as<byte_size>(v).bytes); return;
    case value_kind::maybe:
      if (s.length(v) == 0) {
        out += "null";
      } else {
        write_json(s.element(), s.at(part_of(v), 0), out);
      }
      return;
    case value_kind::list: {
      out += '[';
      const std::size_t n = s.length(v);
      for (std::size_t i = 0; i < n; ++i) {
        if (i) out += ',';
        write_json(s.element(), s.at(part_of(v), i), out);
      }
      out += ']';
      return;
    }
    case value_kind::table:
      out += '{';
      for (std::size_t i = 0; i < s.field_count; ++i) {
        const field_shape& f = s.fields[i];
        if (i) out += ',';
        out += in_quotes(f.name);
        out += ':';
        write_json(f.type(), f.in(part_of(v)), out);
      }
      out += '}';
      return;
    case value_kind::record: return write_record(as<record>(v), out);
    case value_kind::none:
    case value_kind::any:
    case value_kind::opaque: out += in_quotes("<" + std::string(s.name) + ">"); return;
  }
}

}  // namespace leat::shapes
