// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/line_format.hpp>

#include <leat/base/value.hpp>
#include <leat/process/scalar.hpp>
#include <leat/stock/judges.hpp>

namespace leat::stock {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// "" or what is wrong.
std::string check_columns(const std::vector<std::string>& names) {
  if (names.size() > most_columns) return "more than " + std::to_string(most_columns) + " columns";
  value::list all;
  for (const std::string& name : names) all.emplace_back(name);
  const std::vector<fault> wrong = judge_columns(value(std::move(all)));
  return wrong.empty() ? std::string() : wrong.front().why;
}

}  // namespace

format_settings::format_settings(process* owner)
    : format(owner, "format", line_form::text,
             "text: one field with the line; json: an object in each line; csv: RFC 4180"),
      columns(owner, "columns", std::vector<std::string>(),
              "names of the columns of csv; none: the first line, or the first record, names them",
              judged_by(judge_columns)),
      separator(owner, "separator", ",", "between the fields of csv: one character",
                judged_by(judge_separator)) {}

line_options format_settings::checked() const {
  if (const std::string why = judge_separator(*separator); !why.empty())
    throw setting_error("separator = " + leat::quoted(*separator) + ": " + why);
  if (const std::string why = check_columns(*columns); !why.empty()) throw setting_error("columns: " + why);
  return {.form = *format, .columns = *columns, .separator = (*separator)[0]};
}

void line_parser::begin(bool numbered) {
  splitter_.reset();
  csv_.reset();
  columns_ = options_.columns;
  at_begin_ = true;
  numbered_ = numbered;
  number_ = 0;
}

bool line_parser::finish() {
  if (!splitter_.finish(*this)) return false;
  return !csv_.unfinished() || bad("the end came within quotes");
}

bool line_parser::line(std::string_view text) {
  ++number_;
  if (std::exchange(at_begin_, false) && text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  if (options_.encoding == line_encoding::utf8 && (!shapes::is_utf8(text) || text.find('\0') != text.npos))
    return bad("a line that is not UTF-8, or has a zero byte");
  switch (options_.form) {
    case line_form::text: return take_({record{{"line", text}}, {}, number()});
    case line_form::csv: return csv_line(text);
    case line_form::json: break;
  }
  if (text.find_first_not_of(" \t") == text.npos) return true;
  line_event e{.line = number()};
  try {
    e.value = from_json<record>(text);
  } catch (const message_error& wrong) {
    e.bad = wrong.what();
    // The text is one line, whatever its number.
    if (constexpr std::string_view first = "line 1, "; e.bad.starts_with(first)) e.bad.erase(0, first.size());
  }
  return take_(std::move(e));
}

bool line_parser::csv_line(std::string_view text) {
  if (text.empty() && !csv_.unfinished()) return true;
  switch (csv_.feed(text)) {
    case csv_splitter::status::more: return true;
    case csv_splitter::status::wrong: return bad(csv_.why());
    case csv_splitter::status::row: break;
  }
  if (!columns_.empty()) return csv_row();
  for (const csv_field& f : csv_.fields()) columns_.push_back(f.text);
  std::string why = check_columns(columns_);
  if (why.empty()) return true;
  columns_.clear();
  return bad(std::move(why));
}

bool line_parser::csv_row() {
  const std::vector<csv_field>& fields = csv_.fields();
  if (fields.size() != columns_.size())
    return bad("a row of " + std::to_string(fields.size()) + " fields, with " +
               std::to_string(columns_.size()) + " columns");
  line_event e{.line = number()};
  e.value.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) e.value.append(columns_[i], csv_value(fields[i]));
  return take_(std::move(e));
}

std::string line_maker::header() const {
  if (options_.form != line_form::csv || options_.columns.empty()) return {};
  std::string line;
  for (const std::string& c : options_.columns) {
    if (!line.empty()) line += options_.separator;
    write_csv(line, c, options_.separator, false);
  }
  return line + '\n';
}

std::string line_maker::add(const record& r, std::string& to) {
  left_out_ = 0;
  if (options_.form == line_form::text) {
    const field_value* const v = r.find(text_field_);
    if (!v) return "field '" + text_field_ + "' is missing";
    const std::string text = leat::to_text(*v);
    if (text.find('\n') != text.npos) return "field '" + text_field_ + "' has a line break in it";
    to += text;
  } else if (options_.form == line_form::json) {
    to += to_json(r);
  } else {
    if (options_.columns.empty())
      for (const record::field& f : r) options_.columns.push_back(f.name);
    if (options_.columns.empty()) return "a record without fields names no columns";
    std::size_t found = 0;
    for (std::size_t i = 0; i < options_.columns.size(); ++i) {
      if (i > 0) to += options_.separator;
      const field_value* const v = r.find(options_.columns[i]);
      if (!v) continue;
      ++found;
      write_csv(to, *v, options_.separator);
    }
    left_out_ = r.size() - found;
  }
  to += '\n';
  return {};
}

}  // namespace leat::stock
