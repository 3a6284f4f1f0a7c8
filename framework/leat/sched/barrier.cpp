// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/barrier.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>

#include <leat/base/check.hpp>
#include <leat/fiber/annotate.hpp>

namespace leat::sched {

std::atomic<bool> detail::membarrier_works{false};

void prepare_barriers() noexcept {
  // LEAT_NO_MEMBARRIER lets tests run what kernels without it run.
  // Written once: threads that an earlier runtime left behind still read it.
  static const bool done = [] {
    detail::membarrier_works.store(
        !fiber::under_tsan && !std::getenv("LEAT_NO_MEMBARRIER") &&
            ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0,
        std::memory_order_relaxed);
    return true;
  }();
  (void)done;
}

// Not inlined: errno is a thread's, and its address must not be kept where a G may switch.
[[gnu::noinline]] void heavy_barrier() noexcept {
  if (!detail::membarrier_works.load(std::memory_order_relaxed)) return full_barrier();
  // The kernel may be out of memory for a moment.
  while (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
    LEAT_CHECK(errno == ENOMEM || errno == EINTR, "membarrier failed after it had worked", "errno", errno);
}

}  // namespace leat::sched
