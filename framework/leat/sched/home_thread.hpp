// SPDX-License-Identifier: BSL-1.0
//
// The thread that called leat::run, and what the Ms have from it: on which CPUs they run, and with which scheduling policy
// and priority.
//
// A thread begins as the one that starts it is at that moment, and whoever needs an M starts it: a G that is pinned or
// real-time (own_thread), an M that is kept off a CPU for one wake (policy/nudge.hpp), any thread of the program that
// sends into a channel. So a new M first becomes as this thread is. It is asked each time: what taskset and chrt
// change of a running program holds for the threads that come later, too.
//
// Thread safety: any thread may call anything at any time.
#pragma once
#include <sched.h>
#include <sys/types.h>
#include <optional>
#include <vector>

namespace leat::sched {

class home_thread {
 public:
  // The calling one. `cpus`: the Ms run on these; none: where this thread may run.
  explicit home_thread(const std::vector<unsigned>& cpus) noexcept;

  // Where Ms may run now; none: the system does not tell.
  std::optional<cpu_set_t> cpus() const noexcept;
  // How many these were in the beginning.
  int cpu_count() const noexcept { return count_; }
  // The calling thread begins as an M.
  void settle_here() const noexcept;

 private:
  const pid_t tid_;
  std::optional<cpu_set_t> configured_;
  int count_;
};

}  // namespace leat::sched
