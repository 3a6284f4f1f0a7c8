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

// Lives from the spawn of a guarded G to its end, or as long as the scheduler if it was quarantined.
struct overrun_watch {
  std::shared_ptr<overrun_guard> guard;
  std::int64_t asked_at = 0;  // when it was asked to stop; 0: never. sysmon, while it holds the G
  bool insisted = false;      // the same
  bool left_alone = false;    // the same: that has been told
  // Once it is quarantined:
  void* trace[most_frames] = {};
  std::size_t frames = 0;
};

// See quarantine.hpp.
struct summons {
  enum state : std::uint32_t {
    none,
    // questions
    where,
    leave,
    freeze,
    answering,
    // answers
    entered,
    seen,
    unclean,
    locked,
    left,
    frozen,
  };
  static constexpr bool is_question(std::uint32_t w) noexcept { return w >= where && w <= freeze; }
  static constexpr bool is_answer(std::uint32_t w) noexcept { return w > answering; }

  std::atomic<std::uint32_t> word{none};
  std::atomic<std::uint32_t> under_way{0};  // a signal has been sent and not arrived: no need for another
  // The question; written by sysmon before the word.
  sigset_t mask = {};          // the thread's own, while it leaves
  std::uint32_t entries = 0;   // of the gate, when the run began that is meant
  std::int64_t cpu_then = -1;  // CPU time of the thread at an earlier look; -1: this is the first
  unsigned most_looks = 0;     // for a place to leave it; then it answers that there is none
  int timer = -1;              // that makes it look again; -1: sysmon asks again
  // The answer; written in the handler before the word.
  void* trace[most_frames] = {};
  std::size_t frames = 0;
  std::uint64_t registers = 0;  // a hash: the same again means that it stands still
  std::int64_t cpu = 0;
  std::atomic<unsigned> looks{0};
  unsigned looks_in_own_code = 0;  // at which it stood in code that could be left, called by code that cannot
  unsigned still = 0;              // looks that found it at the same system call
  bool no_place = false;           // with `unclean`: it was looked at for long enough
  state answer = none;             // as sysmon last read it
};

// sysmon's alone.
struct run_note {
  enum class step : std::uint8_t { none, asked, insisted, given_up };

  bool valid = false;
  step done = step::none;
  summons::state question = summons::none;  // put and not settled
  std::uint32_t entries = 0;
  G* who = nullptr;
  std::uint64_t g = 0;         // its id
  std::int64_t next_mark = 0;  // when to hold the M again, to begin a run or to note how long it is
  std::int64_t since = 0;      // it has been in user code from then on at the least, and used no channel
  bool counts = false;         // since is exact: channels send everybody through the runtime from then on
  std::int64_t hang = 0, grace = 0;
  std::int64_t put_at = 0;  // the question
  std::int64_t next_try = 0;
  std::int64_t looks_since = 0;  // for a place where it can be left
  std::int64_t cpu_then = -1;    // CPU time of the thread at the first look; -1: there was none
  bool told = false;
  unsigned looks = 0;               // as last read
  bool no_way_out = false;          // it was looked at for long enough
  bool goes_on = false;             // the next question continues the looks of the last
  std::exception_ptr failure = {};  // what its joiner will be told; made before it is frozen
};

}  // namespace leat::sched
