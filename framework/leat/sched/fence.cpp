// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/fence.hpp>

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>
#include <string_view>
#include <system_error>

#include <leat/base/format.hpp>

namespace leat::sched {
namespace {

// "0x7f.." and "7f..", as the kernel writes arguments.
bool take_hex(std::string_view& text, std::uintptr_t& to) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.starts_with("0x")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to, 16);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

thread_sight look_at_thread(pid_t tid) noexcept {
  thread_sight s;
  fixed_text<64> path;
  path.format("/proc/self/task/{}/syscall", tid).append('\0');
  const int fd = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return s;
  char text[256];
  const ssize_t n = ::read(fd, text, sizeof text);
  (void)::close(fd);
  if (n <= 0) return s;
  s.known = true;
  std::string_view left(text, static_cast<std::size_t>(n));
  if (left.starts_with("running")) return s;
  const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), s.call);
  if (error != std::errc{}) return s;
  left.remove_prefix(static_cast<std::size_t>(end - left.data()));
  // "-1 sp pc" when it stands outside of any call.
  s.waits = s.call >= 0;
  s.faults = s.call < 0;
  std::uintptr_t ignored = 0;
  if (s.call >= 0) {
    if (!take_hex(left, s.first)) return s;
    for (int i = 0; i < 5; ++i)
      if (!take_hex(left, ignored)) return s;
  }
  if (take_hex(left, s.sp)) (void)take_hex(left, s.pc);
  return s;
}

std::int64_t cpu_time_of(pid_t tid) noexcept {
  // As the kernel numbers the CPU clocks of threads; what pthread_getcpuclockid makes of a handle.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6u);
  timespec t{};
  if (::clock_gettime(clock, &t) != 0) return -1;
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

namespace {

// The kernel lets a thread leave the idle class if it may have its nice value: by RLIMIT_NICE or
// CAP_SYS_NICE. Where that is not known for sure (a namespace), the first that is lifted tells.
std::atomic<bool> no_way_back{false};

bool has_way_back(pid_t tid) noexcept {
  if (no_way_back.load(std::memory_order_relaxed)) return false;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NICE, &limit) == 0 &&
      limit.rlim_cur >= static_cast<rlim_t>(20 - ::getpriority(PRIO_PROCESS, static_cast<id_t>(tid))))
    return true;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capget, &head, data) == 0 && (data[0].effective & (1u << CAP_SYS_NICE)) != 0;
}

}  // namespace

bool make_idle_class(pid_t tid) noexcept {
  const sched_param none{};
  if (has_way_back(tid) && ::sched_setscheduler(tid, SCHED_IDLE, &none) == 0) return true;
  return ::setpriority(PRIO_PROCESS, static_cast<id_t>(tid), least_nice_share) == 0;
}

bool lift_from_idle_class(pid_t tid, int nice) noexcept {
  // Without a way back it is at the least share, and stays there.
  if (has_way_back(tid)) (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(tid), nice);
  if (::sched_getscheduler(tid) != SCHED_IDLE) return true;
  const sched_param none{};
  if (::sched_setscheduler(tid, SCHED_OTHER, &none) == 0) return true;
  no_way_back.store(true, std::memory_order_relaxed);
  return false;
}

thread_class class_of(pid_t tid) noexcept {
  thread_class c;
  sched_param param{};
  c.policy = std::max(0, ::sched_getscheduler(tid));
  if (::sched_getparam(tid, &param) == 0) c.priority = param.sched_priority;
  c.nice = ::getpriority(PRIO_PROCESS, static_cast<id_t>(tid));
  return c;
}

bool leave_idle_class(const thread_class& former) noexcept {
  sched_param param{};
  param.sched_priority = former.priority;
  const bool back = ::sched_setscheduler(0, former.policy, &param) == 0;
  const auto me = static_cast<id_t>(::syscall(SYS_gettid));
  return back && (::getpriority(PRIO_PROCESS, me) <= former.nice ||
                  ::setpriority(PRIO_PROCESS, me, former.nice) == 0);
}

const char* name_of_call(long number) noexcept {
  struct entry {
    long number;
    const char* name;
  };
  constexpr entry calls[] = {
      {SYS_futex, "futex"},
      {SYS_read, "read"},
      {SYS_write, "write"},
      {SYS_readv, "readv"},
      {SYS_writev, "writev"},
      {SYS_pread64, "pread"},
      {SYS_pwrite64, "pwrite"},
      {SYS_nanosleep, "nanosleep"},
      {SYS_clock_nanosleep, "clock_nanosleep"},
      {SYS_ppoll, "poll"},
#ifdef SYS_poll
      {SYS_poll, "poll"},
      {SYS_select, "select"},
      {SYS_open, "open"},
      {SYS_pause, "pause"},
#endif
      {SYS_pselect6, "select"},
      {SYS_epoll_pwait, "epoll_wait"},
      {SYS_openat, "open"},
      {SYS_flock, "flock"},
      {SYS_fcntl, "fcntl"},
      {SYS_ioctl, "ioctl"},
      {SYS_connect, "connect"},
#ifdef SYS_accept
      {SYS_accept, "accept"},
#endif
      {SYS_accept4, "accept"},
      {SYS_recvfrom, "recv"},
      {SYS_recvmsg, "recvmsg"},
      {SYS_sendto, "send"},
      {SYS_sendmsg, "sendmsg"},
      {SYS_wait4, "wait"},
      {SYS_waitid, "wait"},
      {SYS_fsync, "fsync"},
      {SYS_fdatasync, "fdatasync"},
      {SYS_rt_sigtimedwait, "sigwait"},
      {SYS_rt_sigsuspend, "sigsuspend"},
  };
  for (const entry& c : calls)
    if (c.number == number) return c.name;
  return nullptr;
}

}  // namespace leat::sched
