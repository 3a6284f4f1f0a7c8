// SPDX-License-Identifier: BSL-1.0
//
// A row of files FOLDER/PREFIX-000001.EXT, ...-000002.EXT, of which the last is appended to, whole lines at a
// time. Whoever is killed at any moment leaves at most the beginning of a line at the end of that file, and
// the next one to go on with it cuts that off.
//
// Calls that touch the disk are declared blocking ones and throw std::system_error that names the path; after
// that the file is as before the call, or is made so before the next write. Not installed.
#pragma once
#include <cstdint>
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
  };
  // What was found in the last file.
  struct found {
    std::string first_line;       // empty: it has none
    std::uint64_t cut = 0;        // bytes of a line without its end
    std::int64_t changed_ns = 0;  // its last change, since 1970
  };
  enum class appended : std::uint8_t { yes, file_is_gone };

  explicit numbered_files(options o) : o_(std::move(o)) {}
  ~numbered_files() { close(); }
  numbered_files(const numbered_files&) = delete;
  numbered_files& operator=(const numbered_files&) = delete;

  // Makes the folder; opens its last file, or a first one. Throws std::runtime_error if another recorder
  // writes to it.
  found open_last();
  void open_next();
  // One write. If somebody has removed the file, it is closed and nothing was written.
  appended append(std::string_view lines);
  void close() noexcept;

  bool is_open() const noexcept { return fd_ >= 0; }
  std::uint64_t size() const noexcept { return size_; }
  const std::string& path() const noexcept { return path_; }

 private:
  void open(std::uint64_t number, bool fresh);
  void adopt(int fd, std::string path);
  std::string path_of(std::uint64_t number) const;
  void prune() const;

  options o_;
  int fd_ = -1;
  std::uint64_t number_ = 0;  // of the last file
  std::uint64_t size_ = 0;    // of whole lines
  bool torn_ = false;         // there may be more behind them
  std::string path_;
};

}  // namespace leat::stock
