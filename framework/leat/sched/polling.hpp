// SPDX-License-Identifier: BSL-1.0
//
// Which poller is in use, who blocks in it, and until when.
//
// While Ps are idle, one M blocks in the poller until the earliest timer of all Ps; the others sleep on their
// events. A timer that is added later with an earlier deadline ends that wait:
//
//   adder                                    poller M
//    1 publishes the heap's earliest (S)      a until_ = its guess of the earliest (S)
//    2 reads until_ (S), and                  b computes the earliest again; sooner than the guess:
//      interrupts if it is later                does not sleep
//
// (S) are seq_cst: one of the two sees the other. The adder's own P is busy, so what is added there is
// normally run by its owner; step 2 matters when that owner then computes for long or goes idle.
//
// # When nobody blocks there
// An M that wakes with a single G to run leaves nobody behind: a G that ticks once a second shall not cost two wakes. So
// (g and h go on where a to f of idle_set.hpp end)
//   g  who passes on the duty to look (idle_set::pass_on) wakes another M only if a timer of another P is due within
//      two of sysmon's rounds, or if Gs of its P run long (policy/network_share.hpp); and
//   h  sysmon, which comes within a round of any P that is taken (sysmon.hpp), and then again and again while one is
//      busy, does so for the timers of idle Ps that are due by then, and for the network when a G has computed for a
//      while (idle_set::watch_the_rest).
// Forbidden: such a timer is due while a P is idle, nobody blocks in the poller or searches, and sysmon has not come
// since it was less than two rounds away. If it was so at g, that M is awake by then; else h comes before it is due.
//
// Model of a and b: tests/models/timer_poll.pml.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/sched/p_table.hpp>
#include <leat/sched/poller.hpp>

namespace leat::sched {

class polling {
 public:
  poller& network() const noexcept { return *in_use_.load(std::memory_order_acquire); }  // pairs with use
  // From now on, instead of the one before; it lives for longer than this. An M that has read the old one waits
  // there, or is about to: the interrupt ends that wait in both cases.
  void use(poller& p) noexcept {
    poller* const old = in_use_.exchange(&p, std::memory_order_acq_rel);
    if (old != &p) old->interrupt();
  }
  void interrupt() noexcept { network().interrupt(); }
  void note_timer(std::int64_t when) noexcept {
    const std::int64_t until = until_.load(std::memory_order_seq_cst);
    if (until == 0) return;  // nobody polls: the Ms that run will see it, or the one that polls next
    if (when < until) interrupt();
  }
  // An M blocks there, or is about to. A hint.
  bool waited_in() const noexcept { return until_.load(std::memory_order_relaxed) != 0; }
  // Until the earliest timer, an event, or an interrupt.
  void wait(const p_table& ps) noexcept {
    const std::int64_t guess = ps.earliest_timer();
    until_.store(guess, std::memory_order_seq_cst);           // a
    if (ps.earliest_timer() >= guess) network().wait(guess);  // b
    until_.store(0, std::memory_order_seq_cst);
  }
  // Without waiting; `now` by the coarse clock.
  void poll(std::int64_t now) noexcept {
    last_.store(now, std::memory_order_relaxed);
    network().poll();
  }
  std::int64_t last() const noexcept { return last_.load(std::memory_order_relaxed); }

 private:
  sleep_poller own_;
  std::atomic<poller*> in_use_{&own_};  // until the network comes into use
  std::atomic<std::int64_t> until_{0};  // while an M blocks in the poller: until when; else 0
  std::atomic<std::int64_t> last_{0};
};

}  // namespace leat::sched
