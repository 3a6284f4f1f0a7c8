// SPDX-License-Identifier: BSL-1.0
#define _FILE_OFFSET_BITS 64  // stat, on 32-bit systems
#include <leat/net/device_holder.hpp>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <charconv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

namespace leat::net {
namespace {

using folder = std::unique_ptr<DIR, int (*)(DIR*)>;
folder open_folder(const std::string& path) { return {::opendir(path.c_str()), ::closedir}; }

// 0: it is not a number.
pid_t pid_in(std::string_view text) noexcept {
  pid_t pid = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, pid);
  return error == std::errc{} && at == end && pid > 0 ? pid : 0;
}

// Who has locked it by flock. Told to everybody, whoever the holder is; 0: nobody, or none that this machine's
// processes can be told from here.
pid_t locked_by(const struct stat& device) {
  char wanted[64];
  std::snprintf(wanted, sizeof wanted, "%02x:%02x:%" PRIuMAX, major(device.st_dev), minor(device.st_dev),
                static_cast<std::uintmax_t>(device.st_ino));
  std::ifstream locks("/proc/locks");
  // 3: FLOCK  ADVISORY  WRITE 1234 00:16:5 0 EOF
  for (std::string number, kind, how, what, pid, file, rest;
       locks >> number >> kind >> how >> what >> pid >> file; std::getline(locks, rest))
    if (kind == "FLOCK" && file == wanted) return pid_in(pid);
  return 0;
}

bool has_open(const std::string& process, const struct stat& device) {
  const folder files = open_folder(process + "/fd");
  if (!files) return false;
  while (const dirent* const f = ::readdir(files.get())) {
    struct stat s{};
    if (f->d_name[0] != '.' && ::stat((process + "/fd/" + f->d_name).c_str(), &s) == 0 &&
        S_ISCHR(s.st_mode) && s.st_rdev == device.st_rdev)
      return true;
  }
  return false;
}

// Another than this program if there is one.
pid_t opened_by(const struct stat& device) {
  const folder all = open_folder("/proc");
  pid_t found = 0;
  if (!all) return 0;
  while (const dirent* const p = ::readdir(all.get())) {
    const pid_t pid = pid_in(p->d_name);
    if (pid == 0 || !has_open("/proc/" + std::to_string(pid), device)) continue;
    if (pid != ::getpid()) return pid;
    found = pid;
  }
  return found;
}

}  // namespace

std::string device_holder(const std::string& path) {
  struct stat device{};
  pid_t pid = 0;
  if (::stat(path.c_str(), &device) == 0 && S_ISCHR(device.st_mode)) {
    pid = locked_by(device);
    // A lock goes on in the children of one that has ended.
    if (pid == 0 || ::access(("/proc/" + std::to_string(pid)).c_str(), F_OK) != 0) pid = opened_by(device);
  }
  if (pid == ::getpid()) return "another process of this program uses it";
  if (pid == 0) return "another program, or another process of this one, uses it";
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
  return "process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")") + " uses it";
}

}  // namespace leat::net
