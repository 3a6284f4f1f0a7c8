// SPDX-License-Identifier: BSL-1.0
#include "support/watchdog.hpp"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include <leat/base/check.hpp>
#include <leat/base/format.hpp>
#include <leat/base/units.hpp>

namespace leat::test {

namespace {

using namespace std::chrono_literals;

std::mutex lock;
std::condition_variable changed;
// All under `lock`, except that the dying process reads `current` without it.
running_test current;
time_point began{};
deadline ends = deadline::never();
bool stopping = false;
std::thread watcher;

std::atomic<bool> limit_hit{false};
std::atomic<int> traces_done{0};

int trace_signal() { return SIGRTMAX - 1; }

void print_own_trace(int) {
  const int kept = errno;
  void* frames[64];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 64), STDERR_FILENO);
  traces_done.fetch_add(1);
  errno = kept;
}

// From here on nothing may allocate: a thread that hangs may hold the allocator's lock.

void print_thread_header(int tid) {
  fixed_text<64> path;
  path.append("/proc/self/task/").append_int(tid).append("/comm").append('\0');
  char name[32] = "?";
  const int fd = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t size = ::read(fd, name, sizeof name - 1);
    if (size > 0) name[size - (name[size - 1] == '\n' ? 1 : 0)] = '\0';
    ::close(fd);
  }
  fixed_text<128> header;
  header.append("thread ").append_int(tid).append(" ").append(static_cast<const char*>(name)).append(":\n");
  write_text(STDERR_FILENO, header.view());
}

void print_thread(int tid, deadline all_done) {
  print_thread_header(tid);
  const int before = traces_done.load();
  const deadline patience = std::min(deadline(2s), all_done);
  if (::syscall(SYS_tgkill, ::getpid(), tid, trace_signal()) == 0) {
    const timespec pause{0, 1'000'000};
    while (traces_done.load() == before && !patience.expired()) ::nanosleep(&pause, nullptr);
  }
  if (traces_done.load() == before) write_text(STDERR_FILENO, "  (does not answer)\n");
}

void print_all_threads() {
  const deadline all_done(8s);
  const int fd = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const auto self = static_cast<int>(::syscall(SYS_gettid));
  alignas(dirent64) char entries[4096];
  for (;;) {
    const long size = ::syscall(SYS_getdents64, fd, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      int tid = 0;
      const char* name = entry->d_name;
      if (std::from_chars(name, name + std::strlen(name), tid).ec != std::errc{} || tid == self) continue;
      print_thread(tid, all_done);
    }
  }
  ::close(fd);
}

[[noreturn]] void die_of_time(const running_test& test, nanoseconds took) {
  limit_hit.store(true);
  // Should the last words or a trace hang too, this ends the program.
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(30);
  fixed_text<1024> text;
  text.append("\n").append(test.file).append(':').append_uint(test.line);
  text.append(": TIME LIMIT: test \"").append(test.name).append("\" still runs after ");
  text.append_int(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()).append(" ms\n");
  write_text(STDERR_FILENO, text.view());
  run_last_words(STDERR_FILENO);
  print_all_threads();
  std::abort();
}

void watch() {
  ::pthread_setname_np(::pthread_self(), "test-watchdog");
  std::unique_lock guard(lock);
  while (!stopping) {
    if (ends.is_never()) {
      changed.wait(guard);
    } else if (ends.expired()) {
      die_of_time(current, saturating_sub(now(), began));
    } else {
      changed.wait_until(guard, ends.at());
    }
  }
}

void say_current_test(int fd, void*) {
  if (limit_hit.load() || !current.name) return;
  fixed_text<512> text;
  text.format("in test \"{}\", {}:{}\n", current.name, current.file, current.line);
  write_text(fd, text.view());
}

}  // namespace

void start_watchdog() {
  // The first call loads libgcc and allocates, which a signal handler must not.
  void* frames[4];
  ::backtrace(frames, 4);
  struct sigaction action = {};
  action.sa_handler = print_own_trace;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(trace_signal(), &action, nullptr);
  add_last_words(say_current_test, nullptr);
  // Signals that tests send to the process are not for this thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher = std::thread(watch);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void stop_watchdog() {
  {
    std::lock_guard guard(lock);
    stopping = true;
    changed.notify_one();
  }
  watcher.join();
  remove_last_words(say_current_test, nullptr);
}

void test_begins(const running_test& test, nanoseconds limit) {
  std::lock_guard guard(lock);
  current = test;
  began = now();
  ends = limit > nanoseconds::zero() ? deadline(limit, began) : deadline::never();
  changed.notify_one();
}

void test_ends() {
  std::lock_guard guard(lock);
  current = running_test{};
  ends = deadline::never();
}

running_test current_test() noexcept { return current; }

nanoseconds default_time_limit() {
  const nanoseconds usual = std::getenv("LEAT_LONG") ? 540s : 300s;
  const char* given = std::getenv("LEAT_TEST_TIME_LIMIT");
  if (!given || !*given) return usual;
  if (const auto limit = parse_duration(given)) return *limit.value;
  if (const auto limit = parse_duration(std::string(given) + "s")) return *limit.value;
  std::fprintf(stderr,
               "LEAT_TEST_TIME_LIMIT=%s is neither seconds nor a duration such as 500ms; using %llds\n",
               given, static_cast<long long>(usual / 1s));
  return usual;
}

}  // namespace leat::test
