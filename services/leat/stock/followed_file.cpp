// SPDX-License-Identifier: BSL-1.0
#define _FILE_OFFSET_BITS 64  // stat, on 32-bit systems
#include <leat/stock/followed_file.hpp>

#include <sys/stat.h>
#include <cerrno>
#include <system_error>

#include <leat/sched/blocking.hpp>

namespace leat::stock {

// f(stat&) returns an error number, or 0.
template <class F>
std::optional<followed_file::identity> followed_file::identity_by(F f) const {
  struct stat s{};
  const int error = leat::blocking([&] { return f(s); });
  if (error == ENOENT) return std::nullopt;
  if (error != 0) throw std::system_error(error, std::system_category(), path_);
  // A pipe or a terminal would wait where nobody can stop it.
  if (!S_ISREG(s.st_mode))
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            path_ + " is not a regular file");
  return identity(s.st_dev, s.st_ino);
}

std::optional<followed_file::identity> followed_file::identity_of_path() const {
  return identity_by([this](struct stat& s) { return ::stat(path_.c_str(), &s) == 0 ? 0 : errno; });
}

bool followed_file::open() {
  // Before it is opened, which would wait at a pipe.
  if (!identity_of_path()) return false;
  try {
    file_ = net::file(path_);
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::no_such_file_or_directory) return false;
    throw;
  }
  // Of what was opened: another may have taken the name since the look.
  which_ = identity_by([this](struct stat& s) { return ::fstat(file_.fd(), &s) == 0 ? 0 : errno; });
  offset_ = 0;
  return true;
}

void followed_file::to_end() { offset_ = file_.size(); }

followed_file::status followed_file::read(net::mutable_bytes into, std::size_t& n) {
  n = 0;
  if (!file_.is_open()) return open() ? status::fresh : status::missing;
  n = file_.read_at(offset_, into);
  offset_ += n;
  if (n > 0) return status::data;
  if (file_.size() < offset_) {
    offset_ = 0;
    return status::cut;
  }
  const std::optional<identity> now = identity_of_path();
  if (now == which_) return status::end;
  // The rest that came between the read and the look.
  n = file_.read_at(offset_, into);
  offset_ += n;
  if (n > 0) return status::data;
  if (now && open()) return status::fresh;
  return status::missing;
}

}  // namespace leat::stock
