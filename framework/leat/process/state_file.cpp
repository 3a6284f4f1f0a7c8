// SPDX-License-Identifier: BSL-1.0
#include <leat/process/state_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace leat {
namespace {

constexpr std::string_view state_magic = "LEATST";
constexpr std::string_view state_version = "01";
constexpr std::size_t head_size = 24;
constexpr std::string_view state_ending = ".state";

void put_little(std::vector<std::uint8_t>& to, std::uint64_t v, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}
std::uint64_t get_little(std::span<const std::uint8_t> from) {
  std::uint64_t v = 0;
  for (std::size_t i = from.size(); i-- > 0;) v = v << 8 | from[i];
  return v;
}

// FNV-1a of 64 bits.
std::uint64_t add_to_sum(std::uint64_t sum, std::span<const std::uint8_t> bytes) noexcept {
  for (const std::uint8_t b : bytes) sum = (sum ^ b) * 0x100000001b3u;
  return sum;
}
std::uint64_t sum_of(std::span<const std::uint8_t> file) noexcept {
  constexpr std::uint64_t start = 0xcbf29ce484222325u;
  return add_to_sum(add_to_sum(start, file.first(16)), file.subspan(head_size));
}

[[noreturn]] void fail(const char* call, const std::string& path) {
  throw std::system_error(errno, std::generic_category(), std::string(call) + " '" + path + "'");
}

void check_size(std::size_t bytes, const std::string& path) {
  if (bytes <= longest_state_file) return;
  throw std::system_error(std::make_error_code(std::errc::file_too_large),
                          "'" + path + "' of " + std::to_string(bytes) +
                              " bytes, of which a state has at most " + std::to_string(longest_state_file));
}

class open_file {
 public:
  open_file(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (fd_ < 0) fail("open", path);
  }
  ~open_file() { ::close(fd_); }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int get() const noexcept { return fd_; }

 private:
  const int fd_;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_part(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    const auto b = static_cast<unsigned char>(c);
    if (plain)
      out += c;
    else
      out.append({'%', digits[b >> 4], digits[b & 15]});
  }
  return out;
}

std::string file_prefix(std::string_view service, std::string_view process, unsigned replica) {
  return file_part(service) + '.' + file_part(process) + '.' + std::to_string(replica) + '.';
}

}  // namespace

std::vector<std::uint8_t> pack_state(const state_content& c) {
  std::vector<std::uint8_t> out;
  out.reserve(head_size + 8 + c.whose.size() + c.type.size() + c.value.size());
  for (const std::string_view part : {state_magic, state_version})
    out.insert(out.end(), part.begin(), part.end());
  put_little(out, 8 + c.whose.size() + c.type.size() + c.value.size(), 8);
  put_little(out, 0, 8);
  for (const std::string* const text : {&c.whose, &c.type}) {
    put_little(out, text->size(), 4);
    out.insert(out.end(), text->begin(), text->end());
  }
  out.insert(out.end(), c.value.begin(), c.value.end());
  const std::uint64_t sum = sum_of(out);
  for (unsigned i = 0; i < 8; ++i) out[16 + i] = static_cast<std::uint8_t>(sum >> (8 * i));
  return out;
}

state_content unpack_state(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(state_magic)) throw state_file_error("it is not a state file");
  if (bytes.size() < head_size) throw state_file_error("it is cut short");
  if (text.substr(state_magic.size(), 2) != state_version)
    throw state_file_error("it is of another version of Leat, whose states have format '" +
                           std::string(text.substr(state_magic.size(), 2)) + "'");
  const std::uint64_t length = get_little(bytes.subspan(8, 8));
  if (length != bytes.size() - head_size)
    throw state_file_error(std::to_string(bytes.size() - head_size) + " bytes are there where " +
                           std::to_string(length) + " were written");
  if (get_little(bytes.subspan(16, 8)) != sum_of(bytes))
    throw state_file_error("its bytes are not those that were written");
  state_content out;
  std::span<const std::uint8_t> rest = bytes.subspan(head_size);
  for (std::string* const to : {&out.whose, &out.type}) {
    const std::uint64_t n = rest.size() < 4 ? rest.size() : get_little(rest.first(4));
    if (rest.size() < 4 || n > rest.size() - 4) throw state_file_error("its parts do not fit into it");
    to->assign(reinterpret_cast<const char*>(rest.data()) + 4, static_cast<std::size_t>(n));
    rest = rest.subspan(4 + static_cast<std::size_t>(n));
  }
  out.value.assign(rest.begin(), rest.end());
  return out;
}

void replace_file(const std::string& path, std::span<const std::uint8_t> bytes) {
  check_size(bytes.size(), path);
  const std::string fresh = path + ".new";
  // Of a program that was killed, or somebody else's; what cannot be removed is in the way of the next.
  (void)::unlink(fresh.c_str());
  {
    const open_file file(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("write", fresh);
      done += static_cast<std::size_t>(n);
    }
    if (::fsync(file.get()) != 0) fail("fsync", fresh);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) fail("rename", fresh);
  const std::string folder = folder_of(path);
  const open_file opened(folder, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot flush a folder, and need not.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) fail("fsync", folder);
}

std::vector<std::uint8_t> read_whole_file(const std::string& path) {
  const open_file file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);  // a pipe would wait for a writer
  struct stat st{};
  if (::fstat(file.get(), &st) != 0) fail("stat", path);
  if (!S_ISREG(st.st_mode))
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            "'" + path + "' is not a regular file");
  check_size(st.st_size > 0 ? static_cast<std::size_t>(st.st_size) : 0, path);
  std::vector<std::uint8_t> out(st.st_size > 0 ? static_cast<std::size_t>(st.st_size) : 0);
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::read(file.get(), out.data() + done, out.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  out.resize(done);
  return out;
}

std::string set_aside(const std::string& path) {
  constexpr unsigned most = 1000;
  for (unsigned n = 1; n <= most; ++n) {
    const std::string to = path + ".bad-" + std::to_string(n);
    if (::access(to.c_str(), F_OK) == 0) continue;
    return ::rename(path.c_str(), to.c_str()) == 0 ? to : std::string();
  }
  return {};
}

std::string state_file_name(std::string_view service, std::string_view process, unsigned replica,
                            std::string_view state) {
  return file_prefix(service, process, replica) + file_part(state) + std::string(state_ending);
}

std::string state_of_file(std::string_view file, std::string_view service, std::string_view process,
                          unsigned replica) {
  const std::string prefix = file_prefix(service, process, replica);
  if (!file.starts_with(prefix) || !file.ends_with(state_ending)) return {};
  file.remove_prefix(prefix.size());
  if (file.size() <= state_ending.size()) return {};
  file.remove_suffix(state_ending.size());
  std::string out;
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (file[i] != '%') {
      out += file[i];
      continue;
    }
    const auto digit = [&](std::size_t at) {
      const char c = at < file.size() ? file[at] : '?';
      return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    const int high = digit(i + 1), low = digit(i + 2);
    if (high < 0 || low < 0) return {};
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return file_part(out) == file ? out : std::string();
}

}  // namespace leat
