// SPDX-License-Identifier: BSL-1.0
//
// Gs that run too long without entering the runtime. sysmon sees them and escalates; whoever supervises the
// G (process/supervisor, the host of a service) is told of each step and replaces it.
//
//   slice          its P is retaken (sysmon.cpp); nobody is told
//   hang           asked to stop: every blocking call returns `stopped`
//   hang + grace   insisted on: the next entry into the runtime throws `stopped` through it
//   then           quarantined, if it still has not entered: it is fenced (fence.hpp) and has ended for
//                  everybody else. left alone, if max_quarantined are in quarantine already
//
// Until the quarantine its thread gets no signal: no system call of it returns early. After it, signals find
// out where the thread stands and whether it can be taken off the G's stack, or be stopped, without harm
// (quarantine.hpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <leat/base/chrono.hpp>
#include <span>
#include <stdexcept>

#include <leat/base/clock.hpp>

namespace leat {

namespace sched {
class overrun_patrol;
struct overrun_watch;
class scheduler;
}  // namespace sched

enum class overrun_step : std::uint8_t {
  asked,
  insisted,
  quarantined,  // it is out: behind a fence, whatever its thread does
  left_alone,   // too many are in quarantine: it runs on; reported once
};
const char* to_string(overrun_step s) noexcept;

struct overrun_news {
  overrun_step step;
  std::uint64_t g;  // its id
  nanoseconds ran;  // since it last entered the runtime
  // With `quarantined`: where it stands, innermost first; empty if that is unknown. Before, it gets no signal.
  std::span<void* const> trace;
  // With `asked` and `insisted`: the system call that it waits in, or null.
  const char* call = nullptr;
  // With `quarantined`: no further thread can be had, so the next one that hangs may stop the program.
  bool last_thread = false;
  // With `left_alone`, or null: the G that holds the mutex it waits for, and which is quarantined itself.
  const char* behind = nullptr;
};

// What a G may use up; given to it at its start (spawn_options::guard) and shared with its supervisor.
// A declared blocking call (leat::blocking) is no overrun, however long it takes: it counts as waiting.
class overrun_guard {
 public:
  // Times of any kind; one that is longer than `longest` is cut to it, which is as good as without end.
  template <class Rep, class Period, class Rep2, class Period2>
  overrun_guard(std::chrono::duration<Rep, Period> hang, std::chrono::duration<Rep2, Period2> grace) noexcept
      : hang_(cut(saturate_ns(hang))), grace_(cut(saturate_ns(grace))) {}
  virtual ~overrun_guard();
  overrun_guard(const overrun_guard&) = delete;
  overrun_guard& operator=(const overrun_guard&) = delete;

  // Several of them, added to the time since the machine was started, are no overflow.
  static constexpr nanoseconds longest = std::chrono::hours(24 * 365 * 30);

  nanoseconds hang() const noexcept { return hang_; }
  nanoseconds grace() const noexcept { return grace_; }

  // The longest run without entering the runtime that sysmon has seen so far, of whichever G has this guard.
  // sysmon looks now and then, which costs the G nothing: the true one may be longer by run_blur, and by what
  // the machine keeps sysmon waiting; zero: none was seen that long.
  static constexpr nanoseconds run_blur = std::chrono::milliseconds(20);
  nanoseconds longest_run() const noexcept {
    return nanoseconds(runtime_.longest.load(std::memory_order_relaxed));
  }

  // On sysmon's thread, without locks. Must neither wait nor allocate: a try_send to a channel with room is
  // fine. After `quarantined` the G is over: its body will not return, and nothing it owned is destroyed.
  virtual void overran(const overrun_news& news) noexcept = 0;

  // Any thread: the G shall be out although it does not hang, because it was asked to stop and insisted on,
  // and goes on all the same. It is fenced as soon as it is in user code; `quarantined` is reported then.
  void want_out() noexcept;
  bool out_wanted() const noexcept {
    return (runtime_.out.load(std::memory_order_relaxed) & runtime_part::wanted) != 0;
  }

  // Makes now what the next G that is given this guard would allocate at its spawn.
  void make_ready();

  // What only the runtime writes.
  struct runtime_part {
    std::atomic<sched::overrun_watch*> ready{nullptr};
    std::atomic<std::int64_t> longest{0};  // ns; by sysmon alone
    // In one word, so that sysmon is told of a wish that can be fulfilled, and when it is: of one that comes
    // when the last of its Gs has ended, nobody would ever take note.
    static constexpr std::uint32_t wanted = 1, one_g = 2;
    std::atomic<std::uint32_t> out{0};  // wanted, and one_g for each G that has it and is not out
  };
  runtime_part& for_runtime() noexcept { return runtime_; }

 private:
  static constexpr nanoseconds cut(nanoseconds d) noexcept {
    return d < nanoseconds::zero() ? nanoseconds::zero() : d > longest ? longest : d;
  }

  nanoseconds hang_, grace_;
  runtime_part runtime_;
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
