// SPDX-License-Identifier: BSL-1.0
//
// Reading JSON (RFC 8259) into a type. Depth grows only with the type's own, and is counted all the same: a
// type may hold lists of itself.
#include <algorithm>
#include <charconv>
#include <limits>

#include <leat/base/value.hpp>
#include <leat/process/message.hpp>
#include <leat/process/path.hpp>
#include <leat/process/record.hpp>
#include <leat/process/scalar.hpp>

namespace leat::shapes {
namespace {

class json_reader {
 public:
  json_reader(std::string_view text, const message_limits& limits) : text_(text), limits_(limits) {}

  void read_all(const type_shape& s, void* v) {
    if (text_.size() > limits_.bytes)
      fail(0, nullptr,
           "the text has " + std::to_string(text_.size()) + " bytes; the limit is " +
               std::to_string(limits_.bytes));
    read(s, v, nullptr, limits_.depth);
    skip_blanks();
    if (at_ != text_.size()) fail(at_, nullptr, "something follows after the end");
  }

 private:
  [[noreturn]] void fail(std::size_t at, const step* path, const std::string& what) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) {
        ++column;
      }
    }
    const std::string where = path_text(path);
    throw message_error("line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
                            (where.empty() ? "" : where + ": ") + what,
                        at);
  }
  [[noreturn]] void expected(const step* path, const std::string& what) const {
    fail(at_, path, "expected " + what + ", got " + what_is_here());
  }
  std::string what_is_here() const {
    if (at_ >= text_.size()) return "the end of the text";
    const char c = text_[at_];
    if (c == '"') return "a text";
    if (c == '{') return "an object";
    if (c == '[') return "a list";
    if (c == '-' || (c >= '0' && c <= '9')) return "a number";
    for (const std::string_view word : {"true", "false", "null"})
      if (text_.substr(at_).starts_with(word)) return std::string(word);
    const std::size_t n = utf8_length(text_, at_);
    return n == 0 ? "a byte that is not UTF-8" : quoted(text_.substr(at_, n));
  }

  void skip_blanks() noexcept {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool next_is(char c) noexcept {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) noexcept {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) noexcept {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void read(const type_shape& s, void* v, const step* path, unsigned depth) {
    skip_blanks();
    const std::size_t begin = at_;
    if (depth == 0) fail(at_, path, "deeper than " + std::to_string(limits_.depth) + " levels");
    switch (s.form) {
      case form::boolean:
        if (take_word("true")) {
          as<bool>(v) = true;
        } else if (take_word("false")) {
          as<bool>(v) = false;
        } else {
          expected(path, "true or false");
        }
        return;
      case form::integer: {
        const wide_integer i = whole_number(path);
        if (!store_integer(s, v, i)) fail(begin, path, i.text() + " is not in the range " + integer_range(s));
        return;
      }
      case form::size: {
        const wide_integer i = whole_number(path);
        if (i.negative) fail(begin, path, "a size is not negative");
        as<byte_size>(v).bytes = i.bits;
        return;
      }
      case form::real: return read_real(s, v, path);
      case form::text: as<std::string>(v) = text(path); return;
      case form::enumeration: {
        if (!next_is('"')) expected(path, names_in_words(s));
        const std::string name = text(path);
        const enumerator* const e = find_name(s, name);
        if (!e) fail(begin, path, "expected " + names_in_words(s) + ", got " + quoted(name));
        (void)s.set(v, e->value);
        return;
      }
      case form::duration: {
        if (!next_is('"')) expected(path, "a duration like \"250ms\"");
        const std::string d = text(path);
        return set_time(s, v, signed_duration(d), "a duration like \"250ms\"", d, begin, path);
      }
      case form::moment: {
        if (!next_is('"')) expected(path, "a time like \"2026-11-15T08:00:00Z\"");
        const std::string t = text(path);
        return set_time(s, v, parse_moment(t), "a time like \"2026-11-15T08:00:00Z\"", t, begin, path);
      }
      case form::maybe:
        s.clear(v);
        if (!take_word("null")) read(s.element(), s.append(v), path, depth - 1);
        return;
      case form::list: return read_list(s, v, path, depth);
      case form::structure: return read_structure(s, v, path, depth);
      case form::record:
        as<record>(v).clear();
        return read_record(as<record>(v), {}, path, std::min(depth, most_nesting));
      case form::opaque: fail(at_, path, "a '" + std::string(s.name) + "' cannot be written as text");
    }
  }

  void set_time(const type_shape& s, void* v, std::optional<std::int64_t> ns, const char* wanted,
                const std::string& got, std::size_t begin, const step* path) const {
    if (!ns) fail(begin, path, std::string("expected ") + wanted + ", got " + quoted(got));
    if (!s.set(v, *ns)) fail(begin, path, quoted(got) + " does not fit into " + std::string(s.name));
  }

  // The characters of a number, by the grammar of JSON.
  std::string_view number(const step* path, bool& whole) {
    skip_blanks();
    const std::size_t begin = at_;
    std::size_t i = at_;
    const auto digits = [&] {
      const std::size_t first = i;
      while (i < text_.size() && text_[i] >= '0' && text_[i] <= '9') ++i;
      return i - first;
    };
    const auto here = [&](char c) { return i < text_.size() && text_[i] == c; };
    if (here('-')) ++i;
    const std::size_t first_digit = i;
    const std::size_t n = digits();
    if (n == 0) expected(path, "a number");
    if (n > 1 && text_[first_digit] == '0') fail(begin, path, "a number does not start with 0");
    whole = true;
    if (here('.')) {
      whole = false;
      ++i;
      if (digits() == 0) fail(i, path, "a digit must follow the point");
    }
    if (here('e') || here('E')) {
      whole = false;
      ++i;
      if (here('+') || here('-')) ++i;
      if (digits() == 0) fail(i, path, "a digit must follow the exponent's sign");
    }
    at_ = i;
    return text_.substr(begin, i - begin);
  }

  wide_integer whole_number(const step* path) {
    skip_blanks();
    const std::size_t begin = at_;
    bool whole = false;
    const std::string_view digits = number(path, whole);
    if (!whole) fail(begin, path, "expected a whole number, got " + std::string(digits));
    wide_integer i;
    const char* const end = digits.data() + digits.size();
    if (digits.front() == '-') {
      std::int64_t v = 0;
      if (std::from_chars(digits.data(), end, v).ec == std::errc{}) return from_signed(v);
    } else if (std::from_chars(digits.data(), end, i.bits).ec == std::errc{}) {
      return i;
    }
    fail(begin, path, std::string(digits.substr(0, 40)) + " does not fit into 64 bits");
  }

  void read_real(const type_shape& s, void* v, const step* path) {
    skip_blanks();
    const std::size_t begin = at_;
    if (next_is('"')) {
      const std::string name = text(path);
      double d = std::numeric_limits<double>::infinity();
      if (name == "NaN") {
        d = std::numeric_limits<double>::quiet_NaN();
      } else if (name == "-Infinity") {
        d = -d;
      } else if (name != "Infinity") {
        fail(begin, path, "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\", got " + quoted(name));
      }
      (void)store_real(s, v, d);
      return;
    }
    bool whole = false;
    const std::string_view digits = number(path, whole);
    double d = 0;
    const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), d);
    // Out of range is also what is too small for any double but zero.
    const bool tiny = r.ec != std::errc{} && digits.find_first_of("eE") != std::string_view::npos &&
                      digits.find('-', 1) != std::string_view::npos;
    if ((r.ec != std::errc{} && !tiny) || !store_real(s, v, tiny ? 0.0 : d))
      fail(begin, path, std::string(digits.substr(0, 40)) + " does not fit into a " + std::string(s.name));
  }

  std::uint32_t hex4(const step* path) {
    std::uint32_t v = 0;
    const char* const first = text_.data() + at_;
    if (text_.size() - at_ < 4) fail(text_.size(), path, "the text ends within a \\u escape");
    const auto r = std::from_chars(first, first + 4, v, 16);
    if (r.ptr != first + 4) fail(at_, path, "\\u needs four hexadecimal digits");
    at_ += 4;
    return v;
  }

  void escape(std::string& out, const step* path) {
    const std::size_t begin = at_ - 1;
    if (at_ >= text_.size()) fail(at_, path, "the text ends within an escape");
    const char c = text_[at_++];
    switch (c) {
      case '"':
      case '\\':
      case '/': out += c; return;
      case 'b': out += '\b'; return;
      case 'f': out += '\f'; return;
      case 'n': out += '\n'; return;
      case 'r': out += '\r'; return;
      case 't': out += '\t'; return;
      case 'u': break;
      default: fail(begin, path, "an unknown escape");
    }
    std::uint32_t v = hex4(path);
    if (v >= 0xd800 && v < 0xdc00) {
      if (!text_.substr(at_).starts_with("\\u")) fail(begin, path, "half of a surrogate pair");
      at_ += 2;
      const std::uint32_t low = hex4(path);
      if (low < 0xdc00 || low > 0xdfff) fail(begin, path, "half of a surrogate pair");
      v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
    } else if (v >= 0xdc00 && v < 0xe000) {
      fail(begin, path, "half of a surrogate pair");
    }
    append_utf8(out, v);
  }

  std::string text(const step* path) {
    if (!take('"')) expected(path, "a text");
    std::string out;
    for (;;) {
      if (at_ >= text_.size()) fail(at_, path, "a text without its closing quote");
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c == '\\') {
        ++at_;
        escape(out, path);
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) fail(at_, path, "a control character must be escaped");
      const std::size_t n = utf8_length(text_, at_);
      if (n == 0) fail(at_, path, "a byte that is not UTF-8");
      out.append(text_.substr(at_, n));
      at_ += n;
    }
  }

  void read_list(const type_shape& s, void* v, const step* path, unsigned depth) {
    if (!take('[')) expected(path, "a list");
    s.clear(v);
    if (take(']')) return;
    for (step here{path};; ++here.index) {
      if (++elements_ > limits_.elements)
        fail(at_, path, "more than " + std::to_string(limits_.elements) + " elements");
      read(s.element(), s.append(v), &here, depth - 1);
      if (take(']')) return;
      if (!take(',')) expected(path, "',' or ']'");
    }
  }

  void read_structure(const type_shape& s, void* v, const step* path, unsigned depth) {
    if (!take('{')) expected(path, "an object with the fields of '" + std::string(s.name) + "'");
    std::vector<bool> seen(s.field_count);
    if (!next_is('}')) {
      do {
        skip_blanks();
        const std::size_t begin = at_;
        if (!next_is('"')) expected(path, "the name of a field");
        const std::string name = text(path);
        std::size_t i = 0;
        while (i < s.field_count && s.fields[i].name != name) ++i;
        if (i == s.field_count)
          fail(begin, path, "'" + std::string(s.name) + "' has no field " + quoted(name));
        if (seen[i]) fail(begin, path, "the field " + quoted(name) + " comes twice");
        seen[i] = true;
        if (!take(':')) expected(path, "':'");
        const step here{path, s.fields[i].name};
        read(s.fields[i].type(), s.fields[i].in(v), &here, depth - 1);
      } while (take(','));
    }
    if (!next_is('}')) expected(path, "',' or '}'");
    for (std::size_t i = 0; i < s.field_count; ++i) {
      if (seen[i]) continue;
      const type_shape& missing = s.fields[i].type();
      if (missing.form != form::maybe)
        fail(at_, path, "the field " + quoted(s.fields[i].name) + " is missing");
      missing.clear(s.fields[i].in(v));
    }
    ++at_;
  }

  // An object within it gives its fields names with points.
  void read_record(record& r, const std::string& prefix, const step* path, unsigned depth) {
    if (!take('{')) expected(path, "an object");
    if (depth == 0)
      fail(at_, path, "deeper than " + std::to_string(std::min(limits_.depth, most_nesting)) + " levels");
    if (take('}')) return;
    do {
      skip_blanks();
      const std::size_t begin = at_;
      if (!next_is('"')) expected(path, "the name of a field");
      const std::string name = prefix + text(path);
      if (name.size() > longest_name)
        fail(begin, path, "a name of more than " + std::to_string(longest_name) + " bytes");
      if (!take(':')) expected(path, "':'");
      const step here{path, name};
      if (next_is('{')) {
        read_record(r, name + '.', path, depth - 1);
        continue;
      }
      if (r.find(name)) fail(begin, path, "the field " + quoted(name) + " comes twice");
      if (++elements_ > most_fields)
        fail(begin, path, "more than " + std::to_string(most_fields) + " fields");
      r.append(name, field(&here));
    } while (take(','));
    if (!take('}')) expected(path, "',' or '}'");
  }

  field_value field(const step* path) {
    skip_blanks();
    if (take_word("null")) return {};
    if (take_word("true")) return true;
    if (take_word("false")) return false;
    if (next_is('"')) return text(path);
    const std::size_t begin = at_;
    bool whole = false;
    if (next_is('[')) expected(path, "a number, a text, true, false or null");
    const std::string_view digits = number(path, whole);
    std::int64_t i = 0;
    if (whole && std::from_chars(digits.data(), digits.data() + digits.size(), i).ec == std::errc{}) return i;
    at_ = begin;
    double d = 0;
    read_real(shape_of<double>(), &d, path);
    return d;
  }

  // Of a record. Each name is looked for among the others, and has those of the objects around it in front:
  // so without limits a short text could take long, and much room.
  static constexpr std::size_t most_fields = 1024;
  static constexpr std::size_t longest_name = 256;
  static constexpr unsigned most_nesting = 16;

  const std::string_view text_;
  const message_limits& limits_;
  std::size_t at_ = 0;
  std::size_t elements_ = 0;
};

}  // namespace

void read_json(const type_shape& s, void* v, std::string_view text, const message_limits& limits) {
  json_reader(text, limits).read_all(s, v);
}

}  // namespace leat::shapes
