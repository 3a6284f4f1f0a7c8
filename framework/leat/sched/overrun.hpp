// SPDX-License-Identifier: BSL-1.0
//
// Gs that run too long without entering the runtime. sysmon sees them and escalates; whoever supervises the
// G (process/supervisor, the host of a service) is told of each step and replaces it.
//
//   slice          its P is retaken (sysmon.cpp); nobody is told
//   hang           asked to stop: every blocking call returns `stopped`
//   hang + grace   insisted on: the next entry into the runtime throws leat::stopped through it
//   then           quarantined, if it still has not entered: it will never run again; left alone, if
//                  max_quarantined are in quarantine already
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>

#include <leat/base/clock.hpp>

namespace leat {

namespace sched {
class overrun_patrol;
}

enum class overrun_step : std::uint8_t {
  asked,
  insisted,
  quarantined,  // its stack was dropped where it stood; its thread goes on with others
  frozen,       // it stood in code that must not be left: its thread stands still with it
  left_alone,   // too many are in quarantine: it runs on; told once
};
const char* to_string(overrun_step s) noexcept;

struct overrun_news {
  overrun_step step;
  std::uint64_t g;               // its id
  nanoseconds ran;               // since it last entered the runtime
  std::span<void* const> trace;  // where it stands, innermost first; empty if it cannot be told
};

// What a G may use up; given to it at its start (spawn_options::guard) and shared with its supervisor.
// A declared blocking call (leat::blocking) is no overrun, however long it takes: it counts as waiting.
class overrun_guard {
 public:
  overrun_guard(nanoseconds hang, nanoseconds grace) noexcept : hang_(hang), grace_(grace) {}
  virtual ~overrun_guard() = default;
  overrun_guard(const overrun_guard&) = delete;
  overrun_guard& operator=(const overrun_guard&) = delete;

  nanoseconds hang() const noexcept { return hang_; }
  nanoseconds grace() const noexcept { return grace_; }

  // The longest run without entering the runtime that sysmon has seen so far, of whichever G has this guard.
  // sysmon looks now and then, which costs the G nothing: the true one may be longer by run_blur, and by what
  // the machine keeps sysmon waiting; zero: none was seen that long.
  static constexpr nanoseconds run_blur = std::chrono::milliseconds(20);
  nanoseconds longest_run() const noexcept { return nanoseconds(longest_.load(std::memory_order_relaxed)); }

  // On sysmon's thread, without locks. Must not wait: a try_send to a channel with room is fine. After
  // `quarantined` or `frozen` the G is over: its body will not return, and nothing it owned is destroyed.
  virtual void overran(const overrun_news& news) noexcept = 0;

 private:
  friend class sched::overrun_patrol;

  nanoseconds hang_, grace_;
  std::atomic<std::int64_t> longest_{0};  // ns; written by sysmon alone
};

// The real-time signal by which threads are asked where they stand, or 0. Chosen when the first runtime
// starts, from SIGRTMAX - 1 downwards, among those that have no handler then; chosen anew if a handler takes
// its place.
int quarantine_signal() noexcept;

// What joining a G that was quarantined gives.
class quarantined : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace leat
