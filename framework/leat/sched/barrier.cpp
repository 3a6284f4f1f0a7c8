// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/barrier.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdlib>

#include <leat/base/check.hpp>
#include <leat/fiber/annotate.hpp>

namespace leat::sched {

bool detail::membarrier_works = false;

void prepare_barriers() noexcept {
  // LEAT_NO_MEMBARRIER lets tests run what kernels without it run.
  static const bool works = !fiber::under_tsan && !std::getenv("LEAT_NO_MEMBARRIER") &&
                            ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  detail::membarrier_works = works;
}

void heavy_barrier() noexcept {
  if (!detail::membarrier_works) return full_barrier();
  const long rc = ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  LEAT_CHECK(rc == 0, "membarrier failed after it had worked");
}

}  // namespace leat::sched
