// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/thread_start.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <algorithm>
#include <cstring>
#include <new>

#include <leat/base/clock.hpp>
#include <leat/base/log.hpp>
#include <leat/base/units.hpp>
#include <leat/fiber/os_memory.hpp>

namespace leat::sched {
namespace {

constexpr std::size_t least_stack = std::size_t{256} << 10;
constexpr std::size_t default_stack = std::size_t{8} << 20;

// Where the kernel has no room for a stack, pthread_create says EAGAIN as it does at a limit on tasks.
bool stack_fits(std::size_t bytes) noexcept {
  void* const p =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (p == MAP_FAILED) return false;
  ::munmap(p, bytes);
  return true;
}

}  // namespace

bool thread_start::pauses() const noexcept {
  const std::int64_t at = refused_at_.load(std::memory_order_relaxed);
  return at != 0 && real_now_ns() - at < pause;
}

std::size_t thread_start::stack_size() noexcept {
  pthread_attr_t attributes;
  std::size_t usual = default_stack;
  if (::pthread_getattr_default_np(&attributes) == 0) {
    (void)::pthread_attr_getstacksize(&attributes, &usual);
    ::pthread_attr_destroy(&attributes);
  }
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return usual;
  const std::size_t page = fiber::os_memory::page_size();
  const std::size_t share = static_cast<std::size_t>(space.rlim_cur / 64) / page * page;
  return std::min(usual, std::max(share, least_stack));
}

int thread_start::start(void* (*body)(void*), void* arg) noexcept {
  pthread_attr_t attributes;
  int e = ::pthread_attr_init(&attributes);
  if (e == 0) {
    (void)::pthread_attr_setstacksize(&attributes, stack_size());
    pthread_t handle{};
    e = ::pthread_create(&handle, &attributes, body, arg);
    ::pthread_attr_destroy(&attributes);
  }
  if (e != 0)
    refused(e);
  else if (refused_at_.load(std::memory_order_relaxed) != 0)
    refused_at_.store(0, std::memory_order_relaxed);
  return e;
}

void thread_start::refused(int error) noexcept {
  error_.store(error, std::memory_order_relaxed);
  refused_at_.store(real_now_ns(), std::memory_order_relaxed);
}

std::string thread_start::what_to_raise() {
  const std::size_t stack = stack_size();
  if (!stack_fits(stack)) return "its stack of " + format_size(stack) + " has no room: raise `ulimit -v`";
  return "raise TasksMax= of its systemd unit, pids.max of its cgroup, or `ulimit -u`";
}

void thread_start::tell_once(int error, unsigned threads) noexcept {
  if (told_.exchange(true, std::memory_order_relaxed)) return;
  try {
    log_warning(
        "sched",
        "no further thread ({}): the {} that there are go on, and what they cannot take waits for them; {}",
        std::strerror(error), threads, what_to_raise());
  } catch (const std::bad_alloc&) {
    log_warning("sched", "no further thread ({}): the {} that there are go on", std::strerror(error),
                threads);
  }
}

}  // namespace leat::sched
