// SPDX-License-Identifier: BSL-1.0
//
// Writing JSON. Never fails: what JSON has no word for is written as a text.
#include <charconv>
#include <cmath>

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

void write_record(const record& r, std::string& out) {
  out += '{';
  for (const record::field& f : r) {
    if (out.back() != '{') out += ',';
    write_text(f.name, out);
    out += ':';
    write_json(f.value, out);
  }
  out += '}';
}

}  // namespace

void write_json(const field_value& v, std::string& out) {
  switch (v.kind()) {
    case field_kind::boolean: out += std::get<bool>(v) ? "true" : "false"; return;
    case field_kind::integer: out += std::to_string(std::get<std::int64_t>(v)); return;
    case field_kind::real: {
      const std::size_t begin = out.size();
      const double d = std::get<double>(v);
      write_real(shape_of<double>(), &d, out);
      // Read back, it is to be a real again.
      if (out.find_first_not_of("-0123456789", begin) == std::string::npos) out += ".0";
      return;
    }
    case field_kind::text: return write_text(std::get<std::string>(v), out);
    case field_kind::duration: out += quoted(format_duration(std::get<nanoseconds>(v))); return;
    case field_kind::moment:
      out += quoted(moment_text(std::get<moment>(v).time_since_epoch().count()));
      return;
    case field_kind::none:
    case field_kind::any: out += "null"; return;
  }
}

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
    case form::record: return write_record(as<record>(v), out);
    case form::opaque: out += quoted("<" + std::string(s.name) + ">"); return;
  }
}

}  // namespace leat::shapes
