// SPDX-License-Identifier: BSL-1.0
//
// Starts threads where the system may refuse them: by a limit on tasks (TasksMax= of systemd, pids.max of a
// cgroup, `ulimit -u`), or on address space (`ulimit -v`), of which each thread takes its stack.
//
// A refusal is no end: the Ms that there are go on, and whoever comes to sleep looks once more for a P with
// work (idle_set::sleep). But each wake-up that finds no sleeping M wants a new one, thousands of times a second, and
// a refused clone costs tens of microseconds. So after a refusal nobody asks again for `pause`, and only the
// first one is told. sysmon asks again while work waits for a thread (sysmon::look_for_waiting_work).
//
// Thread safety: any thread may call anything at any time.
#pragma once
#include <pthread.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace leat::sched {

class thread_start {
 public:
  static constexpr std::int64_t pause = 10'000'000;  // ns

  // One was refused a moment ago.
  bool pauses() const noexcept;
  // 0, or an errno value. The thread may have ended when this returns.
  int start(void* (*body)(void*), void* arg) noexcept;
  // As if start had been refused: there was no memory for what it needs.
  void refused(int error) noexcept;
  // Says that start has failed with `error`, the first time. `threads`: those that go on.
  void tell_once(int error, unsigned threads) noexcept;
  // Some thread has been refused so far.
  bool ever_refused() const noexcept { return last_error() != 0; }
  int last_error() const noexcept { return error_.load(std::memory_order_relaxed); }

  // Which limit refuses, and what to raise: a clause for a message.
  static std::string what_to_raise();
  // Of each thread: the system's default, but under `ulimit -v` at most a 64th of that and at least 256K,
  // so that some dozens fit. g0 runs leat::blocking calls of users: it is small only where it must be.
  static std::size_t stack_size() noexcept;

 private:
  std::atomic<std::int64_t> refused_at_{0};  // 0: the last one was not
  std::atomic<int> error_{0};                // of the last refusal
  std::atomic<bool> told_{false};
};

}  // namespace leat::sched
