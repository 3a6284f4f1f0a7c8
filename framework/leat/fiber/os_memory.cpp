// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/os_memory.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>

namespace leat::fiber {
namespace {
// Linux 6.13; the C library's headers are older.
constexpr int advice_guard_install = 102;

int result(int rc) noexcept { return rc == 0 ? 0 : errno; }

// With which a file of the kernel's begins; 0: none.
std::size_t first_number(const char* path) noexcept {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[24] = {};
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  const long v = n > 0 ? std::strtol(text, nullptr, 10) : 0;
  return v > 0 ? static_cast<std::size_t>(v) : 0;
}
}  // namespace

void* os_memory::reserve(std::size_t bytes) noexcept {
  void* p = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  // Fails where the kernel has no transparent huge pages, which is what it asks for.
  (void)::madvise(p, bytes, MADV_NOHUGEPAGE);
  return p;
}

int os_memory::open(void* at, std::size_t bytes) noexcept {
  return result(::mprotect(at, bytes, PROT_READ | PROT_WRITE));
}
int os_memory::guard(void* at, std::size_t bytes) noexcept {
  return result(::madvise(at, bytes, advice_guard_install));
}
int os_memory::protect(void* at, std::size_t bytes) noexcept {
  return result(::mprotect(at, bytes, PROT_NONE));
}
int os_memory::discard(void* at, std::size_t bytes) noexcept {
  return result(::madvise(at, bytes, MADV_DONTNEED));
}
void os_memory::release(void* at, std::size_t bytes) noexcept { (void)::munmap(at, bytes); }

std::size_t os_memory::max_maps() noexcept {
  constexpr std::size_t kernel_default = 65530;
  const std::size_t n = first_number("/proc/sys/vm/max_map_count");
  return n > 0 ? n : kernel_default;
}

std::size_t os_memory::space_left() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= no_limit)
    return no_limit;
  const auto all = static_cast<std::size_t>(limit.rlim_cur);
  const std::size_t pages = first_number("/proc/self/statm");
  const std::size_t used = pages > 0 ? pages * page_size() : all / 2;  // no /proc: a guess
  return used < all ? all - used : 0;
}

os_memory& os_memory::system() noexcept {
  static os_memory instance;
  return instance;
}

std::size_t os_memory::page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace leat::fiber
