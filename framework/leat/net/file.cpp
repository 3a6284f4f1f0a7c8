// SPDX-License-Identifier: BSL-1.0
//
// errno belongs to a thread, and the G comes back on another one: what runs inside leat::blocking returns it.
#define _FILE_OFFSET_BITS 64  // off_t, on 32-bit systems
#include <leat/net/file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include <leat/sched/blocking.hpp>

namespace leat::net {
namespace {

[[noreturn]] void fail(int error, const char* what, const std::string& path) {
  throw std::system_error(error, std::system_category(), "leat::net: " + std::string(what) + " " + path);
}

// f() returns an error number, or 0.
template <class F>
void blocking_or_throw(const char* what, const std::string& path, F f) {
  if (const int error = leat::blocking(f)) fail(error, what, path);
}

// The functions below run on a thread of their own, inside leat::blocking.

int read_whole(int fd, std::uint64_t offset, mutable_bytes into, std::size_t& done) noexcept {
  done = 0;
  while (done < into.size) {
    const ssize_t n = ::pread(fd, into.data + done, into.size - done, static_cast<off_t>(offset + done));
    if (n == 0) return 0;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// `next(from)` writes some of it.
template <class F>
int write_whole(const_bytes from, F next) noexcept {
  while (from.size > 0) {
    const ssize_t n = next(from);
    if (n > 0) {
      from = from.after(static_cast<std::size_t>(n));
    } else if (n == 0) {
      return ENOSPC;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int write_sequence(int fd, const_bytes from) noexcept {
  return write_whole(from, [fd](const_bytes b) { return ::write(fd, b.data, b.size); });
}

// As one step, and without O_APPEND on the descriptor, which would move write_at to the end as well. Where
// that cannot be (devices, some file systems), in two.
int write_to_end(int fd, const_bytes from) noexcept {
  return write_whole(from, [fd](const_bytes b) {
    const iovec part{const_cast<char*>(b.data), b.size};
    const ssize_t n = ::pwritev2(fd, &part, 1, -1, RWF_APPEND);
    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return n;
    (void)::lseek(fd, 0, SEEK_END);
    return ::write(fd, b.data, b.size);
  });
}

int flags_of(open_mode m) noexcept {
  const bool reads = has(m, open_mode::read), writes = has(m, open_mode::write);
  int flags = O_CLOEXEC | (reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY);
  if (has(m, open_mode::create)) flags |= O_CREAT;
  if (has(m, open_mode::exclusive)) flags |= O_CREAT | O_EXCL;
  if (has(m, open_mode::truncate)) flags |= O_TRUNC;
  return flags;
}

int open_file(const std::string& path, int flags, unsigned permissions, int& fd) noexcept {
  do fd = ::open(path.c_str(), flags, static_cast<mode_t>(permissions));
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? errno : 0;
}

// What the path leads to, if it is there.
std::string target_of(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

int sync_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  // Some file systems cannot, and need not.
  const int error = ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  ::close(fd);
  return error;
}

int fill_new_file(int fd, const_bytes data, mode_t permissions) noexcept {
  if (const int error = write_sequence(fd, data)) return error;
  if (::fchmod(fd, permissions) != 0 || ::fsync(fd) != 0) return errno;
  return 0;
}

int replace_file(const std::string& path, const_bytes data, unsigned permissions) {
  const std::string target = target_of(path);
  struct stat old{};
  auto mode = static_cast<mode_t>(permissions);
  if (::stat(target.c_str(), &old) == 0) {
    if (!S_ISREG(old.st_mode)) return EINVAL;  // a device would become a file
    mode = old.st_mode & 07777;
  }
  std::string fresh = target + ".XXXXXX";
  const int fd = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (fd < 0) return errno;
  int error = fill_new_file(fd, data, mode);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(fresh.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(fresh.c_str());
    return error;
  }
  return sync_directory_of(target);
}

int overwrite_file(const std::string& path, const_bytes data, const write_options& o) noexcept {
  int fd = -1;
  if (const int error = open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, o.permissions, fd))
    return error;
  int error = write_sequence(fd, data);
  if (error == 0 && o.sync && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

int read_all(const std::string& path, std::size_t limit, std::string& text) {
  int fd = -1;
  if (const int error = open_file(path, O_RDONLY | O_CLOEXEC, 0, fd)) return error;
  const std::unique_ptr<int, void (*)(int*)> closer(&fd, [](int* f) { ::close(*f); });
  struct stat s{};
  if (::fstat(fd, &s) != 0) return errno;
  // One more byte than there should be, so that the end shows without growing.
  const std::size_t first =
      S_ISREG(s.st_mode) && s.st_size > 0 ? static_cast<std::size_t>(s.st_size) + 1 : 4096;
  limit = std::min(limit, text.max_size() - 1);
  std::size_t used = 0;
  for (;;) {
    if (used == text.size()) {
      if (used > limit) return EFBIG;
      text.resize(std::min(std::max(first, 2 * used), limit + 1));
    }
    const ssize_t n = ::read(fd, text.data() + used, text.size() - used);
    if (n == 0) break;
    if (n > 0) {
      used += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  if (used > limit) return EFBIG;
  text.resize(used);
  return 0;
}

}  // namespace

file::file(std::string path, open_mode mode, unsigned permissions) : path_(std::move(path)) {
  blocking_or_throw("open", path_, [&] { return open_file(path_, flags_of(mode), permissions, fd_); });
}

file::file(file&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

file& file::operator=(file&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  return *this;
}

void file::close() noexcept {
  if (fd_ < 0) return;
  // Network file systems write back what is left.
  leat::blocking([fd = std::exchange(fd_, -1)] { ::close(fd); });
}

std::size_t file::read_at(std::uint64_t offset, mutable_bytes into) const {
  std::size_t done = 0;
  blocking_or_throw("read", path_, [&] { return read_whole(fd_, offset, into, done); });
  return done;
}

void file::write_at(std::uint64_t offset, const_bytes from) {
  blocking_or_throw("write", path_, [&] {
    std::uint64_t at = offset;
    return write_whole(from, [&](const_bytes b) {
      const ssize_t n = ::pwrite(fd_, b.data, b.size, static_cast<off_t>(at));
      if (n > 0) at += static_cast<std::uint64_t>(n);
      return n;
    });
  });
}

void file::append(const_bytes from) {
  blocking_or_throw("append to", path_, [&] { return write_to_end(fd_, from); });
}

void file::resize(std::uint64_t size) {
  blocking_or_throw("resize", path_,
                    [&] { return ::ftruncate(fd_, static_cast<off_t>(size)) == 0 ? 0 : errno; });
}

void file::sync() {
  blocking_or_throw("sync", path_, [&] { return ::fsync(fd_) == 0 ? 0 : errno; });
}

std::uint64_t file::size() const {
  struct stat s{};
  blocking_or_throw("size of", path_, [&] { return ::fstat(fd_, &s) == 0 ? 0 : errno; });
  return static_cast<std::uint64_t>(s.st_size);
}

std::string read_file(const std::string& path, std::size_t limit) {
  std::string text;
  blocking_or_throw("read", path, [&] { return read_all(path, limit, text); });
  return text;
}

void write_file(const std::string& path, const_bytes data, const write_options& options) {
  blocking_or_throw("write", path, [&] {
    return options.atomic ? replace_file(path, data, options.permissions)
                          : overwrite_file(path, data, options);
  });
}

}  // namespace leat::net
