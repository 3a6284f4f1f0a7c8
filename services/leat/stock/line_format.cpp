// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/line_format.hpp>

#include <leat/base/value.hpp>
#include <leat/process/scalar.hpp>
#include <leat/stock/validators.hpp>

namespace leat::stock {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// "" or what is wrong.
std::string check_columns(const std::vector<std::string>& names) {
  if (names.size() > most_columns) return "more than " + std::to_string(most_columns) + " columns";
  value::list all;
  for (const std::string& name : names) all.emplace_back(name);
  const std::vector<setting_diagnostic> wrong = validate_columns(value(std::move(all)));
  return wrong.empty() ? std::string() : wrong.front().why;
}

}  // namespace

format_settings::format_settings(process* owner)
    : format(owner, "format", line_form::text,
             "text: one field with the line; json: an object in each line; csv: RFC 4180"),
      columns(owner, "columns", std::vector<std::string>(),
              "names of the columns of csv; none: the first line, or the first record, names them",
              validated_by(validate_columns)),
      separator(owner, "separator", ",", "between the fields of csv: one character",
                validated_by(validate_separator)) {}

line_options format_settings::checked() const {
  if (const std::string why = validate_separator(*separator); !why.empty())
    throw setting_error("separator = " + leat::in_quotes(*separator) + ": " + why);
  if (const std::string why = check_columns(*columns); !why.empty()) throw setting_error("columns: " + why);
  return {.form = *format, .columns = *columns, .separator = (*separator)[0]};
}

void line_parser::begin(bool numbered) {
  splitter_.reset();
  csv_.reset();
  columns_ = csv_columns(options_.columns);
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
    return bad_line("a line that is not UTF-8, or has a zero byte");
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
  switch (csv_.feed(text, splitter_.ended_with_return())) {
    case csv_splitter::status::more: return true;
    case csv_splitter::status::wrong: return bad(csv_.why());
    case csv_splitter::status::row: break;
  }
  if (!columns_.empty()) return csv_row();
  std::vector<std::string> names;
  for (const csv_field& f : csv_.fields()) names.push_back(f.text);
  std::string why = check_columns(names);
  if (!why.empty()) return bad(std::move(why));
  columns_ = csv_columns(std::move(names));
  return true;
}

bool line_parser::csv_row() {
  const std::vector<csv_field>& fields = csv_.fields();
  if (fields.size() != columns_.size())
    return bad("a row of " + std::to_string(fields.size()) + " fields, with " +
               std::to_string(columns_.size()) + " columns");
  line_event e{.line = number()};
  if (std::string why = columns_.read(fields, e.value); !why.empty()) return bad(std::move(why));
  return take_(std::move(e));
}

std::string line_maker::header() const {
  if (options_.form != line_form::csv || columns_.empty()) return {};
  std::string line;
  for (const std::string& c : columns_.names()) {
    if (!line.empty()) line += options_.separator;
    write_csv(line, c, options_.separator, false);
  }
  return line + '\n';
}

std::string line_maker::add(const record& r, std::string& to) {
  left_out_ = 0;
  if (options_.form == line_form::text) {
    const field_value* const v = text_field_.find(r);
    if (!v) return "field '" + text_field_.text() + "' is missing";
    const std::string text = leat::to_text(*v);
    if (text.find('\n') != text.npos) return "field '" + text_field_.text() + "' has a line break in it";
    to += text;
  } else if (options_.form == line_form::json) {
    shapes::write_json(shape_of<record>(), &r, to);
  } else {
    if (columns_.empty()) {
      std::vector<std::string> names = columns_.missing_in(r, csv_columns::within::counts);
      if (names.empty()) return "a record without fields names no columns";
      if (std::string why = check_columns(names); !why.empty()) return why;
      columns_ = csv_columns(std::move(names));
    }
    const std::size_t begin = to.size();
    bool first = true;
    left_out_ = columns_.write(r, [&](const field_value* v, bool is_within) {
      if (!std::exchange(first, false)) to += options_.separator;
      if (v && is_within && v->is_null())
        to += "null";
      else if (v)
        write_csv(to, *v, options_.separator);
    });
    if (to.size() == begin) to += "null";  // an empty line would be no row
    if (left_out_ > 0) first_left_out_ = columns_.left_out(r);
  }
  to += '\n';
  return {};
}

}  // namespace leat::stock
