// SPDX-License-Identifier: BSL-1.0
//
// Records into a table of an SQLite database, several in one transaction. Every call blocks: leat::blocking. One thread
// at a time. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <leat/process/field_path.hpp>
#include <leat/process/record.hpp>
#include <leat/process/settings.hpp>

struct sqlite3;
struct sqlite3_stmt;

namespace leat::stock {

enum class column_type : std::uint8_t { any, text, integer, real };
LEAT_ENUM(column_type, any, text, integer, real);
struct table_column {
  std::string name;
  column_type type = column_type::any;
  std::string field = {};  // a path; empty: the name of the column
};
LEAT_SETTINGS(table_column, name, type, field);

// No column gets such a name: none at all, one that SQL cannot say, or one of those that SQLite has for the number of
// a row. "" or what is wrong.
std::string validate_column_name(std::string_view name);

// What SQLite answered.
class sqlite_error : public std::runtime_error {
 public:
  sqlite_error(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  // Somebody else writes.
  bool is_busy() const noexcept;
  // It may become better by waiting: a full disk, a disk that is gone, somebody else who writes.
  bool may_pass() const noexcept;
  // A statement that it does not take, of the table as it is.
  bool is_of_statement() const noexcept;

 private:
  int code_;  // without what SQLite calls its extension
};

class sqlite_table {
 public:
  struct options {
    std::string database = {};
    std::string table = {};
    std::vector<table_column> columns = {};  // empty: fields of records become columns as they come
    std::vector<std::string> unique = {};  // columns; a record takes the place of one that is alike in these
    std::uint64_t keep = 0;                // rows; 0: all
    bool wal = true, sync = false;
  };
  struct refused {
    std::size_t record;  // which of those given
    std::string why;
  };
  struct result {
    std::vector<refused> records = {};  // that the table does not take; the others are in it
    std::uint64_t left_out = 0;         // fields without a column
    std::string left_out_name = {};     // one of them
    bool was_removed = false;           // the file was, before these: they are in another with its name
  };

  explicit sqlite_table(options o);
  ~sqlite_table();  // declares itself that it blocks
  sqlite_table(const sqlite_table&) = delete;
  sqlite_table& operator=(const sqlite_table&) = delete;

  // All throw sqlite_error. Makes the database, and the table if its columns are given.
  void open();
  bool is_open() const noexcept { return db_ != nullptr; }
  void close() noexcept;
  // All of them and what was refused, or nothing at all.
  result write(const std::vector<record>& records);

 private:
  using statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

  [[noreturn]] void fail(int code, std::string_view doing) const;
  void run(const std::string& sql) const;
  statement prepare(const std::string& sql) const;
  void read_columns();
  void make_table(const std::vector<table_column>& columns);
  void add_column(const table_column& c);
  void see_fields(const record& r, result& to);
  std::string take_fields(const record& r, result& to);
  void bind_declared(const record& r, result& to);
  void bind_fields(const record& r);
  void insert(const record& r, std::size_t number, result& to);
  void remove_oldest(std::size_t written);
  void write_all(const std::vector<record>& records, result& to);

  const options options_;
  std::vector<field_path> paths_;  // of options_.columns
  sqlite3* db_ = nullptr;
  bool made_ = false;                // the table is there
  std::uint64_t until_removal_ = 0;  // so many more rows first
  // As the table has them; found by their names in small letters, as SQLite compares them.
  std::vector<std::string> columns_;
  std::unordered_map<std::string, std::size_t> index_;
  statement insert_{nullptr, nullptr};
};

}  // namespace leat::stock
