// SPDX-License-Identifier: BSL-1.0
//
// What others have for sysmon: a call, how long it sleeps, a dump that is wanted, the loop that it watches.
// The protocol of its deep sleep is in sysmon.hpp.
#pragma once
#include <sched.h>
#include <atomic>
#include <cstdint>

#include <leat/sched/thread_event.hpp>

namespace leat::sched {

class heartbeat;

class sysmon_mailbox {
 public:
  // Ends its sleep, or else the next one. Any thread, also in a signal handler.
  void call() noexcept { event_.signal(); }

  // A signal handler asks for all Gs to be printed.
  void ask_for_dump() noexcept {
    dump_asked_.store(true, std::memory_order_relaxed);
    call();
  }

  // A thread prints them (dump_aside). True: one does already. Acquire pairs with dump_ends: nobody else waits for it.
  bool dump_begins() noexcept { return dumps_.exchange(true, std::memory_order_acquire); }
  void dump_ends() noexcept { dumps_.store(false, std::memory_order_release); }
  bool dumps() const noexcept { return dumps_.load(std::memory_order_acquire); }

  // It looks at this one from now on; null: at none.
  void watch(heartbeat* beat) noexcept {
    beat_.store(beat, std::memory_order_seq_cst);  // pairs with look_at_beat
    call();
    // It may be looking at the one before.
    while (beat_in_use_.load(std::memory_order_seq_cst)) ::sched_yield();
  }

  // Somebody wants to know who uses the CPU (sight.hpp): until then it looks often.
  void watch_cpu_until(std::int64_t at) noexcept {
    cpu_until_.store(at, std::memory_order_relaxed);
    if (sleeps_deeply()) call();
  }
  std::int64_t watches_cpu_until() const noexcept { return cpu_until_.load(std::memory_order_relaxed); }

  // Until when it sleeps deeply, seq_cst (step b); 0: it does not.
  std::int64_t sleeps_until() const noexcept { return until_.load(std::memory_order_seq_cst); }
  bool sleeps_deeply() const noexcept { return until_.load(std::memory_order_relaxed) != 0; }

  // --- sysmon alone --------------------------------------------------------------------------------
  // True: it was called.
  bool wait(std::int64_t until) noexcept { return event_.wait(until); }
  void announce_sleep(std::int64_t until) noexcept { until_.store(until, std::memory_order_seq_cst); }  // 1
  void end_sleep() noexcept { until_.store(0, std::memory_order_relaxed); }                             // 5
  bool take_dump() noexcept { return dump_asked_.exchange(false, std::memory_order_relaxed); }
  // f(beat), if there is one; else `none`.
  template <class F>
  std::int64_t look_at_beat(F f, std::int64_t none) noexcept {
    if (!beat_.load(std::memory_order_relaxed)) return none;
    beat_in_use_.store(true, std::memory_order_seq_cst);
    heartbeat* const beat = beat_.load(std::memory_order_seq_cst);  // pairs with watch
    const std::int64_t next = beat ? f(*beat) : none;
    beat_in_use_.store(false, std::memory_order_release);
    return next;
  }

 private:
  thread_event event_;
  std::atomic<bool> dumps_{false};
  std::atomic<heartbeat*> beat_{nullptr};
  std::atomic<bool> beat_in_use_{false};
  std::atomic<std::int64_t> until_{0};
  std::atomic<bool> dump_asked_{false};
  std::atomic<std::int64_t> cpu_until_{0};
};

}  // namespace leat::sched
