// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/os_memory.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>

namespace leat::fiber {
namespace {
// Linux 6.13; the C library's headers are older.
constexpr int advice_guard_install = 102;

int result(int rc) noexcept { return rc == 0 ? 0 : errno; }
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
  const int fd = ::open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kernel_default;
  char text[24] = {};
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  const long v = n > 0 ? std::strtol(text, nullptr, 10) : 0;
  return v > 0 ? static_cast<std::size_t>(v) : kernel_default;
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
