// SPDX-License-Identifier: BSL-1.0
//
// Reading JSON (RFC 8259) into a type. Depth grows only with the type's own, and is counted all the same: a
// type may hold lists of itself.
#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include <leat/base/json_scalar.hpp>
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
    return n == 0 ? "a byte that is not UTF-8" : in_quotes(text_.substr(at_, n));
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
    switch (s.kind) {
      case value_kind::boolean:
        if (take_word("true")) {
          as<bool>(v) = true;
        } else if (take_word("false")) {
          as<bool>(v) = false;
        } else {
          expected(path, "true or false");
        }
        return;
      case value_kind::integer: {
        const wide_integer i = whole_number(path);
        if (!store_integer(s, v, i)) fail(begin, path, i.text() + " is not in the range " + integer_range(s));
        return;
      }
      case value_kind::size: {
        const wide_integer i = whole_number(path);
        if (i.negative) fail(begin, path, "a size is not negative");
        as<byte_size>(v).bytes = i.bits;
        return;
      }
      case value_kind::real: return read_real(s, v, path);
      case value_kind::text: as<std::string>(v) = text(path); return;
      case value_kind::enumeration: {
        if (!next_is('"')) expected(path, names_in_words(s));
        const std::string name = text(path);
        const enumerator* const e = find_name(s, name);
        if (!e) fail(begin, path, "expected " + names_in_words(s) + ", got " + in_quotes(name));
        (void)s.set(v, e->value);
        return;
      }
      case value_kind::duration: {
        if (!next_is('"')) expected(path, "a duration like \"250ms\"");
        const std::string d = text(path);
        return set_time(s, v, signed_duration(d), "a duration like \"250ms\"", d, begin, path);
      }
      case value_kind::moment: {
        if (!next_is('"')) expected(path, "a time like \"2026-11-15T08:00:00Z\"");
        const std::string t = text(path);
        return set_time(s, v, parse_moment(t), "a time like \"2026-11-15T08:00:00Z\"", t, begin, path);
      }
      case value_kind::maybe:
        s.clear(v);
        if (!take_word("null")) read(s.element(), s.append(v), path, depth - 1);
        return;
      case value_kind::list: return read_list(s, v, path, depth);
      case value_kind::table: return read_structure(s, v, path, depth);
      case value_kind::record:
        as<record>(v).clear();
        return read_record(as<record>(v), path, std::min(depth, most_nesting));
      case value_kind::none:
      case value_kind::any:
      case value_kind::opaque: fail(at_, path, "a '" + std::string(s.name) + "' cannot be written as text");
    }
  }

  void set_time(const type_shape& s, void* v, std::optional<std::int64_t> ns, const char* wanted,
                const std::string& got, std::size_t begin, const step* path) const {
    if (!ns) fail(begin, path, std::string("expected ") + wanted + ", got " + in_quotes(got));
    if (!s.set(v, *ns)) fail(begin, path, in_quotes(got) + " does not fit into " + std::string(s.name));
  }

  // The characters of a number, by the grammar of JSON.
  std::string_view number(const step* path, bool& whole) {
    skip_blanks();
    const std::size_t begin = at_;
    const json_scalar n = scan_json_number(text_, begin);
    if (n.flaw == json_flaw::no_number) expected(path, "a number");
    if (n.flaw != json_flaw::none) fail(n.at, path, to_string(n.flaw));
    whole = n.whole;
    at_ = n.end;
    return text_.substr(begin, n.end - begin);
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
        fail(begin, path,
             "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\", got " + in_quotes(name));
      }
      (void)store_real(s, v, d);
      return;
    }
    bool whole = false;
    const std::string_view digits = number(path, whole);
    if (!store_digits(s, v, digits))
      fail(begin, path, std::string(digits.substr(0, 40)) + " does not fit into a " + std::string(s.name));
  }

  std::string text(const step* path) {
    if (!take('"')) expected(path, "a text");
    std::string out;
    const json_scalar t = scan_json_text(text_, at_, out, json_texts::strict);
    if (t.flaw != json_flaw::none) fail(t.at, path, to_string(t.flaw));
    at_ = t.end;
    return out;
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
          fail(begin, path, "'" + std::string(s.name) + "' has no field " + in_quotes(name));
        if (seen[i]) fail(begin, path, "the field " + in_quotes(name) + " comes twice");
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
      if (missing.kind != value_kind::maybe)
        fail(at_, path, "the field " + in_quotes(s.fields[i].name) + " is missing");
      missing.clear(s.fields[i].in(v));
    }
    ++at_;
  }

  void read_record(record& r, const step* path, unsigned depth) {
    if (!take('{')) expected(path, "an object");
    if (depth == 0)
      fail(at_, path, "deeper than " + std::to_string(std::min(limits_.depth, most_nesting)) + " levels");
    if (take('}')) return;
    do {
      skip_blanks();
      const std::size_t begin = at_;
      if (!next_is('"')) expected(path, "the name of a field");
      std::string name = text(path);
      if (name.size() > longest_name)
        fail(begin, path, "a name of more than " + std::to_string(longest_name) + " bytes");
      if (r.find(name)) fail(begin, path, "the field " + in_quotes(name) + " comes twice");
      if (!take(':')) expected(path, "':'");
      if (r.size() == most_fields || ++fields_ > most_fields_together)
        fail(begin, path,
             r.size() == most_fields
                 ? "more than " + std::to_string(most_fields) + " fields"
                 : "more than " + std::to_string(most_fields_together) + " fields in all of it");
      const step here{path, name};
      field_value v = field(&here, depth);
      r.append(std::move(name), std::move(v));
    } while (take(','));
    if (!take('}')) expected(path, "',' or '}'");
  }

  field_list read_values(const step* path, unsigned depth) {
    field_list all;
    if (depth == 0)
      fail(at_, path, "deeper than " + std::to_string(std::min(limits_.depth, most_nesting)) + " levels");
    ++at_;
    if (take(']')) return all;
    for (step here{path};; ++here.index) {
      if (++elements_ > limits_.elements)
        fail(at_, path, "more than " + std::to_string(limits_.elements) + " elements");
      all.push_back(field(&here, depth));
      if (take(']')) return all;
      if (!take(',')) expected(path, "',' or ']'");
    }
  }

  field_value field(const step* path, unsigned depth) {
    skip_blanks();
    if (take_word("null")) return {};
    if (take_word("true")) return true;
    if (take_word("false")) return false;
    if (next_is('"')) return text(path);
    if (next_is('[')) return read_values(path, depth - 1);
    if (next_is('{')) {
      record r;
      read_record(r, path, depth - 1);
      return r;
    }
    const std::size_t begin = at_;
    bool whole = false;
    const std::string_view digits = number(path, whole);
    std::int64_t i = 0;
    if (whole && std::from_chars(digits.data(), digits.data() + digits.size(), i).ec == std::errc{}) return i;
    at_ = begin;
    double d = 0;
    read_real(shape_of<double>(), &d, path);
    return d;
  }

  // Of a record. Each name is looked for among the others of its table: so without limits a short text could take
  // long.
  static constexpr std::size_t most_fields = 1024;
  static constexpr std::size_t most_fields_together = 65'536;
  static constexpr std::size_t longest_name = 256;
  static constexpr unsigned most_nesting = 16;

  const std::string_view text_;
  const message_limits& limits_;
  std::size_t at_ = 0;
  std::size_t elements_ = 0;
  std::size_t fields_ = 0;
};

}  // namespace

void read_json(const type_shape& s, void* v, std::string_view text, const message_limits& limits) {
  json_reader(text, limits).read_all(s, v);
}

}  // namespace leat::shapes
