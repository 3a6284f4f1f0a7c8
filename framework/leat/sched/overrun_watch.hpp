// SPDX-License-Identifier: BSL-1.0
//
// What the scheduler keeps about Gs that may overrun: with the G its guard, with the M the question that
// sysmon has put to its thread (quarantine.hpp), and sysmon's own notes (overrun.cpp).
#pragma once
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include <leat/sched/overrun.hpp>

namespace leat::sched {

struct G;

inline constexpr std::size_t most_frames = 32;

// What has become of the thread of a quarantined G.
enum class thread_fate : std::uint8_t {
  fenced,  // runs on behind the fence (fence.hpp), or waits in a system call
  frozen,  // stands still for good where it harms nobody
  back,    // has left the G's stack, and runs others
};

// How the kernel shares time out to a thread (fence.hpp).
struct thread_class {
  int policy = 0, priority = 0;  // as sched_setscheduler takes them
  int nice = 0;
};

// Lives from the spawn of a guarded G to its end, or as long as the scheduler if it was quarantined.
struct overrun_watch {
  static std::unique_ptr<overrun_watch> with(std::shared_ptr<overrun_guard> g);

  std::shared_ptr<overrun_guard> guard;
  std::int64_t asked_at = 0;  // when it was asked to stop; 0: never. sysmon, while it holds the G
  bool insisted = false;      // the same
  bool left_alone = false;    // the same: that has been reported
  bool thrown_out = false;    // `stopped` was thrown through it when it was wanted out; the G itself
  // Once it is quarantined; written by sysmon, but for the fate, which the thread itself writes when it is
  // back.
  std::int64_t ran = 0;
  std::atomic<thread_fate> fate{thread_fate::fenced};
  void* trace[most_frames] = {};
  std::atomic<std::size_t> frames{0};
};

// See quarantine.hpp.
struct probe {
  enum state : std::uint32_t {
    none,
    // questions
    where,
    settle,
    answering,
    // answers
    entered,
    seen,
    unclean,
    left,
    frozen,
  };
  static constexpr bool is_question(std::uint32_t w) noexcept { return w == where || w == settle; }
  static constexpr bool is_answer(std::uint32_t w) noexcept { return w > answering; }

  std::atomic<std::uint32_t> word{none};
  std::atomic<std::uint32_t> under_way{0};  // a signal has been sent and not arrived: no need for another
  // The question; written by sysmon before the word.
  sigset_t mask = {};         // the thread's own, while it leaves
  std::uint32_t entries = 0;  // of the gate, when the run began that is meant
  unsigned most_looks = 0;    // for a place to leave or freeze it; then it answers that there is none
  int timer = -1;             // that makes it look again; -1: sysmon asks again
  // The answer; written in the handler before the word.
  void* trace[most_frames] = {};
  std::size_t frames = 0;
  std::uint64_t registers = 0;  // a hash: the same again means that it stands still
  std::atomic<unsigned> looks{0};
  unsigned still = 0;     // looks that found it at the same system call
  bool no_place = false;  // with `unclean`: it was looked at for long enough
  state answer = none;    // as sysmon last read it
};

// sysmon's alone.
struct run_note {
  enum class step : std::uint8_t {
    none,
    asked,
    insisted,
    fenced,  // it is out; its supervisor has not been told yet
    told,    // only its thread is left to be settled
    given_up,
  };

  bool valid = false;
  step done = step::none;
  probe::state question = probe::none;  // put and not settled
  std::uint32_t entries = 0;
  G* who = nullptr;
  std::uint64_t g = 0;         // its id
  std::int64_t next_mark = 0;  // when to hold the M again, to begin a run or to note how long it is
  std::int64_t since = 0;      // it has been in user code from then on at the least, and used no channel
  bool counts = false;         // since is exact: channels send everybody through the runtime from then on
  std::int64_t hang = 0, grace = 0;
  std::uint32_t epoch = 0;     // of come_in (overrun_patrol) when it was last seen raised
  std::int64_t cpu_then = -1;  // CPU time of the thread when since became exact; -1: not known
  bool on_request = false;     // its supervisor wants it out, hang or not
  std::int64_t put_at = 0;     // the question
  std::int64_t next_try = 0;
  std::int64_t tries_since = 0;  // to fence it
  std::int64_t pause = 0;        // from one search for a place to the next; grows
  std::int64_t spare_until = 0;  // how long to wait for word of a spare thread
  bool demoted = false;          // its thread runs at the lowest priority
  bool told = false;             // that it resists
  unsigned looks = 0;            // as last read
  bool goes_on = false;          // the next question continues the looks of the last
};

// sysmon's alone: does the thread wait for a lock that one behind a fence may hold (overrun_lift.cpp)?
struct lock_wait {
  bool waits = false;
  std::int64_t next = 0;   // when to look; 0: it was in the runtime
  std::int64_t since = 0;  // when it was first seen in this call
  std::int64_t pause = 0;  // from one look to the next; grows if it waits for something else
  std::uintptr_t at = 0, sp = 0;
};

}  // namespace leat::sched
