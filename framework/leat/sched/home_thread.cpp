// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/home_thread.hpp>

#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <leat/base/log.hpp>

namespace leat::sched {
namespace {

struct policy {
  int number = -1;
  sched_param param{};
  bool operator==(const policy& o) const noexcept {
    return number == o.number && param.sched_priority == o.param.sched_priority;
  }
};

policy policy_of(pid_t tid) noexcept {
  policy p;
  p.number = ::sched_getscheduler(tid);
  if (p.number < 0 || ::sched_getparam(tid, &p.param) != 0) p.number = -1;
  return p;
}

// What a thread has from the one that starts it: of one that asks the kernel to give on nothing real-time, the ordinary policy.
policy inherited_from(pid_t tid) noexcept {
  policy p = policy_of(tid);
  if (p.number < 0 || (p.number & SCHED_RESET_ON_FORK) == 0) return p;
  p.number &= ~SCHED_RESET_ON_FORK;
  if (p.number != SCHED_BATCH && p.number != SCHED_IDLE) p = {SCHED_OTHER, {}};
  return p;
}

}  // namespace

home_thread::home_thread(const std::vector<unsigned>& cpus) noexcept
    : tid_(static_cast<pid_t>(::syscall(SYS_gettid))) {
  if (!cpus.empty()) {
    CPU_ZERO(&configured_.emplace());
    for (const unsigned cpu : cpus) CPU_SET(cpu, &*configured_);
  }
  const std::optional<cpu_set_t> now = this->cpus();
  // More CPUs than a cpu_set_t has bits for: the kernel refuses to tell.
  count_ = std::max(now ? CPU_COUNT(&*now) : static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

std::optional<cpu_set_t> home_thread::cpus() const noexcept {
  if (configured_) return configured_;
  cpu_set_t now;
  if (::sched_getaffinity(tid_, sizeof now, &now) != 0) return std::nullopt;
  return now;
}

void home_thread::settle_here() const noexcept {
  if (const std::optional<cpu_set_t> all = cpus()) {
    if (::sched_setaffinity(0, sizeof *all, &*all) != 0 && configured_)
      log_warning("sched", "cpus: the kernel refused the affinity: {}", std::strerror(errno));
  }
  // Where they are alike, nothing that a thread may not set is set.
  const policy home = inherited_from(tid_);
  if (home.number >= 0 && !(home == policy_of(0))) (void)::sched_setscheduler(0, home.number, &home.param);
}

}  // namespace leat::sched
