// SPDX-License-Identifier: BSL-1.0
//
// Regular files. The system can only block on them, so each call is a declared blocking one (leat::blocking):
// the thread waits for the disk, the P runs other Gs. Hence no deadlines, and a stop does not cut them short.
//
//   std::string text = leat::net::read_file("/etc/hostname");
//   leat::net::write_file("state.json", text, {.atomic = true});
//
// All throw std::system_error that names the path. Gs may share a file: reads and writes say where they go,
// and an append goes to the end as one piece as far as the file system keeps to that.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <leat/net/bytes.hpp>

namespace leat::net {

enum class open_mode : std::uint8_t {
  read = 1,
  write = 2,
  create = 4,     // if it is not there
  exclusive = 8,  // with create: it must not be there
  truncate = 16,
};
constexpr open_mode operator|(open_mode a, open_mode b) noexcept {
  return static_cast<open_mode>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(open_mode m, open_mode part) noexcept {
  return (static_cast<unsigned>(m) & static_cast<unsigned>(part)) != 0;
}

class file {
 public:
  file() noexcept = default;
  explicit file(std::string path, open_mode mode = open_mode::read, unsigned permissions = 0644);
  file(file&& other) noexcept;
  file& operator=(file&& other) noexcept;
  ~file() { close(); }

  // As much as there is up to into.size; less only at the end of the file.
  std::size_t read_at(std::uint64_t offset, mutable_bytes into) const;
  // All of it.
  void write_at(std::uint64_t offset, const_bytes from);
  void append(const_bytes from);
  void resize(std::uint64_t size);
  // Returns when the data, and what is needed to find it, is on the disk.
  void sync();
  std::uint64_t size() const;

  void close() noexcept;
  bool is_open() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  const std::string& path() const noexcept { return path_; }

 private:
  int fd_ = -1;
  std::string path_;
};

// All of it; also of files that do not know their size, such as those in /proc. More than `limit` bytes are
// an error (file_too_large).
std::string read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);

struct write_options {
  // The old contents stay until the new are on the disk; then they change as one. The directory must be
  // writable. The permissions of an old file are kept; a link stays one, and its target is replaced.
  bool atomic = false;
  bool sync = false;            // atomic ones always are
  unsigned permissions = 0644;  // of a new file
};
void write_file(const std::string& path, const_bytes data, const write_options& options = {});

}  // namespace leat::net
