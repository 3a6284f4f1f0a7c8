// SPDX-License-Identifier: BSL-1.0
//
// The loop that watches over all others is watched itself, by sysmon: the host of services is a G like any
// other, and a call of it that never returns would end all restarts, and the answer to signals.
//
// Roles. The loop says when it begins a step and when it rests, and whether something waits for it. sysmon
// looks some times while a step lasts. A step that lasts longer than the limit, or something that waits for
// as long while the loop rests, is reported once, on sysmon's thread.
//
// Time counts from look to look, and not more than a share of the limit for each: while the whole program
// stood still (SIGSTOP, a debugger, a machine that was frozen), the loop could make no step.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/base/clock.hpp>

namespace leat::sched {

struct G;

// While it lives, the calling G watches over others: it does not wait for a log sink of the program's (base/log_aside.hpp).
class watching {
 public:
  watching() noexcept;
  ~watching();
  watching(const watching&) = delete;
  watching& operator=(const watching&) = delete;

 private:
  G* const g_;
};

class heartbeat {
 public:
  explicit heartbeat(nanoseconds limit) noexcept : limit_(limit.count()) {}
  heartbeat(const heartbeat&) = delete;
  heartbeat& operator=(const heartbeat&) = delete;

  // The loop, on its G. From watch() to the destructor of the derived class, which calls unwatch().
  void watch() noexcept;
  void unwatch() noexcept;
  void step() noexcept { busy_since_.store(now_ns(), std::memory_order_relaxed); }
  void rest() noexcept { busy_since_.store(0, std::memory_order_relaxed); }

  // sysmon. When to look again.
  std::int64_t look(std::int64_t now) noexcept;

 protected:
  ~heartbeat() = default;
  // sysmon's thread: must not wait, allocate, or take a lock that is not Leat's.
  virtual bool is_awaited() const noexcept = 0;
  virtual void is_late(nanoseconds since, std::uint64_t g) noexcept = 0;

 private:
  const std::int64_t limit_;
  std::uint64_t g_ = 0;                      // whose loop it is
  std::atomic<std::int64_t> busy_since_{0};  // 0: it rests
  // sysmon's notes.
  std::int64_t awaited_since_ = 0;
  std::int64_t late_for_ = 0;  // the step or the wait that is timed, by when it began
  std::int64_t last_look_ = 0;
  std::int64_t counted_ = 0;  // of its time
  bool told_ = false;
};

// The program is to end: threads of quarantined Gs run as all others do from now on, so that a lock which one
// of them holds for a moment is given back (overrun_lift.cpp). Any thread.
void hurry_to_end() noexcept;

// Where a G stands, for sysmon: a line for each frame, with file and offset, which needs no lock. Its thread
// is asked by signal if it runs.
void write_where_it_stands(int fd, std::uint64_t g) noexcept;

}  // namespace leat::sched
