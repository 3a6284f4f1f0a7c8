// SPDX-License-Identifier: BSL-1.0
//
// Records wait in `batch_` until their transaction is through, so that it can be tried again as a whole.
#include <algorithm>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/process/outside.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/sqlite_table.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(sqlite_writer)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

enum class on_trouble : std::uint8_t { wait, drop, fail };
LEAT_ENUM(on_trouble, wait, drop, fail);

std::string validate_database(const std::string& text) {
  if (text.starts_with(":memory:") || text.starts_with("file:")) return "expected the path of a file";
  return validate_folder(text);
}

std::string validate_table(const std::string& text) {
  if (text.empty() || text.find('\0') != text.npos) return "the name of a table is missing";
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  constexpr std::string_view reserved = "sqlite_";
  const bool own = text.size() >= reserved.size() &&
                   std::equal(text.begin(), text.begin() + 6, reserved.begin(), same) && text[6] == '_';
  return own ? "names that begin with sqlite_ are SQLite's own" : std::string();
}

std::vector<setting_diagnostic> validate_table_columns(const value& all) {
  const auto* const list = all.get_if<value::list>();
  if (!list) return {};
  if (list->size() > most_columns) return {{"more than " + std::to_string(most_columns) + " columns"}};
  std::vector<setting_diagnostic> wrong;
  std::unordered_set<std::string> known;
  for (const value& v : *list) {
    const std::string* const name = text_in(v, "name");
    if (!name || name->empty()) {
      wrong.push_back({"`name` must be given", &v});
      continue;
    }
    if (std::string why = validate_column_name(*name); !why.empty())
      wrong.push_back({std::move(why), v.find("name")});
    std::string small = *name;
    std::transform(small.begin(), small.end(), small.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (!known.insert(small).second)
      wrong.push_back({"two columns are called " + leat::in_quotes(*name), &v});
  }
  return wrong;
}

std::vector<setting_diagnostic> validate_unique(const value& names) {
  std::vector<setting_diagnostic> wrong = validate_columns(names);
  if (const auto* const all = names.get_if<value::list>())
    for (const value& v : *all)
      if (const auto* const name = v.get_if<std::string>(); name && !name->empty())
        if (std::string why = validate_column_name(*name); !why.empty())
          wrong.push_back({std::move(why), &v});
  return wrong;
}

std::vector<needed_field> fields_for_table(const value& settings) {
  std::vector<needed_field> all;
  if (const value::list* const columns = list_in(settings, "columns"))
    for (const value& v : *columns)
      for (const char* const by : {"field", "name"})
        if (const std::string* const name = text_in(v, by); name && !name->empty()) {
          all.push_back({*name, value_kind::any, v.find(by)});
          break;
        }
  return all;
}

class sqlite_writer : public process {
  record_in values{this, "values", exclusive_port, needs_by(fields_for_table), "what to write"};
  setting<std::string> database{this, "database", required, "the file; made if it is not there",
                                validated_by(validate_database)};
  setting<std::string> table{this, "table", "records", "made if it is not there",
                             validated_by(validate_table)};
  setting<std::vector<table_column>> columns{this, "columns", std::vector<table_column>(),
                                             "each { name = \"value\", type = \"real\" }; type is any, text, "
                                             "integer or real. None: fields become columns as "
                                             "they come",
                                             validated_by(validate_table_columns)};
  field_setting<std::vector<std::string>> unique{
      this,
      "unique",
      "values",
      value_kind::any,
      std::vector<std::string>(),
      "a record takes the place of one that is alike in these; of a table that is made here",
      validated_by(validate_unique)};
  setting<std::int64_t> keep{
      this, "keep", 0, "so many rows are kept, the oldest removed, up to a hundredth of them at once; 0: all",
      between<std::int64_t>(0, 1'000'000'000'000)};
  setting<std::int64_t, live> batch{this, "batch", 100, "records in a transaction, at most",
                                    between(1, 100'000)};
  setting<nanoseconds, live> within{this, "within", 1s,
                                    "how long a record waits for others of its transaction",
                                    between<nanoseconds>(0s, 1h)};
  setting<bool> wal{this, "wal", true, "a write-ahead log: who reads does not hold up who writes"};
  setting<bool> sync{this, "sync", false, "wait for the disk at each transaction"};
  setting<nanoseconds, live> busy{this, "busy", 5s,
                                  "how long somebody else may write before that is an error",
                                  between<nanoseconds>(0s, 1h)};
  setting<on_trouble> full{
      this, "full", on_trouble::wait,
      "a full disk, a lasting lock or another error: try again, drop records meanwhile, or fail"};
  setting<nanoseconds, live> retry{this, "retry", 1s, "how soon to try again after an error",
                                   between<nanoseconds>(1ms, 1h)};
  rejects bad{this, "a record without any field, or one that a rule of the table refuses"};
  errors told{
      this,
      {{"a full disk, another error of it, or a database that others lock for longer than `busy`",
        "logged; as `full` says it tries again, drops and counts records, or fails"},
       {"a database that cannot be opened at the start, or a file that is none", "the process fails"},
       {"a file that is removed or replaced", "logged, and made again"},
       {"a field without a column", "a column is added; with `columns` it is left out, counted and logged"},
       {"a field whose name is empty, has a zero byte or more than 256 bytes, or is rowid, oid or _rowid_",
        "it is left out, counted and logged, unless the table has such a column"},
       {"more than 1024 columns", "further fields are left out, counted and logged"},
       {"two fields whose names differ in capitals alone", "the second is left out, counted and logged"},
       {"a stop or a failure before a transaction is through",
        "its records are lost, counted and logged; with delivery = \"at-least-once\" each is a "
        "transaction"}}};

  std::vector<record> batch_;
  complaints left_out_{*this, "left out"}, dropped_{*this, "dropped", complaints::ledger::lost};
  bool failing_ = false;
  time_point next_try_{};

  void run() override {
    sqlite_table to({.database = *database,
                     .table = *table,
                     .columns = *columns,
                     .unique = *unique,
                     .keep = static_cast<std::uint64_t>(*keep),
                     .wal = *wal,
                     .sync = *sync});
    open_first(to);
    in_hand hand(this, values);
    time_point end = never;
    for (;;) {
      std::optional<record> r;
      const recv_status got = values.recv(r, end);
      if (r) {
        hand.add();
        if (batch_.empty()) end = saturating_add(leat::now(), *within);
        batch_.push_back(std::move(*r));
      }
      // The next receive would acknowledge what is not written yet.
      const bool due =
          batch_.size() >= static_cast<std::size_t>(*batch) || leat::now() >= end || values.at_least_once();
      const bool last = got == recv_status::closed || got == recv_status::stopped;
      if (!batch_.empty() && (due || last)) {
        if (!write(to, hand)) return;
        end = never;
      }
      if (last) return;
    }
  }

  // What will not become better by waiting is a failure.
  void open_first(sqlite_table& to) {
    while (!attempt([&] { to.open(); }, true))
      if (stop_requested() || sleep_for(*retry) == sleep_result::stopped) return;
  }

  // False: it was stopped, and they are in hand still.
  bool write(sqlite_table& to, in_hand& hand) {
    if (failing_ && *full == on_trouble::drop && leat::now() < next_try_) return lose(hand), true;
    sqlite_table::result done;
    while (!attempt([&] { done = to.write(batch_); }, false)) {
      if (stop_requested()) return false;
      next_try_ = saturating_add(leat::now(), *retry);
      if (*full == on_trouble::drop) return lose(hand), true;
      if (sleep_for(*retry) == sleep_result::stopped) return false;
    }
    if (done.was_removed)
      log_warning("stock", "{}: {} was removed; going on with another", name(), *database);
    if (done.left_out > 0)
      left_out_.add("field " + leat::in_quotes(done.left_out_name) + " has no column", done.left_out);
    hand.settle(batch_.size() - done.records.size());
    batch_.clear();
    // With bad = "fail" it throws, and those that are left are lost with it.
    for (sqlite_table::refused& r : done.records) {
      bad.add(std::move(r.why));
      values.acknowledge();
      hand.settle(1);
    }
    return true;
  }

  void lose(in_hand& hand) {
    dropped_.add(why_, batch_.size());
    values.acknowledge();
    hand.settle();
    batch_.clear();
  }

  // False: it did not work, which is logged. Throws what is a failure.
  template <class F>
  bool attempt(F f, bool first) {
    const time_point begun = leat::now();
    for (nanoseconds pause = 5ms;; pause = std::min<nanoseconds>(2 * pause, 200ms)) {
      try {
        leat::blocking(f);
        if (failing_) log_notice("stock", "{}: writing again to {}", name(), *database);
        failing_ = false;
        return true;
      } catch (const sqlite_error& e) {
        why_ = e.what();
        const bool waits = e.is_busy() && saturating_sub(leat::now(), begun) < *busy;
        if (!waits) {
          if (*full == on_trouble::fail || !e.may_pass() || (first && !e.is_busy() && !failing_)) throw;
          if (!failing_)
            log_error("stock", "{}: cannot {}; {}", name(), why_,
                      *full == on_trouble::wait ? "trying again" : "dropping records");
          failing_ = true;
          return false;
        }
      }
      if (sleep_for(pause) == sleep_result::stopped) return false;
    }
  }

  std::string why_;  // of the last failure
};
LEAT_PROCESS_AS("sqlite-writer", sqlite_writer, "writes records to a table of an SQLite database");
LEAT_USES_OUTSIDE("sqlite-writer", outside::files, "it writes a database");

}  // namespace
}  // namespace leat::stock
