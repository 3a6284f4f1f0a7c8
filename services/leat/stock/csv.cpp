// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/csv.hpp>

#include <charconv>
#include <cmath>
#include <system_error>

namespace leat::stock {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// "1", "-2.5", "1e3"; not "007", "+1", ".5", "inf".
bool looks_like_a_number(std::string_view t) noexcept {
  if (t.starts_with('-')) t.remove_prefix(1);
  if (t.empty() || !is_digit(t[0])) return false;
  return t[0] != '0' || t.size() == 1 || !is_digit(t[1]);
}

// What is read as something else than a text.
bool is_word(std::string_view t) noexcept {
  return t == "true" || t == "false" || t == "null" || t == "[]" || t == "{}";
}
field_value word(std::string_view t) {
  if (t == "null") return {};
  if (t == "[]") return field_list();
  if (t == "{}") return record();
  return t == "true";
}

field_value number_or_text(std::string_view t) {
  const char* const end = t.data() + t.size();
  if (looks_like_a_number(t)) {
    std::int64_t i = 0;
    if (const auto [at, error] = std::from_chars(t.data(), end, i); error == std::errc{} && at == end)
      return i;
    double d = 0;
    if (const auto [at, error] = std::from_chars(t.data(), end, d);
        error == std::errc{} && at == end && std::isfinite(d))
      return d;
  }
  return t;
}

}  // namespace

csv_splitter::status csv_splitter::fail(std::string why) {
  size_ = 0;
  open_ = false;
  why_ = std::move(why);
  return status::wrong;
}

void csv_splitter::reset() noexcept {
  fields_.clear();
  size_ = 0;
  open_ = false;
}

csv_splitter::status csv_splitter::feed(std::string_view line, bool ended_with_return) {
  std::size_t i = 0;
  if (open_) {
    fields_.back().text += '\n';
  } else {
    reset();
    fields_.emplace_back();
  }
  size_ += line.size() + 1;
  if (size_ > limit_ + 1) return fail("a row is longer than " + std::to_string(limit_) + " bytes");
  const auto at_start = [&] { return !open_ && fields_.back().text.empty() && !fields_.back().in_quotes; };
  for (; i < line.size(); ++i) {
    const char c = line[i];
    if (open_) {
      if (c != '"') {
        fields_.back().text += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        fields_.back().text += '"';
        ++i;
      } else {
        open_ = false;
      }
    } else if (c == separator_) {
      if (fields_.size() == most_fields_)
        return fail("a row of more than " + std::to_string(most_fields_) + " fields");
      fields_.emplace_back();
    } else if (c == '"') {
      if (!at_start()) return fail("a quote within a field that does not begin with one");
      open_ = fields_.back().in_quotes = true;
    } else if (fields_.back().in_quotes) {
      return fail("something follows after the quote that ends a field");
    } else {
      fields_.back().text += c;
    }
  }
  if (!open_) return status::row;
  if (ended_with_return) fields_.back().text += '\r';
  return status::more;
}

field_value csv_value(const csv_field& f) {
  if (f.in_quotes) return f.text;
  if (is_word(f.text)) return word(f.text);
  return f.text.empty() ? field_value() : number_or_text(f.text);
}

// What would be read as something else than this text is put in quotes.
void write_csv(std::string& to, std::string_view text, char separator, bool is_text) {
  const bool special = text.find_first_of("\"\r\n") != std::string_view::npos ||
                       text.find(separator) != std::string_view::npos ||
                       text.starts_with("\xef\xbb\xbf");  // which is passed over at the begin of a file
  if (!special && !(is_text && (text.empty() || looks_like_a_number(text) || is_word(text)))) {
    to += text;
    return;
  }
  to += '"';
  for (const char c : text) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

void write_csv(std::string& to, const field_value& v, char separator) {
  const auto* const text = std::get_if<std::string>(&v);
  if (text) return write_csv(to, *text, separator, true);
  write_csv(to, to_text(v), separator, false);
}

}  // namespace leat::stock
