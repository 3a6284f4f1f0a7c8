// SPDX-License-Identifier: BSL-1.0
//
// Gs that run too long without entering the runtime. sysmon sees them and escalates; whoever supervises the
// G (process/supervisor, the host of a service) is told of each step and replaces it.
//
//   slice          its P is retaken (sysmon.cpp); nobody is told
//   hang           asked to stop: every blocking call returns `stopped`
//   hang + grace   insisted on: the next entry into the runtime throws leat::stopped through it
//   then           quarantined, if it still has not entered: it will never run again
#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>

#include <leat/base/clock.hpp>

namespace leat {

enum class overrun_step : std::uint8_t {
  asked,
  insisted,
  quarantined,  // its stack was dropped where it stood; its thread goes on with others
  frozen,       // it stood in code that must not be left: its thread stands still with it
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

  // On sysmon's thread, without locks. Must not wait: a try_send to a channel with room is fine. After
  // `quarantined` or `frozen` the G is over: its body will not return, and nothing it owned is destroyed.
  virtual void overran(const overrun_news& news) noexcept = 0;

 private:
  nanoseconds hang_, grace_;
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
