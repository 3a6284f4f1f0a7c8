// SPDX-License-Identifier: BSL-1.0
//
// The values of one channel in an SQLite database: a log of numbered values, appended at the end and removed when they
// have been dealt with. No threads, no clock; every call blocks (leat::blocking), and one thread calls at a time.
//
//   table value        number, body       a value as CBOR; numbers rise in the order of the sends
//   table unreadable   number, body       values that could not be read back, for people to look at
//   table about        name, content      "channel", "shape" (store_shape.hpp), and "synced", a count
//   application_id     "LEAT";  user_version  the version of this layout
//
// The database is in WAL mode, and each write is one transaction: after a crash all of it is there or nothing. A write
// that is not asked to sync leaves it to the system when it reaches the disk; a later one that is takes all before it
// along. After a power cut the transactions that reached the disk are there, in order, without a gap.
//
// A file that is not ours, of another channel, of a later layout, of another shape or damaged is refused, and left as
// it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace leat::store {

class store_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class store_file {
 public:
  // What a value takes beside its bytes, nearly.
  static constexpr std::uint64_t overhead = 16;

  struct identity {
    std::string channel = {};  // "climate/raw"
    std::string shape = {};    // shape_text
  };
  struct content {
    std::uint64_t values = 0, bytes = 0;  // with the overhead
    std::uint64_t first = 0, last = 0;    // numbers
    std::vector<std::string> added = {};  // fields that values in the file may lack
  };
  struct row {
    std::uint64_t number = 0;
    std::vector<std::uint8_t> body = {};
  };
  struct entry {
    std::uint64_t number = 0;
    std::span<const std::uint8_t> body = {};
  };
  // A row of numbers, both ends with it; not all need be there.
  struct numbers {
    numbers(std::uint64_t only) noexcept : first(only), last(only) {}  // NOLINT(google-explicit-constructor)
    numbers(std::uint64_t from, std::uint64_t to) noexcept : first(from), last(to) {}
    std::uint64_t first, last;
  };
  struct batch {
    std::vector<entry> append = {};
    std::vector<numbers> remove = {};
    std::vector<std::uint64_t> set_aside = {};  // to `unreadable`
    // After these: removes the oldest from `drop_from` on, until so many bytes are gone.
    std::uint64_t drop_from = 0, drop_bytes = 0;
    bool sync = false;
  };
  struct dropped {
    std::uint64_t values = 0, bytes = 0;
    std::uint64_t last = 0;  // number
  };

  // Opens it, or makes it. vfs: for tests; null: SQLite's own. Throws store_error, without the path.
  store_file(std::string path, const identity& whose, const char* vfs = nullptr);
  ~store_file();
  store_file(const store_file&) = delete;
  store_file& operator=(const store_file&) = delete;

  const std::string& path() const noexcept { return path_; }
  const content& at_open() const noexcept { return content_; }

  // One transaction. Throws store_error: nothing of it has been done.
  dropped write(const batch& b);
  // Values from this number on, until there are so many, and so many bytes. Throws store_error.
  std::vector<row> read(std::uint64_t from, std::size_t values, std::uint64_t bytes);

  // "climate.raw.store": what is not a letter, a digit, - or _ is written as %XX.
  static std::string file_name(std::string_view service, std::string_view channel);

 private:
  using statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

  [[noreturn]] void fail(std::string_view doing) const;
  void run(const char* sql, std::string_view doing) const;
  statement prepare(const char* sql) const;
  std::int64_t number_of(const char* sql) const;
  std::string about(const char* name) const;
  void set_about(const char* name, const std::string& text) const;
  void open(const char* vfs);
  void check_and_make(const identity& whose);
  void step(sqlite3_stmt* s, std::string_view doing) const;
  void remove(const numbers& n);
  dropped drop_oldest(std::uint64_t from, std::uint64_t bytes);
  void be_synced(bool on);

  const std::string path_;
  sqlite3* db_ = nullptr;
  statement append_{nullptr, nullptr}, set_aside_{nullptr, nullptr}, read_{nullptr, nullptr},
      sizes_{nullptr, nullptr}, drop_{nullptr, nullptr};
  content content_ = {};
  bool synced_ = false;      // as the connection is set
  std::uint64_t syncs_ = 0;  // of nothing but what came before
};

}  // namespace leat::store
