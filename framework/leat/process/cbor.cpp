// SPDX-License-Identifier: BSL-1.0
//
// CBOR (RFC 8949), the part of it that messages need: integers, floats of all widths, texts, byte strings,
// arrays and maps of definite length, true, false, null; moments and durations with the tags 1001 and 1002 of RFC
// 9581, as {1: seconds, -9: nanoseconds}. No other tags, nothing of indefinite length.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <leat/base/value.hpp>
#include <leat/process/message.hpp>
#include <leat/process/path.hpp>
#include <leat/process/record.hpp>
#include <leat/process/scalar.hpp>

namespace leat::shapes {
namespace {

enum major : std::uint8_t { positive, negative, bytes, text, array, map, tag, simple };
constexpr std::uint8_t simple_false = 20, simple_true = 21, simple_null = 22, half = 25, single = 26,
                       twice = 27;
constexpr std::uint64_t moment_tag = 1001, duration_tag = 1002;
constexpr std::int64_t a_second = 1'000'000'000;

using output = std::vector<std::uint8_t>;

void put_bytes(output& out, std::uint64_t v, unsigned n) {
  while (n-- > 0) out.push_back(static_cast<std::uint8_t>(v >> (8 * n)));
}

// In the shortest form.
void put_head(output& out, major m, std::uint64_t n) {
  const auto first = [&](unsigned low) { out.push_back(static_cast<std::uint8_t>(unsigned{m} << 5 | low)); };
  if (n < 24) return first(static_cast<unsigned>(n));
  if (n <= 0xff) return first(24), put_bytes(out, n, 1);
  if (n <= 0xffff) return first(25), put_bytes(out, n, 2);
  if (n <= 0xffffffff) return first(26), put_bytes(out, n, 4);
  first(27);
  put_bytes(out, n, 8);
}
void put_integer(output& out, wide_integer i) {
  put_head(out, i.negative ? negative : positive, i.negative ? ~i.bits : i.bits);
}
void put_text(output& out, std::string_view t) {
  put_head(out, is_utf8(t) ? text : bytes, t.size());
  out.insert(out.end(), t.begin(), t.end());
}
void put_simple(output& out, std::uint8_t what) {
  out.push_back(static_cast<std::uint8_t>(simple << 5 | what));
}

void put_real(output& out, double d) {
  put_simple(out, twice);
  put_bytes(out, std::bit_cast<std::uint64_t>(d), 8);
}
void put_time(output& out, std::uint64_t kind, std::int64_t ns) {
  const std::int64_t rest = (ns % a_second + a_second) % a_second;
  put_head(out, tag, kind);
  put_head(out, map, rest == 0 ? 1 : 2);
  put_integer(out, from_signed(1));
  put_integer(out, from_signed(ns / a_second - (ns % a_second < 0)));
  if (rest == 0) return;
  put_integer(out, from_signed(-9));
  put_integer(out, from_signed(rest));
}
void put_record(output& out, const record& r);
void put_field(output& out, const field_value& v) {
  switch (v.kind()) {
    case value_kind::boolean: return put_simple(out, std::get<bool>(v) ? simple_true : simple_false);
    case value_kind::integer: return put_integer(out, from_signed(std::get<std::int64_t>(v)));
    case value_kind::real: return put_real(out, std::get<double>(v));
    case value_kind::text: return put_text(out, std::get<std::string>(v));
    case value_kind::duration: return put_time(out, duration_tag, std::get<nanoseconds>(v).count());
    case value_kind::moment: return put_time(out, moment_tag, std::get<moment>(v).time_since_epoch().count());
    case value_kind::list:
      put_head(out, array, std::get<field_list>(v).size());
      for (const field_value& element : std::get<field_list>(v)) put_field(out, element);
      return;
    case value_kind::table: return put_record(out, std::get<record>(v));
    default: return put_simple(out, simple_null);
  }
}
void put_record(output& out, const record& r) {
  put_head(out, map, r.size());
  for (const record::field& f : r) {
    put_text(out, f.name);
    put_field(out, f.value);
  }
}

class cbor_reader {
 public:
  cbor_reader(std::span<const std::uint8_t> in, const message_limits& limits) : in_(in), limits_(limits) {}

  void read_all(const type_shape& s, void* v) {
    if (in_.size() > limits_.bytes)
      fail(0, nullptr, std::to_string(in_.size()) + " bytes; the limit is " + std::to_string(limits_.bytes));
    read(s, v, nullptr, limits_.depth);
    if (at_ != in_.size()) fail(at_, nullptr, "something follows after the end");
  }

 private:
  struct head {
    major kind;
    std::uint8_t low;  // the five bits
    std::uint64_t n;
  };

  [[noreturn]] void fail(std::size_t at, const step* path, const std::string& what) const {
    const std::string where = path_text(path);
    throw message_error("byte " + std::to_string(at) + ": " + (where.empty() ? "" : where + ": ") + what, at);
  }
  std::size_t left() const noexcept { return in_.size() - at_; }

  head next(const step* path) {
    if (left() == 0) fail(at_, path, "the data ends here");
    const std::size_t begin = at_;
    const std::uint8_t first = in_[at_++];
    head h{static_cast<major>(first >> 5), static_cast<std::uint8_t>(first & 31), first & 31u};
    if (h.low < 24) return h;
    if (h.low > 27)
      fail(begin, path, h.low == 31 ? "indefinite lengths are not accepted" : "a reserved form");
    const std::size_t n = std::size_t{1} << (h.low - 24);
    if (left() < n) fail(in_.size(), path, "the data ends here");
    h.n = 0;
    for (std::size_t i = 0; i < n; ++i) h.n = h.n << 8 | in_[at_++];
    return h;
  }
  [[noreturn]] void expected(std::size_t at, const step* path, const std::string& what, const head& h) const {
    static constexpr const char* names[] = {
        "a number", "a negative number", "bytes", "a text", "a list", "a map", "a tag", "a simple value"};
    fail(at, path, "expected " + what + ", got " + names[h.kind]);
  }

  wide_integer integer(const step* path, const std::string& wanted) {
    const std::size_t begin = at_;
    const head h = next(path);
    if (h.kind == positive) return {false, h.n};
    if (h.kind != negative) expected(begin, path, wanted, h);
    if (h.n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(begin, path, "a number that does not fit into 64 bits");
    return {true, ~h.n};
  }
  std::int64_t signed_integer(const step* path, const std::string& wanted) {
    const std::size_t begin = at_;
    const wide_integer i = integer(path, wanted);
    if (!i.negative && i.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(begin, path, "a number that does not fit into 64 bits");
    return i.as_signed();
  }

  double real(const step* path) {
    const std::size_t begin = at_;
    const head h = next(path);
    if (h.kind == positive) return static_cast<double>(h.n);
    if (h.kind == negative) return -1.0 - static_cast<double>(h.n);
    if (h.kind != simple) expected(begin, path, "a number", h);
    switch (h.low) {
      case twice: return std::bit_cast<double>(h.n);
      case single: return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(h.n)));
      case half: {
        const int exponent = static_cast<int>(h.n >> 10 & 31);
        const auto mantissa = static_cast<double>(h.n & 1023);
        const double size = exponent == 0    ? std::ldexp(mantissa, -24)
                            : exponent != 31 ? std::ldexp(mantissa + 1024, exponent - 25)
                            : mantissa == 0  ? std::numeric_limits<double>::infinity()
                                             : std::numeric_limits<double>::quiet_NaN();
        return h.n & 0x8000 ? -size : size;
      }
      default: expected(begin, path, "a number", h);
    }
  }

  std::string take_text(const step* path, const std::string& wanted) {
    const std::size_t begin = at_;
    const head h = next(path);
    if (h.kind != text && h.kind != bytes) expected(begin, path, wanted, h);
    if (h.n > left())
      fail(begin, path,
           "says it has " + std::to_string(h.n) + " bytes, but " + std::to_string(left()) + " are left");
    const auto n = static_cast<std::size_t>(h.n);
    std::string t(reinterpret_cast<const char*>(in_.data()) + at_, n);
    if (h.kind == text && !is_utf8(t)) fail(begin, path, "a text that is not UTF-8");
    at_ += n;
    return t;
  }

  // The count of a list or map. Each element takes a byte at least.
  std::size_t count(major kind, const step* path, const std::string& wanted) {
    const std::size_t begin = at_;
    const head h = next(path);
    if (h.kind != kind) expected(begin, path, wanted, h);
    if (h.n > left())
      fail(begin, path,
           "says it has " + std::to_string(h.n) + " elements, but " + std::to_string(left()) +
               " bytes are left");
    return static_cast<std::size_t>(h.n);
  }

  void read(const type_shape& s, void* v, const step* path, unsigned depth) {
    const std::size_t begin = at_;
    if (depth == 0) fail(at_, path, "deeper than " + std::to_string(limits_.depth) + " levels");
    switch (s.kind) {
      case value_kind::boolean: {
        const head h = next(path);
        if (h.kind != simple || (h.low != simple_false && h.low != simple_true))
          expected(begin, path, "true or false", h);
        as<bool>(v) = h.low == simple_true;
        return;
      }
      case value_kind::integer: {
        const wide_integer i = integer(path, "a whole number");
        if (!store_integer(s, v, i)) fail(begin, path, i.text() + " is not in the range " + integer_range(s));
        return;
      }
      case value_kind::size: {
        const wide_integer i = integer(path, "a size");
        if (i.negative) fail(begin, path, "a size is not negative");
        as<byte_size>(v).bytes = i.bits;
        return;
      }
      case value_kind::real:
        if (!store_real(s, v, real(path))) fail(begin, path, "does not fit into a " + std::string(s.name));
        return;
      case value_kind::text: as<std::string>(v) = take_text(path, "a text"); return;
      case value_kind::enumeration: {
        const std::string name = take_text(path, names_in_words(s));
        const enumerator* const e = find_name(s, name);
        if (!e) fail(begin, path, "expected " + names_in_words(s) + ", got " + in_quotes(name));
        (void)s.set(v, e->value);
        return;
      }
      case value_kind::duration:
      case value_kind::moment:
        if (!s.set(v, time(s.kind == value_kind::moment ? moment_tag : duration_tag, path)))
          fail(begin, path, "does not fit into " + std::string(s.name));
        return;
      case value_kind::maybe:
        s.clear(v);
        if (left() > 0 && in_[at_] == (simple << 5 | simple_null)) {
          ++at_;
        } else {
          read(s.element(), s.append(v), path, depth - 1);
        }
        return;
      case value_kind::list: {
        const std::size_t n = count(array, path, "a list");
        s.clear(v);
        for (step here{path}; here.index < n; ++here.index) {
          if (++elements_ > limits_.elements)
            fail(at_, path, "more than " + std::to_string(limits_.elements) + " elements");
          read(s.element(), s.append(v), &here, depth - 1);
        }
        return;
      }
      case value_kind::table: return read_structure(s, v, path, depth);
      case value_kind::record: return read_record(as<record>(v), path, std::min(depth, most_nesting));
      case value_kind::none:
      case value_kind::any:
      case value_kind::opaque: fail(at_, path, "a '" + std::string(s.name) + "' cannot be carried");
    }
  }

  void read_structure(const type_shape& s, void* v, const step* path, unsigned depth) {
    const std::size_t n = count(map, path, "a map with the fields of '" + std::string(s.name) + "'");
    std::vector<bool> seen(s.field_count);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t begin = at_;
      const std::string name = take_text(path, "the name of a field");
      std::size_t i = 0;
      while (i < s.field_count && s.fields[i].name != name) ++i;
      if (i == s.field_count)
        fail(begin, path, "'" + std::string(s.name) + "' has no field " + in_quotes(name));
      if (seen[i]) fail(begin, path, "the field " + in_quotes(name) + " comes twice");
      seen[i] = true;
      const step here{path, s.fields[i].name};
      read(s.fields[i].type(), s.fields[i].in(v), &here, depth - 1);
    }
    for (std::size_t i = 0; i < s.field_count; ++i) {
      if (seen[i]) continue;
      const type_shape& missing = s.fields[i].type();
      if (missing.kind != value_kind::maybe)
        fail(at_, path, "the field " + in_quotes(s.fields[i].name) + " is missing");
      missing.clear(s.fields[i].in(v));
    }
  }

  // Nanoseconds without a tag are taken for it.
  std::int64_t time(std::uint64_t kind, const step* path) {
    const std::size_t begin = at_;
    const head h = next(path);
    at_ = begin;
    if (h.kind != tag) return signed_integer(path, "nanoseconds");
    if (h.n != kind)
      fail(begin, path, "expected tag " + std::to_string(kind) + ", got " + std::to_string(h.n));
    return tagged_time(path);
  }
  std::int64_t tagged_time(const step* path) {
    const std::size_t begin = at_;
    (void)next(path);  // the tag
    const std::size_t n = count(map, path, "seconds and nanoseconds");
    if (n != 1 && n != 2) fail(begin, path, "expected seconds and nanoseconds, and nothing else");
    if (signed_integer(path, "1") != 1) fail(begin, path, "expected 1: seconds");
    const std::int64_t seconds = signed_integer(path, "seconds");
    std::int64_t rest = 0;
    if (n == 2) {
      if (signed_integer(path, "-9") != -9) fail(begin, path, "expected -9: nanoseconds");
      rest = signed_integer(path, "nanoseconds");
    }
    std::int64_t ns = 0;
    // The least one is below 0 before the rest is added to it, so both are added from the side of 0.
    const bool below = seconds < 0 && rest > 0;
    if (rest < 0 || rest >= a_second || __builtin_mul_overflow(seconds + below, a_second, &ns) ||
        __builtin_add_overflow(ns, below ? rest - a_second : rest, &ns))
      fail(begin, path, "a time that does not fit into 64 bits of nanoseconds");
    return ns;
  }

  void read_record(record& r, const step* path, unsigned depth) {
    const std::size_t begin = at_;
    const std::size_t n = count(map, path, "a map");
    if (depth == 0)
      fail(begin, path, "deeper than " + std::to_string(std::min(limits_.depth, most_nesting)) + " levels");
    if (n > most_fields) fail(begin, path, "more than " + std::to_string(most_fields) + " fields");
    if ((fields_ += n) > most_fields_together)
      fail(begin, path, "more than " + std::to_string(most_fields_together) + " fields in all of it");
    r.clear();
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t name_at = at_;
      std::string name = take_text(path, "the name of a field");
      if (r.find(name)) fail(name_at, path, "the field " + in_quotes(name) + " comes twice");
      const step here{path, name};
      field_value v = field(&here, depth);
      r.append(std::move(name), std::move(v));
    }
  }

  field_list read_values(const step* path, unsigned depth) {
    const std::size_t begin = at_;
    const std::size_t n = count(array, path, "a list");
    if (depth == 0)
      fail(begin, path, "deeper than " + std::to_string(std::min(limits_.depth, most_nesting)) + " levels");
    field_list all;
    for (step here{path}; here.index < n; ++here.index) {
      if (++elements_ > limits_.elements)
        fail(at_, path, "more than " + std::to_string(limits_.elements) + " elements");
      all.push_back(field(&here, depth));
    }
    return all;
  }

  field_value field(const step* path, unsigned depth) {
    const std::size_t begin = at_;
    const head h = next(path);
    const std::size_t behind = std::exchange(at_, begin);
    switch (h.kind) {
      case positive:
        // As nearly as a real can tell it, as in JSON.
        if (h.n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return real(path);
        return signed_integer(path, "a whole number");
      case negative: return signed_integer(path, "a whole number");
      case text:
      case bytes: return take_text(path, "a text");
      case array: return read_values(path, depth - 1);
      case map: {
        record r;
        read_record(r, path, depth - 1);
        return r;
      }
      case tag:
        if (h.n == moment_tag) return moment(nanoseconds(tagged_time(path)));
        if (h.n == duration_tag) return nanoseconds(tagged_time(path));
        fail(begin, path, "an unknown tag, " + std::to_string(h.n));
      case simple:
        if (h.low == simple_false || h.low == simple_true || h.low == simple_null) {
          at_ = behind;
          return h.low == simple_null ? field_value() : field_value(h.low == simple_true);
        }
        if (h.low == single) {
          at_ = behind;
          return double_of(std::bit_cast<float>(static_cast<std::uint32_t>(h.n)));
        }
        return real(path);
    }
    expected(begin, path, "a value", h);
  }

  // Of a record, as in JSON: each name is looked for among the others of its table.
  static constexpr std::size_t most_fields = 1024;
  static constexpr std::size_t most_fields_together = 65'536;
  static constexpr unsigned most_nesting = 16;

  const std::span<const std::uint8_t> in_;
  const message_limits& limits_;
  std::size_t at_ = 0;
  std::size_t elements_ = 0;
  std::size_t fields_ = 0;
};

}  // namespace

void write_cbor(const type_shape& s, const void* v, output& out) {
  switch (s.kind) {
    case value_kind::boolean: return put_simple(out, as<bool>(v) ? simple_true : simple_false);
    case value_kind::integer: return put_integer(out, load_integer(s, v));
    case value_kind::size: return put_head(out, positive, as<byte_size>(v).bytes);
    case value_kind::real:
      if (s.size == sizeof(float)) {
        put_simple(out, single);
        return put_bytes(out, std::bit_cast<std::uint32_t>(as<float>(v)), 4);
      }
      return put_real(out, as<double>(v));
    case value_kind::text: return put_text(out, as<std::string>(v));
    case value_kind::enumeration: {
      const enumerator* const e = find_value(s, s.get(v));
      return e ? put_text(out, e->name) : put_integer(out, from_signed(s.get(v)));
    }
    case value_kind::duration: return put_time(out, duration_tag, s.get(v));
    case value_kind::moment: return put_time(out, moment_tag, s.get(v));
    case value_kind::maybe:
      if (s.length(v) == 0) return put_simple(out, simple_null);
      return write_cbor(s.element(), s.at(part_of(v), 0), out);
    case value_kind::list: {
      const std::size_t n = s.length(v);
      put_head(out, array, n);
      for (std::size_t i = 0; i < n; ++i) write_cbor(s.element(), s.at(part_of(v), i), out);
      return;
    }
    case value_kind::table:
      put_head(out, map, s.field_count);
      for (std::size_t i = 0; i < s.field_count; ++i) {
        put_text(out, s.fields[i].name);
        write_cbor(s.fields[i].type(), s.fields[i].in(part_of(v)), out);
      }
      return;
    case value_kind::record: return put_record(out, as<record>(v));
    case value_kind::none:
    case value_kind::any:
    case value_kind::opaque: return put_simple(out, simple_null);
  }
}

void read_cbor(const type_shape& s, void* v, std::span<const std::uint8_t> in, const message_limits& limits) {
  cbor_reader(in, limits).read_all(s, v);
}

}  // namespace leat::shapes
