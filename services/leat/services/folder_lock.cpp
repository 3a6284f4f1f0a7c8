// SPDX-License-Identifier: BSL-1.0
#include <leat/services/folder_lock.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <leat/base/log.hpp>
#include <leat/process/any_channel.hpp>

namespace leat::services {
namespace {

// As `mkdir -p`.
bool make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  const std::size_t slash = path.find_last_not_of('/') == std::string::npos
                                ? std::string::npos
                                : path.rfind('/', path.find_last_not_of('/'));
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  return make_folder(path.substr(0, slash)) && (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

std::string in_words(const std::string& folder, const folder_use& use) {
  return std::string("the folder of ") + use.content + " '" + folder + "'";
}

}  // namespace

std::string joined_path(const std::string& folder, const std::string& file) {
  return folder.ends_with('/') ? folder + file : folder + '/' + file;
}

std::string real_folder(const std::string& folder, const folder_use& use) {
  char* const real = make_folder(folder) ? ::realpath(folder.c_str(), nullptr) : nullptr;
  if (!real) throw wiring_error(in_words(folder, use) + " cannot be made: " + std::strerror(errno));
  std::string out(real);
  std::free(real);
  return out;
}

void warn_of_others(const std::string& folder, const std::string& who, const folder_use& use) {
  struct stat st{};
  if (::stat(folder.c_str(), &st) != 0 || (st.st_mode & S_IWOTH) == 0) return;
  log_warning(
      use.category,
      "{}: everybody can write to the folder of {} '{}', and so change them: chmod o-w it, or name a folder "
      "of its own",
      who, use.content, folder);
}

folder_lock::folder_lock(const std::string& folder, const folder_use& use) {
  const std::string path = joined_path(folder, use.file);
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) throw wiring_error(in_words(folder, use) + " cannot be used: " + std::strerror(errno));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    char text[32] = {};
    const ssize_t n = ::pread(fd_, text, sizeof text - 1, 0);
    ::close(fd_);
    if (why != EWOULDBLOCK) throw wiring_error("'" + path + "' cannot be locked: " + std::strerror(why));
    std::string pid(text, n > 0 ? static_cast<std::size_t>(n) : 0);
    pid.erase(std::find_if(pid.begin(), pid.end(), [](char c) { return c < '0' || c > '9'; }), pid.end());
    throw wiring_error(in_words(folder, use) + " is in use by another program" +
                       (pid.empty() ? "" : " (pid " + pid + ")") +
                       ": end that one, or give each a folder of its own");
  }
  const std::string pid = std::to_string(::getpid()) + '\n';
  // For people only.
  if (::ftruncate(fd_, 0) == 0) (void)!::pwrite(fd_, pid.data(), pid.size(), 0);
}

folder_lock::~folder_lock() { ::close(fd_); }

}  // namespace leat::services
