// SPDX-License-Identifier: BSL-1.0
//
// A restart of the process goes on behind the last row that was read: the file is read again from its beginning, since
// its header is there, and rows up to that one are passed over.
#include <stdexcept>
#include <system_error>
#include <unordered_set>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/process/outside.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/csv_table.hpp>
#include <leat/stock/followed_file.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(csv_reader)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

std::string validate_decimal(const std::string& text) {
  return text == "." || text == "," ? std::string() : "expected \".\" or \",\"";
}

std::vector<setting_diagnostic> validate_csv_columns(const value& all) {
  const auto* const list = all.get_if<value::list>();
  if (!list) return {};
  if (list->size() > most_columns) return {{"more than " + std::to_string(most_columns) + " columns"}};
  std::vector<setting_diagnostic> wrong;
  std::unordered_set<std::string_view> known;
  for (const value& v : *list) {
    const std::string* const name = text_in(v, "name");
    if (!name || name->empty()) {
      wrong.push_back({"`name` must be given", &v});
    } else if (!known.insert(*name).second) {
      wrong.push_back({"two columns are called " + leat::in_quotes(*name), &v});
    }
  }
  return wrong;
}

bool has_header(const value& settings) {
  const value* const header = settings.find("header");
  const bool* const set = header ? header->get_if<bool>() : nullptr;
  return !set || *set;
}

std::vector<setting_diagnostic> validate_csv_file(const value& settings) {
  std::vector<setting_diagnostic> wrong;
  const value::list* const columns = list_in(settings, "columns");
  if (!has_header(settings) && (!columns || columns->empty()))
    wrong.push_back({"`columns` must be given, since no header names them", settings.find("header")});
  const std::string *separator = text_in(settings, "separator"), *decimal = text_in(settings, "decimal");
  if (separator && decimal && *separator == *decimal)
    wrong.push_back({"`separator` and `decimal` are the same", settings.find("decimal")});
  return wrong;
}

// With a header there may be others besides.
std::optional<std::vector<record_field>> fields_of_table(const value& settings,
                                                         const std::vector<record_field>*) {
  const value::list* const columns = list_in(settings, "columns");
  if (has_header(settings) || !columns) return std::nullopt;
  std::vector<record_field> all;
  for (const value& v : *columns) {
    const std::string *name = text_in(v, "name"), *type = text_in(v, "type");
    if (!name) return std::nullopt;
    record_field f;
    f.name = *name;
    if (type && *type == "text") f.kind = value_kind::text;
    if (type && *type == "integer") f.kind = value_kind::integer;
    if (type && *type == "number") f.kind = value_kind::real;
    if (type && *type == "flag") f.kind = value_kind::boolean;
    if (type && *type == "moment") f.kind = value_kind::moment;
    if (type && *type == "duration") f.kind = value_kind::duration;
    all.push_back(std::move(f));
  }
  return all;
}

// Where the last row that was read begins, in which file, and a sum of the file up to its end. Numbers alone: saved
// at each row.
struct csv_place {
  std::uint64_t device = 0, number = 0, line = 0, sum = 0;
};

class csv_reader : public process {
  record_out values{this, "values", sends_by(fields_of_table), "one record for each row"};
  setting<std::string> file{this, "file", required, "the path of the file", validated_by(validate_folder)};
  setting<bool> header{this, "header", true, "the first row names the columns"};
  setting<std::vector<csv_column>> columns{
      this, "columns", std::vector<csv_column>(),
      "each { name = \"at\", type = \"moment\", required = true }; type is guess, text, integer, number, "
      "flag, moment or "
      "duration. With a header: those that it must have, and what they are; else: all, in their order",
      validated_by(validate_csv_columns)};
  setting<std::string> separator{this, "separator", ",", "between the cells: one character",
                                 validated_by(validate_separator)};
  setting<std::string> decimal{this, "decimal", ".", "of numbers: \".\" or \",\"",
                               validated_by(validate_decimal)};
  setting<std::vector<std::string>> none{
      this, "none", std::vector<std::string>(),
      "cells that stand for no value, as an empty one does: \"NA\", \"-\""};
  setting<std::string> comment{this, "comment", "", "lines that begin with this are left out; \"\": none"};
  setting<std::int64_t> skip{this, "skip", 0, "lines at the beginning that are left out",
                             between(0, 1'000'000)};
  setting<line_encoding> encoding{this, "encoding", line_encoding::utf8,
                                  "utf8: a line that is not UTF-8 or has a zero byte is bad; any: none is"};
  setting<byte_size> longest{this, "longest", byte_size{std::size_t{64} << 10},
                             "bytes of a row; a longer one is bad, and skipped",
                             between(byte_size{1}, byte_size{std::size_t{16} << 20})};
  setting<bool> follow{this, "follow", false,
                       "waits for more at the end, and goes on with a file that takes its name"};
  setting<nanoseconds, live> poll{this, "poll", 250ms, "how often it looks for more",
                                  between<nanoseconds>(1ms, 1h)};
  settings_validator together{this, validate_csv_file};
  rejects bad{this, "a row that is wrong"};
  errors told{
      this,
      {{"a row with another number of cells, a quote at the wrong place, a cell that is not of its type, one "
        "longer than `longest`, one that is not UTF-8",
        "is wrong, as above, and logged with its line"},
       {"a record that does not fit the message of the channel", "is wrong, as above"},
       {"a header without one of `columns`, with a name twice or an empty one, or that is wrong as a row may "
        "be",
        "the process fails"},
       {"a file that is not there", "the process fails; with follow = true it waits for it"},
       {"a file that is cut or replaced, with follow = true", "logged, and read from its beginning"},
       {"a file that is a folder, a pipe or a device", "the process fails"},
       {"a failure", "the next object goes on behind the last row that was read"},
       {"a file that was written anew between a failure and the next object",
        "logged, and read from its beginning"},
       nobody_reads,
       channel_is_full}};

  state<csv_place> last_row{this, "row"};
  passes pass{this};
  csv_place at_{};
  csv_place before_{};  // rows up to here were read before; line 0: none, or all are passed over
  bool changed_ = false;
  const csv_table* table_ = nullptr;

  // The file as it was when they were read?
  bool pass_over(std::uint64_t line) {
    if (line < before_.line) return true;
    changed_ = line != before_.line || table_->sum() != before_.sum;
    before_ = {};
    return !changed_;
  }

  bool take(line_event e) {
    if (before_.line > 0) return pass_over(e.line);
    at_.line = e.line;
    at_.sum = table_->sum();
    if (e.bad.empty()) {
      try {
        if (!pass(values, std::move(e.value))) return false;
        last_row.save(at_);
        return true;
      } catch (const message_error& wrong) {
        e.bad = wrong.what();
      }
    }
    last_row.save(at_);  // first: it would fail again
    bad.add_input(e.told());
    return true;
  }

  table_options checked() const {
    if (const std::string why = validate_separator(*separator); !why.empty())
      throw setting_error("separator: " + why);
    if (const std::string why = validate_decimal(*decimal); !why.empty())
      throw setting_error("decimal: " + why);
    if (!*header && columns->empty())
      throw setting_error("columns: must be given, since no header names them");
    return {.columns = *columns,
            .header = *header,
            .separator = (*separator)[0],
            .decimal = (*decimal)[0],
            .comment = *comment,
            .none = *none,
            .skip = static_cast<std::uint64_t>(*skip),
            .encoding = *encoding,
            .longest = static_cast<std::size_t>(longest->bytes)};
  }

  void begin(const followed_file& f, csv_table& to) {
    at_ = {f.which().first, f.which().second, 0, 0};
    before_ = last_row.load();
    if (before_.device != at_.device || before_.number != at_.number) before_ = {};
    if (before_.line > 0) log_info("stock", "{}: goes on in {} behind line {}", name(), *file, before_.line);
    changed_ = false;
    to.begin();
  }
  void begin_anew(const followed_file& f, csv_table& to) {
    last_row.save({});
    begin(f, to);
  }

  // A file that was written anew, or cut, while nobody looked: told, and read from its beginning.
  bool begins_anew(followed_file& f, csv_table& to, bool at_end) {
    if (!changed_ && !(at_end && before_.line > 0)) return false;
    log_warning("stock", "{}: {} is no longer what was read up to line {}: reads from its beginning", name(),
                *file, last_row.load().line);
    f.to_begin();
    begin_anew(f, to);
    return true;
  }

  // False: no more is wanted.
  bool go_on(bool more, const csv_table& t) const {
    if (!t.unfit().empty()) throw std::runtime_error(*file + ": " + t.unfit());
    return more;
  }

  void run() override {
    csv_table to(checked(), [this](line_event e) { return take(std::move(e)); });
    table_ = &to;
    followed_file f(*file);
    bool missing = !f.open();
    if (missing && !*follow)
      throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory), *file);
    if (missing) log_warning("stock", "{}: waits for {}, which is not there", name(), *file);
    if (!missing) begin(f, to);
    std::vector<char> bytes(std::size_t{64} << 10);
    for (;;) {
      if (stop_requested()) return;
      std::size_t n = 0;
      const followed_file::status s = f.read(bytes, n);
      if (s == followed_file::status::data) {
        const bool more = to.feed({bytes.data(), n});
        if (!begins_anew(f, to, false) && !go_on(more, to)) return;
        continue;
      }
      if (!*follow) {
        const bool more = to.finish();
        if (begins_anew(f, to, true)) continue;
        return void(go_on(more, to));
      }
      if (s == followed_file::status::end && begins_anew(f, to, true)) continue;
      if (s == followed_file::status::fresh || s == followed_file::status::cut) {
        if (!missing && !go_on(to.finish() || changed_, to)) return;
        log_info("stock", "{}: {} {}", name(), *file,
                 s == followed_file::status::cut ? "has been cut: reads from its beginning"
                                                 : "is another file: reads that one");
        begin_anew(f, to);
        missing = false;
        continue;
      }
      if (s == followed_file::status::missing && !std::exchange(missing, true)) {
        if (!go_on(to.finish() || changed_, to)) return;
        log_warning("stock", "{}: {} is gone; waits for another", name(), *file);
      }
      if (sleep_for(*poll) == sleep_result::stopped) return;
    }
  }
};
LEAT_PROCESS_AS("csv-reader", csv_reader, "makes a record of each row of a CSV file");
LEAT_USES_OUTSIDE("csv-reader", outside::device, "it follows a file");

}  // namespace
}  // namespace leat::stock
