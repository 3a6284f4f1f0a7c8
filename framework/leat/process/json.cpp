// SPDX-License-Identifier: BSL-1.0
//
// Writing JSON. Never fails: what JSON has no word for is written as a text.
#include <charconv>
#include <cmath>

#include <leat/base/value.hpp>
#include <leat/process/message.hpp>
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
    out.append(text, r.ptr);
  }
}

void write_text(const std::string& text, std::string& out) {
  if (is_utf8(text)) {
    out += quoted(text);
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
  out += quoted(clean);
}

}  // namespace

void write_json(const type_shape& s, const void* v, std::string& out) {
  switch (s.form) {
    case form::boolean: out += as<bool>(v) ? "true" : "false"; return;
    case form::integer: out += load_integer(s, v).text(); return;
    case form::real: write_real(s, v, out); return;
    case form::text: write_text(as<std::string>(v), out); return;
    case form::enumeration:
      if (const enumerator* const e = find_value(s, s.get(v))) {
        out += quoted(e->name);
      } else {
        out += std::to_string(s.get(v));
      }
      return;
    case form::duration: out += quoted(format_duration(nanoseconds(s.get(v)))); return;
    case form::moment: out += quoted(moment_text(s.get(v))); return;
    case form::size: out += std::to_string(as<byte_size>(v).bytes); return;
    case form::maybe:
      if (s.length(v) == 0) {
        out += "null";
      } else {
        write_json(s.element(), s.at(part_of(v), 0), out);
      }
      return;
    case form::list: {
      out += '[';
      const std::size_t n = s.length(v);
      for (std::size_t i = 0; i < n; ++i) {
        if (i) out += ',';
        write_json(s.element(), s.at(part_of(v), i), out);
      }
      out += ']';
      return;
    }
    case form::structure:
      out += '{';
      for (std::size_t i = 0; i < s.field_count; ++i) {
        const field_shape& f = s.fields[i];
        if (i) out += ',';
        out += quoted(f.name);
        out += ':';
        write_json(f.type(), f.in(part_of(v)), out);
      }
      out += '}';
      return;
    case form::opaque: out += quoted("<" + std::string(s.name) + ">"); return;
  }
}

}  // namespace leat::shapes
