// SPDX-License-Identifier: BSL-1.0
//
// errno belongs to a thread, and the G comes back on another one: what runs inside leat::blocking returns it.
#define _FILE_OFFSET_BITS 64  // off_t, on 32-bit systems
#include <leat/stock/numbered_files.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <leat/base/log.hpp>
#include <leat/sched/blocking.hpp>

namespace leat::stock {
namespace {

constexpr std::size_t longest_first_line = 256 * 1024;

// f() returns an error number, or 0.
template <class F>
void or_throw(const char* what, const std::string& path, F f) {
  if (const int error = leat::blocking(f))
    throw std::system_error(error, std::system_category(), std::string(what) + " " + path);
}

int write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? ENOSPC : errno;
    }
  }
  return 0;
}

// Up to and with the last line end.
int whole_lines(int fd, std::uint64_t size, std::uint64_t& whole) noexcept {
  char part[4096];
  while (size > 0) {
    const std::uint64_t begin = size > sizeof part ? size - sizeof part : 0;
    const ssize_t n = ::pread(fd, part, static_cast<std::size_t>(size - begin), static_cast<off_t>(begin));
    if (n < 0) return errno;
    const std::size_t at = std::string_view(part, static_cast<std::size_t>(n)).rfind('\n');
    if (at != std::string_view::npos) {
      whole = begin + at + 1;
      return 0;
    }
    size = begin;
  }
  whole = 0;
  return 0;
}

// Empty: it has none.
std::string first_line(int fd) {
  std::string text(longest_first_line, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  const std::size_t end = text.find('\n');
  text.resize(end == std::string::npos ? 0 : end);
  return text;
}

// The number in PREFIX-NUMBER.EXT; 0: it is no such name.
std::uint64_t number_in(std::string_view name, std::string_view prefix, std::string_view extension) noexcept {
  if (name.size() < prefix.size() + 1 + 6 + 1 + extension.size()) return 0;
  if (!name.starts_with(prefix) || name[prefix.size()] != '-') return 0;
  if (!name.ends_with(extension) || name[name.size() - extension.size() - 1] != '.') return 0;
  name.remove_prefix(prefix.size() + 1);
  name.remove_suffix(extension.size() + 1);
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  // Six digits, more only where they are needed: any other name is somebody else's.
  if (name.size() > 6 && name.front() == '0') return 0;
  return error == std::errc{} && end == name.data() + name.size() ? n : 0;
}

std::vector<std::uint64_t> numbers(const numbered_files::options& o, std::error_code& ec) {
  std::vector<std::uint64_t> all;
  for (std::filesystem::directory_iterator at(o.folder, ec), end; !ec && at != end; at.increment(ec))
    if (const std::uint64_t n = number_in(at->path().filename().native(), o.prefix, o.extension)) {
      std::error_code gone;
      const std::filesystem::file_status s = at->symlink_status(gone);
      // A folder is no trap, but a mistake that somebody should hear of.
      if (is_regular_file(s) || is_directory(s)) all.push_back(n);
    }
  std::sort(all.begin(), all.end());
  return all;
}

void sync_folder(const std::string& folder) noexcept {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)::fsync(fd);  // some file systems cannot, and need not
  ::close(fd);
}

}  // namespace

std::string numbered_files::path_of(std::uint64_t number) const {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return o_.folder + '/' + o_.prefix + '-' + digits + '.' + o_.extension;
}

void numbered_files::adopt(int fd, std::string path) {
  close();
  fd_ = fd;
  path_ = std::move(path);
}

void numbered_files::open(std::uint64_t number, bool fresh) {
  std::string path = path_of(number);
  int fd = -1;
  or_throw("open", path, [&] {
    fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (fresh ? O_CREAT | O_EXCL : 0),
                0644);
    if (fd < 0) return errno;
    if (fresh && o_.sync) sync_folder(o_.folder);
    return 0;
  });
  const bool taken =
      leat::blocking([fd] { return ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; });
  if (taken) {
    ::close(fd);
    throw std::runtime_error("another recorder writes to " + path);
  }
  adopt(fd, std::move(path));
  number_ = number;
  size_ = head_ = 0;
  torn_ = false;
}

numbered_files::found numbered_files::open_last() {
  std::vector<std::uint64_t> all;
  or_throw("make or read the folder", o_.folder, [&] {
    std::error_code ec;
    std::filesystem::create_directories(o_.folder, ec);
    if (!ec) all = numbers(o_, ec);
    return ec.value();
  });
  found f;
  before_ = 0;
  if (all.empty()) {
    open_fresh();
    prune();
    return f;
  }
  open(all.back(), false);
  try {
    or_throw("repair", path_, [&] {
      struct stat s{};
      if (::fstat(fd_, &s) != 0) return errno;
      const auto size = static_cast<std::uint64_t>(s.st_size);
      if (const int error = whole_lines(fd_, size, size_)) return error;
      if (size_ < size && ::ftruncate(fd_, static_cast<off_t>(size_)) != 0) return errno;
      f.cut = size - size_;
      f.changed_ns = static_cast<std::int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec;
      f.first_line = first_line(fd_);
      if (o_.heads && !f.first_line.empty()) head_ = f.first_line.size() + 1;
      return 0;
    });
  } catch (...) {
    close();
    throw;
  }
  return f;
}

void numbered_files::open_next(reason why) {
  const std::uint64_t before = size_together() - head_;
  open_fresh();
  before_ = why == reason::more_columns ? before : 0;
  goes_on_[number_] = why == reason::more_columns;
  prune();
}

void numbered_files::open_fresh() {
  // A name that is taken already belongs to somebody's file.
  for (std::uint64_t n = number_ + 1;; ++n) {
    try {
      open(n, true);
      break;
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::file_exists) throw;
    }
  }
}

// `together`: bytes of the last one and those it goes on with; then with this one. Within leat::blocking.
bool numbered_files::goes_on(std::uint64_t number, std::uint64_t last, std::uint64_t& together) const {
  struct look {
    std::string head;
    struct stat s{};
  } here, before;
  const auto take = [this](std::uint64_t n, look& to) {
    const int fd = ::open(path_of(n).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return;
    if (::fstat(fd, &to.s) == 0) to.head = first_line(fd);
    ::close(fd);
  };
  take(last, before);
  take(number, here);
  const auto held = [](const look& at) { return static_cast<std::uint64_t>(at.s.st_size) - at.head.size(); };
  const std::uint64_t size = held(here);
  if (together == 0) together = held(before);
  const auto period = [this](const struct stat& s) {
    return o_.period.count() > 0
               ? static_cast<std::int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 / o_.period.count()
               : 0;
  };
  const bool more_columns = !before.head.empty() && here.head.size() > before.head.size() &&
                            here.head.starts_with(before.head) && here.head[before.head.size()] == ',';
  if (!more_columns || period(before.s) != period(here.s) || (o_.size > 0 && together + size > o_.size)) {
    together = size;
    return false;
  }
  together += size;
  return true;
}

void numbered_files::prune() {
  if (o_.keep == 0) return;
  leat::blocking([&] {
    std::error_code ec;
    std::vector<std::uint64_t> all = numbers(o_, ec);
    if (ec || all.size() <= o_.keep) return;
    std::uint64_t together = 0;
    for (std::size_t i = 1; o_.heads && i < all.size(); ++i)
      if (!goes_on_.contains(all[i])) goes_on_[all[i]] = goes_on(all[i], all[i - 1], together);
    goes_on_.erase(goes_on_.begin(), goes_on_.lower_bound(all.front()));
    std::size_t first = all.size();  // that is kept
    for (std::uint64_t kept = 0; first > 0 && kept < o_.keep; kept += !(o_.heads && goes_on_[all[first]]))
      --first;
    all.resize(first);
    for (const std::uint64_t n : all) {
      const std::string path = path_of(n);
      if (::unlink(path.c_str()) != 0 && errno != ENOENT)
        log_warning("stock", "cannot remove {}: {}", path, std::system_category().message(errno));
    }
  });
}

numbered_files::appended numbered_files::append(std::string_view lines) {
  bool gone = false;
  or_throw("write to", path_, [&] {
    if (torn_ && ::ftruncate(fd_, static_cast<off_t>(size_)) != 0) return errno;
    torn_ = false;
    int error = write_all(fd_, lines);
    if (error == 0 && o_.sync && ::fdatasync(fd_) != 0) error = errno;
    struct stat s{};
    if (error == 0 && ::fstat(fd_, &s) != 0) error = errno;
    if (error != 0) {
      torn_ = ::ftruncate(fd_, static_cast<off_t>(size_)) != 0;
      return error;
    }
    gone = s.st_nlink == 0;
    if (o_.heads && size_ == 0) head_ = lines.find('\n') + 1;
    size_ = static_cast<std::uint64_t>(s.st_size);
    return 0;
  });
  if (!gone) return appended::yes;
  close();
  return appended::file_is_gone;
}

void numbered_files::close() noexcept {
  if (fd_ < 0) return;
  const int fd = std::exchange(fd_, -1);
  leat::blocking([fd, torn = torn_, size = size_] {
    if (torn) (void)::ftruncate(fd, static_cast<off_t>(size));
    ::close(fd);
  });
}

}  // namespace leat::stock
