// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/promptness.hpp>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace leat::sched {
namespace {

// The shortest and the longest that Linux grants.
constexpr std::uint64_t short_ns = 100'000, long_ns = 100'000'000;

// The kernel's struct sched_attr in its first version. The C library has a type for it from version 2.41 on,
// and <linux/sched/types.h> defines sched_param a second time on older ones.
struct thread_attributes {
  std::uint32_t size = sizeof(thread_attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(thread_attributes) == 48);

// The slice of an ordinary thread, or 0.
std::uint64_t read(pid_t thread, thread_attributes& a) noexcept {
  if (::syscall(SYS_sched_getattr, thread, &a, sizeof a, 0) != 0) return 0;
  return a.policy == SCHED_OTHER || a.policy == SCHED_BATCH ? a.runtime : 0;
}

bool set_slice(pid_t thread, thread_attributes a, std::uint64_t slice) noexcept {
  constexpr std::uint64_t keep_policy = 0x08;  // it may be changing it this moment
  a.size = sizeof a;
  a.flags |= keep_policy;
  a.runtime = slice;
  return ::syscall(SYS_sched_setattr, thread, &a, 0) == 0;
}

}  // namespace

std::uint64_t make_prompt() noexcept {
  thread_attributes now;
  const std::uint64_t slice = read(0, now);
  return slice > short_ns && set_slice(0, now, short_ns) ? slice : 0;
}

prompt_thread::~prompt_thread() {
  thread_attributes now;
  if (before_ != 0 && read(0, now) == short_ns) (void)set_slice(0, now, before_);
}

bool set_promptness(pid_t thread, promptness how) noexcept {
  const std::uint64_t from = how == promptness::at_once ? long_ns : short_ns;
  const std::uint64_t to = how == promptness::at_once ? short_ns : long_ns;
  thread_attributes now;
  return read(thread, now) == from && set_slice(thread, now, to);
}

}  // namespace leat::sched
