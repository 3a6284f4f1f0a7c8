// SPDX-License-Identifier: BSL-1.0
//
// Lines wait in `lines_` until they are flushed, as one write of whole lines. Whatever fails closes the file;
// the next try opens it again, which also repairs it.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/process/outside.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/csv.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/numbered_files.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(recorder)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

enum class line_format { csv, json };
LEAT_ENUM(line_format, csv, json);
enum class when_full { wait, drop, fail };
LEAT_ENUM(when_full, wait, drop, fail);

constexpr std::size_t most_unwritten = 1 << 20;
// Of a csv file. Each further column costs one.
constexpr std::size_t longest_head = 64 * 1024;

// CSV as RFC 4180 has it, but for one thing: a record is always one line, so that a file cut at any line end
// is whole. Line breaks within a text are written as \n and \r. False: there was one.
bool write_cell(std::string& to, const field_value& v) {
  const auto* const text = std::get_if<std::string>(&v);
  if (!text || text->find_first_of("\r\n") == std::string::npos) {
    write_csv(to, v, ',');
    return true;
  }
  std::string flat;
  for (const char c : *text) {
    if (c == '\n') {
      flat += "\\n";
    } else if (c == '\r') {
      flat += "\\r";
    } else {
      flat += c;
    }
  }
  write_csv(to, flat, ',', true);
  return false;
}

std::string csv_head(const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& name : columns) {
    if (&name != &columns.front()) line += ',';
    (void)write_cell(line, name);
  }
  return line + '\n';
}

// Empty: it is no such line.
std::vector<std::string> read_csv_head(std::string_view line) {
  std::vector<std::string> names;
  csv_splitter parts(',', line.size(), most_columns);
  if (parts.feed(line) == csv_splitter::status::row)
    for (const csv_field& f : parts.fields()) names.push_back(f.text);
  return names;
}

struct csv_losses {
  std::size_t left_out = 0;                  // values that have no column
  const std::string* broken_line = nullptr;  // the column of a text with a line break in it
};

csv_losses append_csv(std::string& to, const record& r, const csv_columns& columns) {
  csv_losses losses;
  std::size_t column = 0;
  const std::size_t begin = to.size();
  losses.left_out = columns.write(r, [&](const field_value* v, bool is_within) {
    const std::string& name = columns.names()[column];
    if (column++ > 0) to += ',';
    if (v && is_within && v->is_null())
      to += "null";
    else if (v && !write_cell(to, *v))
      losses.broken_line = &name;
  });
  if (to.size() == begin) to += "null";  // an empty line would be no row
  to += '\n';
  return losses;
}

class recorder : public process {
  record_in values{this, "values", exclusive_port, "what to record"};
  record_out written{this, "written", optional_port, fields_like("values"),
                     "each record once it has been written to its file"};
  setting<std::string> folder{this, "folder", required, "where the files are; made if it is not there",
                              validated_by(validate_folder)};
  setting<std::string> prefix{this, "prefix", "records", "files are named PREFIX-000001.csv and so on",
                              validated_by(validate_file_prefix)};
  setting<line_format> format{this, "format", line_format::csv,
                              "csv with a head line, or json: an object in each line"};
  field_setting<std::vector<std::string>> fields{this,
                                                 "fields",
                                                 "values",
                                                 value_kind::any,
                                                 std::vector<std::string>(),
                                                 "what to record, in this order; none: all",
                                                 validated_by(validate_columns)};
  setting<byte_size> rotate_size{this, "rotate_size", byte_size{16 << 20},
                                 "a file that would grow over it is followed by the next; 0: never",
                                 between(byte_size{0}, byte_size{std::uint64_t{1} << 50})};
  setting<nanoseconds> rotate_every{this, "rotate_every", 0s,
                                    "a new file each hour, day, ... of UTC; 0: never",
                                    between<nanoseconds>(0s, 8760h)};
  setting<std::int64_t> keep{this, "keep", 0, "so many files are kept, the oldest removed; 0: all",
                             between(0, 1'000'000)};
  setting<nanoseconds> flush{this, "flush", 0s, "how long a record may wait to be written; 0: not at all",
                             between<nanoseconds>(0s, 1h)};
  setting<bool> sync{this, "sync", false, "wait for the disk at each write (fdatasync)"};
  setting<when_full> full{this, "full", when_full::wait,
                          "a full disk or another error: wait for room, drop records meanwhile, or fail"};
  setting<nanoseconds> retry{this, "retry", 1s, "how soon to try again after an error",
                             between<nanoseconds>(1ms, 1h)};
  errors told{this,
              {{"a full disk or quota, or another error while it writes",
                "logged; as `full` says it waits, drops and counts records, or fails"},
               {"a folder or file that cannot be made or opened at the start",
                "the process fails, unless the disk is full"},
               {"a file or folder that is removed", "logged, and made again"},
               {"a file that another recorder writes to", "the process fails"},
               {"a link, pipe or device with the name of a file", "it is passed over"},
               {"an unfinished line at the end of the last file", "cut off and logged"},
               {"a record with a field that has no column",
                "a new file with a column more, which is logged; for `keep` both count as one"},
               {"more than 1024 columns, or 64 KiB of their names",
                "further fields are left out, counted and logged"},
               {"a csv record without any field", "dropped, counted and logged"},
               {"a line break within a text of a csv record", "written as \\n or \\r, counted and logged"},
               {"all readers of `written` have ended", "it goes on recording"}}};

  void run() override {
    columns_ = csv_columns(*fields);
    for (const std::string& name : *fields) chosen_.push_back(field_path::named(name));
    files_.emplace(numbered_files::options{.folder = *folder,
                                           .prefix = *prefix,
                                           .extension = *format == line_format::csv ? "csv" : "jsonl",
                                           .keep = static_cast<std::uint64_t>(*keep),
                                           .sync = *sync,
                                           .heads = *format == line_format::csv && fields->empty(),
                                           .size = rotate_size->bytes,
                                           .period = *rotate_every});
    in_hand taken_records(this, values);
    hand_ = &taken_records;
    try_to_open();
    record_all();
    write_out();
    if (dropped_ > 0) log_error("stock", "{}: {} records could not be written", name(), dropped_);
  }

  // What will not become better by waiting is a failure; the supervisor knows how often to try.
  void try_to_open() {
    try {
      open();
    } catch (const std::system_error& e) {
      files_->close();
      if (!is_full(e.code())) throw;
      (void)attempt([&] { open(); });
    }
  }
  static bool is_full(std::error_code ec) noexcept {
    return ec == std::errc::no_space_on_device || ec == std::error_code(EDQUOT, std::system_category());
  }

  void record_all() {
    for (;;) {
      std::optional<record> r;
      const recv_status s = values.recv(r, lines_.empty() ? deadline::never() : deadline(write_at_));
      if (r) {
        take(std::move(*r));
      } else if (s != recv_status::timeout) {
        return;
      }
      if (!lines_.empty() && (lines_.size() >= most_unwritten || write_at_ <= now())) write_out();
    }
  }

  void take(record r) {
    hand_->add();
    if (*format == line_format::csv) see_columns(r);
    if (*format == line_format::csv && columns_.empty()) {
      hand_->settle(1);
      return empty_.add("a record without any field");
    }
    // The next receive would acknowledge what is not written yet.
    const bool gathers = *flush > 0ns && !values.at_least_once();
    if (lines_.empty()) write_at_ = gathers ? saturating_add(now(), *flush) : time_point{};
    if (*format == line_format::csv) {
      const csv_losses losses = append_csv(lines_, r, columns_);
      if (losses.broken_line)
        changed_.add("a line break in '" + *losses.broken_line + "' is written as \\n or \\r");
      if (const std::size_t n = losses.left_out; n > 0 && fields->empty())
        left_out_.add("'" + columns_.left_out(r) + "', above " + std::to_string(most_columns) +
                          " columns or 64 KiB of their names",
                      n);
    } else if (chosen_.empty()) {
      shapes::write_json(shape_of<record>(), &r, lines_);
      lines_ += '\n';
    } else {
      record chosen;
      for (const field_path& p : chosen_)
        if (const field_value* const v = p.find(r)) p.put(chosen, *v);
      lines_ += to_json(chosen) + '\n';
    }
    ++in_lines_;
    if (written.connected()) waiting_.push_back(std::move(r));
  }

  // A record with further fields begins a file with more columns; no column is lost again, so that records of
  // several kinds do not begin a file each.
  void see_columns(const record& r) {
    if (!fields->empty()) return;
    // Whether there is a file with columns to go on with must be known first.
    if (columns_.empty() && !files_->is_open()) (void)attempt([&] { open(); });
    std::vector<std::string> more = columns_.names();
    std::size_t head = 0;
    for (const std::string& name : more) head += name.size() + 1;
    for (std::string& name : columns_.missing_in(r, csv_columns::within::counts)) {
      if (more.size() == most_columns || head + name.size() >= longest_head) continue;
      head += name.size() + 1;
      more.push_back(std::move(name));
    }
    if (more.size() == columns_.size()) return;
    write_out();
    if (!columns_.empty() && files_->size() > 0)
      log_notice("stock", "{}: a record has other fields; going on in a new file", name());
    columns_ = csv_columns(std::move(more));
    other_columns_ = files_->size() > 0;
  }

  // The last file if it fits, else the next.
  void open() {
    const numbered_files::found f = files_->open_last();
    if (f.cut > 0)
      log_notice("stock", "{}: cut {} bytes of an unfinished line off {}", name(), f.cut, files_->path());
    period_ = f.changed_ns != 0 ? period_of(f.changed_ns) : this_period();
    other_columns_ = false;
    if (*format != line_format::csv || files_->size() == 0) return;
    std::vector<std::string> there = read_csv_head(f.first_line);
    if (there.empty()) {
      other_columns_ = true;
    } else if (columns_.empty()) {
      columns_ = csv_columns(std::move(there));
    } else {
      other_columns_ = there != columns_.names();
    }
  }

  void write() {
    // Once more if somebody removes the file under our hands.
    for (int tries = 0; tries < 3; ++tries) {
      if (!files_->is_open()) open();
      const std::uint64_t size = files_->size();
      const bool too_large =
          rotate_size->bytes > 0 && files_->size_together() + lines_.size() > rotate_size->bytes;
      const bool regular = too_large || period_ != this_period();
      if (size > 0 && (regular || other_columns_)) {
        files_->open_next(regular ? numbered_files::reason::regular : numbered_files::reason::more_columns);
        other_columns_ = false;
      }
      period_ = this_period();
      const bool needs_head = *format == line_format::csv && files_->size() == 0;
      const auto done = files_->append(needs_head ? csv_head(columns_.names()) + lines_ : lines_);
      if (done == numbered_files::appended::yes) return;
      log_warning("stock", "{}: {} was removed; going on with another", name(), files_->path());
    }
    throw std::system_error(ENOENT, std::system_category(), "write to " + files_->path());
  }

  void write_out() {
    if (lines_.empty()) return;
    const bool done = attempt([&] { write(); });
    const std::uint64_t n = std::exchange(in_lines_, 0);
    lines_.clear();
    std::vector<record> waiting = std::exchange(waiting_, {});
    if (done) {
      hand_->settle(n);
      for (record& r : waiting) (void)written.send(std::move(r));
    } else {
      dropped_ += n;
      if (!stop_requested()) hand_->lose(n);  // else they are logged at the end
    }
  }

  // False: given up, as `full` says or because of a stop.
  template <class F>
  bool attempt(F f) {
    if (failing_ && *full == when_full::drop && now() < next_try_ && !stop_requested()) return false;
    for (;;) {
      try {
        f();
        if (failing_) log_notice("stock", "{}: writing again, {} records dropped", name(), dropped_);
        failing_ = false;
        return true;
      } catch (const std::system_error& e) {
        files_->close();
        if (*full == when_full::fail) throw;
        if (!failing_)
          log_error("stock", "{}: cannot {}; {}", name(), e.what(),
                    *full == when_full::wait ? "waiting" : "dropping records");
        failing_ = true;
      }
      next_try_ = saturating_add(now(), *retry);
      if (*full == when_full::drop || sleep_for(*retry) == sleep_result::stopped) return false;
    }
  }

  std::int64_t period_of(std::int64_t since_1970) const noexcept {
    return *rotate_every > 0ns ? since_1970 / rotate_every->count() : 0;
  }
  std::int64_t this_period() const noexcept { return period_of(moment_now().time_since_epoch().count()); }

  std::optional<numbered_files> files_;
  csv_columns columns_;
  std::vector<field_path> chosen_;  // `fields`
  bool other_columns_ = false;      // than those of the file
  std::int64_t period_ = 0;         // of the file
  std::string lines_;               // to be written
  std::uint64_t in_lines_ = 0;      // records of them
  in_hand* hand_ = nullptr;
  std::vector<record> waiting_;  // the same, for `written`
  time_point write_at_{};
  bool failing_ = false;
  complaints left_out_{*this, "left out"}, changed_{*this, "changed"},
      empty_{*this, "dropped", complaints::ledger::lost};
  time_point next_try_{};
  std::uint64_t dropped_ = 0;
};
LEAT_PROCESS(recorder, "writes records to files, as CSV or JSON lines");
LEAT_USES_OUTSIDE("recorder", outside::files, "it writes files");

}  // namespace
}  // namespace leat::stock
