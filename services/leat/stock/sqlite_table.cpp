// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/sqlite_table.hpp>

#include <sqlite3.h>
#include <algorithm>
#include <array>

#include <leat/sched/blocking.hpp>

#include <leat/stock/line_format.hpp>

namespace leat::stock {
namespace {

constexpr std::size_t longest_name = 256;
// What SQLite calls the number of a row, unless a column has that name.
constexpr std::array<const char*, 3> row_numbers{"rowid", "oid", "_rowid_"};

std::string in_small_letters(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

// A name of SQL, whatever is in it.
std::string sql_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string sql_column(const table_column& c) {
  switch (c.type) {
    case column_type::text: return sql_name(c.name) + " TEXT";
    case column_type::integer: return sql_name(c.name) + " INTEGER";
    case column_type::real: return sql_name(c.name) + " REAL";
    case column_type::any: break;
  }
  return sql_name(c.name);
}

template <class T, class F>
std::string joined(const std::vector<T>& all, F text) {
  std::string list;
  for (const T& x : all) {
    if (!list.empty()) list += ", ";
    list += text(x);
  }
  return list;
}

// Numbers keep their type as columns without one do; a column of reals would make reals of whole numbers.
table_column column_for(const record::field& f) {
  const value_kind k = f.value.kind();
  table_column c;
  c.name = f.name;
  if (k == value_kind::text || k == value_kind::moment || k == value_kind::duration)
    c.type = column_type::text;
  return c;
}

void bind(sqlite3_stmt* s, int at, const field_value& v) {
  if (v.is_null()) {
    ::sqlite3_bind_null(s, at);
  } else if (const auto* const flag = std::get_if<bool>(&v)) {
    ::sqlite3_bind_int(s, at, *flag);
  } else if (const auto* const integer = std::get_if<std::int64_t>(&v)) {
    ::sqlite3_bind_int64(s, at, *integer);
  } else if (const auto* const real = std::get_if<double>(&v)) {
    ::sqlite3_bind_double(s, at, *real);
  } else if (const auto* const text = std::get_if<std::string>(&v)) {
    ::sqlite3_bind_text64(s, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  } else {
    const std::string other = to_text(v);  // moments and durations; JSON of what has parts
    ::sqlite3_bind_text64(s, at, other.data(), other.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
}

}  // namespace

std::string validate_column_name(std::string_view name) {
  if (name.empty()) return "a column without a name";
  if (name.find('\0') != name.npos) return "the name of a column has no zero byte";
  if (name.size() > longest_name)
    return "the name of a column has at most " + std::to_string(longest_name) + " bytes";
  const std::string small = in_small_letters(std::string(name));
  if (std::find(row_numbers.begin(), row_numbers.end(), small) != row_numbers.end())
    return leat::in_quotes(name) + " is SQLite's name for the number of a row";
  return {};
}

sqlite_table::sqlite_table(options o) : options_(std::move(o)) {
  for (const table_column& c : options_.columns)
    paths_.push_back(field_path::named(c.field.empty() ? c.name : c.field));
}

sqlite_table::~sqlite_table() {
  // The last one who closes it writes the log to the file.
  if (db_) leat::blocking([this] { close(); });
}

bool sqlite_error::is_of_statement() const noexcept {
  return code_ == SQLITE_ERROR || code_ == SQLITE_TOOBIG;
}
bool sqlite_error::is_busy() const noexcept { return code_ == SQLITE_BUSY || code_ == SQLITE_LOCKED; }
bool sqlite_error::may_pass() const noexcept {
  return is_busy() || code_ == SQLITE_FULL || code_ == SQLITE_IOERR || code_ == SQLITE_CANTOPEN ||
         code_ == SQLITE_READONLY || code_ == SQLITE_NOMEM;
}

void sqlite_table::fail(int code, std::string_view doing) const {
  const char* const why = db_ ? ::sqlite3_errmsg(db_) : ::sqlite3_errstr(code);
  throw sqlite_error(code & 0xff, std::string(doing) + ' ' + options_.database + ": " + why);
}

void sqlite_table::run(const std::string& sql) const {
  if (const int code = ::sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(code, "write to");
}

sqlite_table::statement sqlite_table::prepare(const std::string& sql) const {
  sqlite3_stmt* s = nullptr;
  if (const int code = ::sqlite3_prepare_v2(db_, sql.c_str(), static_cast<int>(sql.size()), &s, nullptr);
      code != SQLITE_OK)
    fail(code, "write to");
  return {s, ::sqlite3_finalize};
}

void sqlite_table::open() {
  close();
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (const int code = ::sqlite3_open_v2(options_.database.c_str(), &db_, flags, nullptr);
      code != SQLITE_OK) {
    try {
      fail(code, "open");
    } catch (...) {
      close();
      throw;
    }
  }
  try {
    // It answers at once, and the caller waits, who can be stopped.
    ::sqlite3_busy_timeout(db_, 0);
    run(options_.wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
    run(options_.sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    read_columns();
    if (!options_.columns.empty()) {
      run("BEGIN IMMEDIATE");
      if (!made_) make_table(options_.columns);
      for (const table_column& c : options_.columns)
        if (!index_.contains(in_small_letters(c.name))) add_column(c);
      run("COMMIT");
    }
  } catch (...) {
    close();
    throw;
  }
}

void sqlite_table::close() noexcept {
  insert_.reset();
  ::sqlite3_close(db_);
  db_ = nullptr;
  made_ = false;
  until_removal_ = 0;
  columns_.clear();
  index_.clear();
}

void sqlite_table::read_columns() {
  columns_.clear();
  index_.clear();
  insert_.reset();
  const statement s = prepare("SELECT name FROM pragma_table_info(?)");
  ::sqlite3_bind_text64(s.get(), 1, options_.table.data(), options_.table.size(), SQLITE_STATIC, SQLITE_UTF8);
  int code = SQLITE_OK;
  while ((code = ::sqlite3_step(s.get())) == SQLITE_ROW) {
    columns_.emplace_back(reinterpret_cast<const char*>(::sqlite3_column_text(s.get(), 0)));
    index_.emplace(in_small_letters(columns_.back()), columns_.size() - 1);
  }
  if (code != SQLITE_DONE) fail(code, "read");
  made_ = !columns_.empty();
}

void sqlite_table::make_table(const std::vector<table_column>& columns) {
  run("CREATE TABLE IF NOT EXISTS " + sql_name(options_.table) + " (" + joined(columns, sql_column) + ")");
  if (!options_.unique.empty())
    run("CREATE UNIQUE INDEX IF NOT EXISTS " + sql_name(options_.table + " unique") + " ON " +
        sql_name(options_.table) + " (" + joined(options_.unique, sql_name) + ")");
  read_columns();
}

void sqlite_table::add_column(const table_column& c) {
  run("ALTER TABLE " + sql_name(options_.table) + " ADD COLUMN " + sql_column(c));
  index_.emplace(in_small_letters(c.name), columns_.size());
  columns_.push_back(c.name);
  insert_.reset();
}

void sqlite_table::see_fields(const record& r, result& to) {
  if (!options_.columns.empty()) return;
  const auto leave_out = [&](const record::field& f) {
    ++to.left_out;
    to.left_out_name = f.name.substr(0, longest_name);
  };
  std::vector<table_column> fresh;
  std::vector<std::string> names;  // of this record, in small letters
  for (const record::field& f : r) {
    std::string name = in_small_letters(f.name);
    const bool twice = std::find(names.begin(), names.end(), name) != names.end();
    if (!twice && !index_.contains(name)) {
      if (!validate_column_name(f.name).empty() || columns_.size() + fresh.size() >= most_columns) {
        leave_out(f);
      } else {
        fresh.push_back(column_for(f));
      }
    } else if (twice) {
      leave_out(f);
    }
    names.push_back(std::move(name));
  }
  if (fresh.empty()) return;
  run("SAVEPOINT columns");
  if (made_) {
    for (const table_column& c : fresh) add_column(c);
  } else {
    // Those that decide which record replaces which are there from the beginning.
    for (const std::string& u : options_.unique) {
      table_column c;
      c.name = u;
      if (std::none_of(fresh.begin(), fresh.end(), [&](const table_column& f) {
            return in_small_letters(f.name) == in_small_letters(u);
          }))
        fresh.push_back(std::move(c));
    }
    make_table(fresh);
  }
  run("RELEASE columns");
}

// "" or why the table does not take its columns.
std::string sqlite_table::take_fields(const record& r, result& to) {
  for (bool again = false;; again = true) {
    const std::uint64_t left_out = to.left_out;
    try {
      see_fields(r, to);
      return {};
    } catch (const sqlite_error& e) {
      if (!e.is_of_statement()) throw;
      run("ROLLBACK TO columns");
      run("RELEASE columns");
      // Somebody else may have changed the table.
      read_columns();
      to.left_out = left_out;
      if (again) return e.what();
    }
  }
}

void sqlite_table::bind_fields(const record& r) {
  std::vector<bool> bound(columns_.size());
  for (const record::field& f : r) {
    const auto at = index_.find(in_small_letters(f.name));
    if (at == index_.end() || bound[at->second]) continue;
    bound[at->second] = true;
    bind(insert_.get(), static_cast<int>(at->second) + 1, f.value);
  }
}

void sqlite_table::bind_declared(const record& r, result& to) {
  for (std::size_t i = 0; i < paths_.size(); ++i)
    if (const field_value* const v = paths_[i].find(r))
      bind(insert_.get(), static_cast<int>(index_.at(in_small_letters(options_.columns[i].name))) + 1, *v);
  for (const record::field& f : r) {
    const auto leads_in = [&](const field_path& p) {
      const std::string& text = p.text();
      return text.starts_with(f.name) &&
             (text.size() == f.name.size() || text[f.name.size()] == '.' || text[f.name.size()] == '[');
    };
    if (std::any_of(paths_.begin(), paths_.end(), leads_in)) continue;
    ++to.left_out;
    to.left_out_name = f.name.substr(0, longest_name);
  }
}

void sqlite_table::insert(const record& r, std::size_t number, result& to) {
  if (std::string why = take_fields(r, to); !why.empty())
    return to.records.push_back({number, std::move(why)});
  if (columns_.empty()) return to.records.push_back({number, "a record without any field"});
  if (!insert_)
    insert_ =
        prepare("INSERT OR REPLACE INTO " + sql_name(options_.table) + " (" + joined(columns_, sql_name) +
                ") VALUES (" + joined(columns_, [](const std::string&) { return std::string("?"); }) + ")");
  ::sqlite3_clear_bindings(insert_.get());
  if (options_.columns.empty()) {
    bind_fields(r);
  } else {
    bind_declared(r, to);
  }
  const int code = ::sqlite3_step(insert_.get()) & 0xff;
  std::string why = code == SQLITE_DONE ? std::string() : ::sqlite3_errmsg(db_);
  ::sqlite3_reset(insert_.get());
  if (code == SQLITE_DONE) return;
  if (code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH || code == SQLITE_TOOBIG || code == SQLITE_RANGE)
    return to.records.push_back({number, std::move(why)});
  throw sqlite_error(code, "write to " + options_.database + ": " + why);
}

// Numbers of rows have gaps where rows replaced others or somebody removed some, so rows are counted, which
// takes as long as there are many. Hence not each time.
void sqlite_table::remove_oldest(std::size_t written) {
  if (options_.keep == 0 || !made_) return;
  if (until_removal_ > written) {
    until_removal_ -= written;
    return;
  }
  until_removal_ = options_.keep / 100;
  const auto number = std::find_if(row_numbers.begin(), row_numbers.end(),
                                   [&](const char* name) { return !index_.contains(name); });
  if (number == row_numbers.end())
    throw sqlite_error(SQLITE_ERROR, "keep rows of " + options_.database +
                                         ": columns have all the names that the number of a row has");
  const std::string table = sql_name(options_.table), n = *number;
  run("DELETE FROM " + table + " WHERE " + n + " <= (SELECT " + n + " FROM " + table + " ORDER BY " + n +
      " DESC LIMIT 1 OFFSET " + std::to_string(options_.keep) + ")");
}

void sqlite_table::write_all(const std::vector<record>& records, result& to) {
  for (std::size_t i = 0; i < records.size(); ++i) insert(records[i], i, to);
  remove_oldest(records.size());
}

sqlite_table::result sqlite_table::write(const std::vector<record>& records) {
  result to;
  int moved = 0;
  if (db_ && ::sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0) {
    to.was_removed = true;
    close();
  }
  if (!db_) open();
  run("BEGIN IMMEDIATE");
  try {
    write_all(records, to);
    run("COMMIT");
  } catch (...) {
    // Columns that were added are none any more.
    (void)::sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    close();
    throw;
  }
  return to;
}

}  // namespace leat::stock
