// SPDX-License-Identifier: BSL-1.0
//
// A row of files FOLDER/PREFIX-000001.EXT, ...-000002.EXT, of which the last is appended to, whole lines at a
// time. Whoever is killed at any moment leaves at most the beginning of a line at the end of that file, and
// the next one to go on with it cuts that off.
//
// A file that only has more columns than the one before goes on with it: both count as one for `keep`, so
// that records with new fields, which anybody may send, push no older file out. Which files belong together
// is read from them, so that it is known after a restart too: the head of the next has that of the last at
// its beginning, both are of one period, and together they hold no more than one file may. Heads do not count
// for that: with many columns they are larger than the records that bring them. The number of such files is
// bounded by that of columns.
//
// Nothing but regular files is read or written: a link with such a name is passed over.
//
// Calls that touch the disk are declared blocking ones and throw std::system_error that names the path; after
// that the file is as before the call, or is made so before the next write. Not installed.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>

namespace leat::stock {

class numbered_files {
 public:
  struct options {
    std::string folder, prefix, extension;
    std::uint64_t keep = 0;  // older ones are removed; 0: none
    bool sync = false;       // each append is on the disk when it returns
    // What tells files that belong together, if their first lines are heads of columns:
    bool heads = false;
    std::uint64_t size = 0;  // most bytes of them; 0: any number
    nanoseconds period{0};   // 0: any time
  };
  // What was found in the last file.
  struct found {
    std::string first_line;       // empty: it has none
    std::uint64_t cut = 0;        // bytes of a line without its end
    std::int64_t changed_ns = 0;  // its last change, since 1970
  };
  enum class appended : std::uint8_t { yes, file_is_gone };
  enum class reason : std::uint8_t { regular, more_columns };

  explicit numbered_files(options o) : o_(std::move(o)) {}
  ~numbered_files() { close(); }
  numbered_files(const numbered_files&) = delete;
  numbered_files& operator=(const numbered_files&) = delete;

  // Makes the folder; opens its last file, or a first one. Throws std::runtime_error if another recorder
  // writes to it.
  found open_last();
  void open_next(reason why);
  // One write. If somebody has removed the file, it is closed and nothing was written.
  appended append(std::string_view lines);
  void close() noexcept;

  bool is_open() const noexcept { return fd_ >= 0; }
  std::uint64_t size() const noexcept { return size_; }
  // With what those hold that it goes on with, as far as this object has written them.
  std::uint64_t size_together() const noexcept { return before_ + size_; }
  const std::string& path() const noexcept { return path_; }

 private:
  void open(std::uint64_t number, bool fresh);
  void open_fresh();
  bool goes_on(std::uint64_t number, std::uint64_t last, std::uint64_t& together) const;
  void adopt(int fd, std::string path);
  std::string path_of(std::uint64_t number) const;
  void prune();

  options o_;
  int fd_ = -1;
  std::uint64_t number_ = 0;  // of the last file
  std::uint64_t size_ = 0;    // of whole lines
  std::uint64_t head_ = 0;    // of them: the first, if it is a head
  std::uint64_t before_ = 0;  // in the files that this one goes on with, without their heads
  bool torn_ = false;         // there may be more behind them
  std::string path_;
  std::map<std::uint64_t, bool> goes_on_;  // by number, as far as it is known
};

}  // namespace leat::stock
