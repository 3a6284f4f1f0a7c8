// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/plain_call.hpp>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <utility>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <leat/fiber/annotate.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/interrupted.hpp>

namespace leat::sched {
namespace {

// Not those that may call back, or take a lock of the C library before or after: no stdio, no resolver, no
// system(), no wait for another thread.
constexpr const char* names[] = {
    "accept",
    "accept4",
    "clock_nanosleep",
    "connect",
    "copy_file_range",
    "epoll_pwait",
    "epoll_wait",
    "eventfd_read",
    "fcntl",
    "fcntl64",
    "fdatasync",
    "flock",
    "fsync",
    "ioctl",
    "lockf",
    "mq_receive",
    "mq_send",
    "msgrcv",
    "msgsnd",
    "msync",
    "nanosleep",
    "open",
    "open64",
    "openat",
    "openat64",
    "pause",
    "poll",
    "ppoll",
    "pread",
    "pread64",
    "preadv",
    "pselect",
    "pwrite",
    "pwrite64",
    "pwritev",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "select",
    "send",
    "sendmmsg",
    "sendmsg",
    "sendto",
    "sigsuspend",
    "sigtimedwait",
    "sigwaitinfo",
    "sleep",
    "splice",
    "sync_file_range",
    "syscall",
    "tcdrain",
    "usleep",
    "vmsplice",
    "wait",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
};

constexpr std::size_t most_learnt = 8;

// Those at the front are valid. What is learnt comes later, and by one thread: before the first question of all.
std::uintptr_t starts[std::size(names) + most_learnt];
std::atomic<std::size_t> n_starts{0};

void add(std::uintptr_t start) noexcept {
  const std::size_t n = n_starts.load(std::memory_order_relaxed);
  starts[n] = start;
  n_starts.store(n + 1, std::memory_order_release);  // pairs with is_plain_call
}

// Elsewhere there is nothing to learn, and no debugger is stopped by a signal for nothing.
bool has_helpers() noexcept {
#ifdef __GLIBC__
  int major = 0, minor = 0;
  return std::sscanf(::gnu_get_libc_version(), "%d.%d", &major, &minor) == 2 &&
         (major > 2 || (major == 2 && minor >= 41));
#else
  return false;
#endif
}

struct lesson {
  bool (*is_in_c_library)(std::uintptr_t) noexcept;
  volatile std::sig_atomic_t listens = 0;  // 1: in the call
  std::uintptr_t from = 0;                 // the interrupted instruction
  bool begun = false;                      // past the handler's own frames
  volatile bool complete = false;          // as far as our own code
  std::uintptr_t seen[most_learnt] = {};
  std::size_t n = 0;
};
lesson* volatile taught = nullptr;
int (*to_learn_from)(const sigset_t*) = nullptr;  // null: nothing, or nothing more

LEAT_UNWATCHED _Unwind_Reason_Code look(_Unwind_Context* context, void* arg) {
  auto& l = *static_cast<lesson*>(arg);
  int at_instruction = 0;
  const std::uintptr_t ip = _Unwind_GetIPInfo(context, &at_instruction);
  if (!l.begun && ip != l.from) return _URC_NO_REASON;
  l.begun = true;
  if (!l.is_in_c_library(at_instruction ? ip : ip - 1)) {
    l.complete = true;
    return _URC_END_OF_STACK;
  }
  if (l.n == most_learnt) return _URC_END_OF_STACK;
  l.seen[l.n++] = _Unwind_GetRegionStart(context);
  return _URC_NO_REASON;
}

LEAT_UNWATCHED void on_lesson(int, siginfo_t*, void* context) {
  lesson* const l = taught;
  if (!l || l->listens == 0) return;
  l->listens = 0;
  const interrupted p = place_of(static_cast<ucontext_t*>(context));
  if (!at_system_call(p)) return;
  l->from = p.pc;
  (void)_Unwind_Backtrace(look, l);
}

void learn(int signal, int (*suspend)(const sigset_t*), lesson& l) noexcept {
  sigset_t ours, before;
  sigemptyset(&ours);
  sigaddset(&ours, signal);
  struct sigaction hear = {}, was = {};
  hear.sa_sigaction = on_lesson;
  hear.sa_flags = SA_SIGINFO;
  sigfillset(&hear.sa_mask);
  if (::pthread_sigmask(SIG_BLOCK, &ours, &before) != 0) return;
  if (fiber::real_sigaction()(signal, &hear, &was) == 0) {
    taught = &l;
    // Pending from here on, for this thread alone: the call below does not wait.
    if (::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal) == 0) {
      sigset_t others = before;
      sigdelset(&others, signal);
      l.listens = 1;
      (void)suspend(&others);
      l.listens = 0;
    }
    // If the call was refused, the signal comes here, and is not heard.
    (void)::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
    taught = nullptr;
    (void)fiber::real_sigaction()(signal, &was, nullptr);
  }
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void look_up_plain_calls() noexcept {
  void* const c_library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!c_library) return;
  for (const char* const name : names)
    if (void* const f = ::dlsym(c_library, name)) add(reinterpret_cast<std::uintptr_t>(f));
  using suspend_fn = int (*)(const sigset_t*);
  // Between sanitizers and their signals nobody should come.
  if (has_helpers() && !fiber::under_asan && !fiber::under_tsan)
    to_learn_from = reinterpret_cast<suspend_fn>(::dlsym(c_library, "sigsuspend"));
  (void)::dlclose(c_library);
}

void learn_plain_calls(int signal, bool (*is_in_c_library)(std::uintptr_t pc) noexcept) noexcept {
  const auto suspend = std::exchange(to_learn_from, nullptr);
  if (!suspend) return;
  lesson l{.is_in_c_library = is_in_c_library};
  learn(signal, suspend, l);
  for (std::size_t i = 0; l.complete && i < l.n; ++i) add(l.seen[i]);
}

LEAT_UNWATCHED bool is_plain_call(std::uintptr_t start) noexcept {
  const std::size_t n = n_starts.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i)
    if (starts[i] == start) return true;
  return false;
}

}  // namespace leat::sched
