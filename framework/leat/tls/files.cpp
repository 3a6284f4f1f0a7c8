// SPDX-License-Identifier: BSL-1.0
#include <leat/tls/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <leat/tls/pem.hpp>

namespace leat {
namespace tls {
namespace {

constexpr std::size_t largest_pem = std::size_t{1} << 20;

// For a shell.
std::string quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path)
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  return text + '\'';
}

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw tls_file_error("'" + path + "': " + why);
}

// Of open, fstat or read.
[[noreturn]] void refuse_unread(const std::string& path, int error) {
  const std::string what = "'" + path + "': " + std::system_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO: throw tls_file_error(what);
    default: throw passing_file_error(what);
  }
}

struct open_file {
  explicit open_file(int f) : fd(f) {}
  ~open_file() {
    if (fd >= 0) ::close(fd);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int fd;
};

std::int64_t in_ns(const timespec& t) noexcept { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; }

}  // namespace

file_stamp stamp_of(const std::string& path) noexcept {
  struct stat s{};
  if (path.empty() || ::stat(path.c_str(), &s) != 0) return {};
  return {.there = true,
          .device = s.st_dev,
          .inode = s.st_ino,
          .size = s.st_size,
          .modified_ns = in_ns(s.st_mtim),
          .changed_ns = in_ns(s.st_ctim)};
}

std::string read_pem(const std::string& path, bool secret) {
  if (path.find('\0') != std::string::npos) refuse_file(path, "a path has no zero byte");
  // Without O_NONBLOCK the open of a pipe would wait for its writer.
  const open_file f(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (f.fd < 0) refuse_unread(path, errno);
  struct stat s{};
  if (::fstat(f.fd, &s) != 0) refuse_unread(path, errno);
  if (!S_ISREG(s.st_mode)) refuse_file(path, "is not a plain file");
  if (secret && (s.st_mode & S_IRWXO) != 0)
    refuse_file(
        path, "a key that everybody on this machine may use is not secret; run: chmod o-rwx " + quoted(path));
  std::string all;
  char part[4096];
  for (;;) {
    const ssize_t n = ::read(f.fd, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse_unread(path, errno);
    if (n == 0) return all;
    all.append(part, static_cast<std::size_t>(n));
    if (all.size() > largest_pem) refuse_file(path, "is larger than a mebibyte: no certificate or key");
  }
}

}  // namespace tls

std::vector<tls_diagnostic> examine_tls_files(const std::string& ca, const std::string& certificate,
                                              const std::string& key_file) {
  using file = tls_diagnostic::file;
  std::vector<tls_diagnostic> found;
  const auto attempt = [&](file which, auto call) {
    try {
      call();
    } catch (const tls_file_error& e) {
      found.push_back({which, true, e.what()});
    }
  };
  if (!ca.empty()) attempt(file::ca, [&] { (void)tls::certificates_of(ca); });
  std::vector<tls::owned<X509>> chain;
  tls::owned<EVP_PKEY> key;
  if (!certificate.empty()) attempt(file::certificate, [&] { chain = tls::certificates_of(certificate); });
  if (!key_file.empty()) attempt(file::key, [&] { key = tls::key_of(key_file); });
  if (!chain.empty() && key)
    attempt(file::key, [&] { tls::check_pair(*chain.front(), certificate, *key, key_file); });
  if (!chain.empty())
    if (std::string why = tls::out_of_time(*chain.front()); !why.empty())
      found.push_back({file::certificate, false, "'" + certificate + "': " + why});
  return found;
}

}  // namespace leat
