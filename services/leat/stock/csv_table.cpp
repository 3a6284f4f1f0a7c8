// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/csv_table.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <leat/base/units.hpp>
#include <leat/process/scalar.hpp>

namespace leat::stock {
namespace {

constexpr std::string_view utf8_mark = "\xef\xbb\xbf";

std::string_view trimmed(std::string_view t) noexcept {
  const std::size_t begin = t.find_first_not_of(" \t");
  if (begin == t.npos) return {};
  return t.substr(begin, t.find_last_not_of(" \t") - begin + 1);
}

bool all_digits(std::string_view t) noexcept {
  return !t.empty() && std::all_of(t.begin(), t.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "12", "+5", "007".
std::optional<std::int64_t> whole_number(std::string_view t) noexcept {
  if (t.starts_with('+')) t.remove_prefix(1);
  if (!all_digits(t.starts_with('-') ? t.substr(1) : t)) return std::nullopt;
  std::int64_t n = 0;
  const auto [at, error] = std::from_chars(t.data(), t.data() + t.size(), n);
  return error == std::errc{} && at == t.data() + t.size() ? std::optional(n) : std::nullopt;
}

std::optional<double> real_number(std::string_view t, char decimal) {
  if (t.starts_with('+')) t.remove_prefix(1);
  std::string text(t);
  if (decimal != '.') {
    if (text.find('.') != text.npos) return std::nullopt;
    std::replace(text.begin(), text.end(), decimal, '.');
  }
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (first == text.size() || !(all_digits(text.substr(first, 1)) || text[first] == '.')) return std::nullopt;
  double d = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, d);
  return error == std::errc{} && at == end && std::isfinite(d) ? std::optional(d) : std::nullopt;
}

std::optional<bool> flag_of(std::string_view t) {
  std::string lower(t);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  for (const char* const yes : {"true", "yes", "on", "1"})
    if (lower == yes) return true;
  for (const char* const no : {"false", "no", "off", "0"})
    if (lower == no) return false;
  return std::nullopt;
}

// ISO 8601, also with a blank for the T, without seconds or any time of the day, and without a zone, which is UTC then;
// or seconds since 1970.
std::optional<moment> moment_of(std::string_view t, char decimal) {
  if (const std::optional<double> seconds = real_number(t, decimal)) {
    if (std::fabs(*seconds) > 9.2e9) return std::nullopt;
    const double whole = std::floor(*seconds);
    return moment(std::chrono::seconds(static_cast<std::int64_t>(whole)) +
                  nanoseconds(std::llround((*seconds - whole) * 1e9)));
  }
  std::string text(t);
  if (text.size() == 10) text += "T00:00:00";
  if (text.size() > 10 && text[10] == ' ') text[10] = 'T';
  // Hours and minutes alone.
  if (text.size() == 16 || (text.size() > 16 && text[16] != ':')) text.insert(16, ":00");
  if (text.size() > 10 && text.find_first_of("Zz+-", 11) == text.npos) text += 'Z';
  const std::optional<std::int64_t> ns = shapes::parse_moment(text);
  return ns ? std::optional(moment(nanoseconds(*ns))) : std::nullopt;
}

const char* name_of(cell_type t) noexcept {
  switch (t) {
    case cell_type::integer: return "an integer";
    case cell_type::number: return "a number";
    case cell_type::flag: return "a flag: true or false";
    case cell_type::moment: return "a time, such as 2026-11-15T08:00:00Z";
    case cell_type::duration: return "a duration, such as 250ms";
    case cell_type::guess:
    case cell_type::text: break;
  }
  return "a text";
}

}  // namespace

std::string read_cell(const csv_field& cell, cell_type type, const table_options& o, field_value& to) {
  const std::string_view t = cell.in_quotes ? std::string_view(cell.text) : trimmed(cell.text);
  to = {};
  if (!cell.in_quotes && (t.empty() || std::find(o.none.begin(), o.none.end(), t) != o.none.end())) return {};
  const auto set = [&](const auto& v) {
    if (!v) return leat::in_quotes(std::string(t.substr(0, 60))) + " is not " + name_of(type);
    to = *v;
    return std::string();
  };
  switch (type) {
    case cell_type::text: to = std::string(cell.text); return {};
    case cell_type::integer: return set(whole_number(t));
    case cell_type::number: return set(real_number(t, o.decimal));
    case cell_type::flag: return set(flag_of(t));
    case cell_type::moment: return set(moment_of(t, o.decimal));
    case cell_type::duration: return set(parse_signed_duration(t).value);
    case cell_type::guess: break;
  }
  if (cell.in_quotes) {
    to = cell.text;
    return {};
  }
  std::string text(t);
  // "1,5" is one with a comma for a point; "1.5" is none then.
  if (o.decimal != '.' && text.find('.') == text.npos) std::replace(text.begin(), text.end(), o.decimal, '.');
  to = csv_value({text, false});
  if (to.kind() == value_kind::text || (o.decimal != '.' && t.find('.') != t.npos)) to = std::string(t);
  return {};
}

csv_table::csv_table(table_options o, taker take)
    : options_(std::move(o)),
      take_(std::move(take)),
      splitter_(options_.longest),
      csv_(options_.separator, options_.longest, most_columns) {
  begin();
}

void csv_table::begin() {
  splitter_.reset();
  csv_.reset();
  columns_.clear();
  if (!options_.header) columns_ = options_.columns;
  unfit_.clear();
  number_ = row_begin_ = 0;
  sum_ = 0xcbf29ce484222325u;
}

// FNV-1a of 64 bits.
void csv_table::add_to_sum(std::string_view line) noexcept {
  for (const char c : line) sum_ = (sum_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  sum_ = (sum_ ^ static_cast<unsigned char>('\n')) * 0x100000001b3u;
}

// Without its header a file has no columns: the next line must not be taken for it.
bool csv_table::bad(std::string why, std::size_t field) {
  if (!columns_.empty()) return take_({{}, std::move(why), row_begin_});
  unfit_ = "line " + std::to_string(row_begin_) +
           (field > 0 ? ", column " + std::to_string(field) : std::string()) + ": " + why;
  return false;
}

bool csv_table::finish() {
  if (!splitter_.finish(*this)) return false;
  if (!csv_.unfinished()) return true;
  csv_.reset();
  return bad("the file ends within quotes");
}

bool csv_table::too_long() {
  add_to_sum({});
  if (++number_ <= options_.skip) return true;
  if (!csv_.unfinished()) row_begin_ = number_;
  csv_.reset();  // a row is not made up without one of its lines
  return bad("a line of more than " + std::to_string(options_.longest) + " bytes");
}

bool csv_table::line(std::string_view text) {
  add_to_sum(text);
  if (++number_ == 1 && text.starts_with(utf8_mark)) text.remove_prefix(utf8_mark.size());
  if (number_ <= options_.skip) return true;
  if (!csv_.unfinished()) {
    row_begin_ = number_;
    if (trimmed(text).empty() && text.find(options_.separator) == text.npos) return true;
    if (!options_.comment.empty() && text.starts_with(options_.comment)) return true;
  }
  if (options_.encoding == line_encoding::utf8 && (!shapes::is_utf8(text) || text.find('\0') != text.npos)) {
    csv_.reset();
    return bad("a line that is not UTF-8, or has a zero byte");
  }
  switch (csv_.feed(text, splitter_.ended_with_return())) {
    case csv_splitter::status::more: return true;
    case csv_splitter::status::wrong: return bad(csv_.why(), csv_.fields().size());
    case csv_splitter::status::row: break;
  }
  return columns_.empty() ? header() : row();
}

bool csv_table::header() {
  std::unordered_set<std::string_view> known;
  for (const csv_field& f : csv_.fields()) {
    const std::string_view name = f.in_quotes ? std::string_view(f.text) : trimmed(f.text);
    if (name.empty()) {
      unfit_ = "column " + std::to_string(columns_.size() + 1) + " has no name";
    } else if (!known.insert(name).second) {
      unfit_ = "two columns are called " + leat::in_quotes(std::string(name));
    }
    const auto declared = std::find_if(options_.columns.begin(), options_.columns.end(),
                                       [&](const csv_column& c) { return c.name == name; });
    if (declared == options_.columns.end()) {
      csv_column c;
      c.name = name;
      columns_.push_back(std::move(c));
    } else {
      columns_.push_back(*declared);
    }
  }
  for (const csv_column& c : options_.columns)
    if (!known.contains(c.name)) unfit_ = "there is no column " + leat::in_quotes(c.name);
  if (unfit_.empty()) return true;
  unfit_ = "line " + std::to_string(row_begin_) + ": " + unfit_;
  columns_.clear();
  return false;
}

bool csv_table::row() {
  const std::vector<csv_field>& fields = csv_.fields();
  if (fields.size() != columns_.size())
    return bad("a row of " + std::to_string(fields.size()) + " fields, with " +
               std::to_string(columns_.size()) + " columns");
  line_event e{.line = row_begin_};
  e.value.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    field_value v;
    const std::string why = read_cell(fields[i], columns_[i].type, options_, v);
    if (!why.empty()) return bad("column " + leat::in_quotes(columns_[i].name) + ": " + why);
    if (columns_[i].required && v.is_null())
      return bad("column " + leat::in_quotes(columns_[i].name) + " is empty");
    e.value.append(columns_[i].name, std::move(v));
  }
  return take_(std::move(e));
}

}  // namespace leat::stock
