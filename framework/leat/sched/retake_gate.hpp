// SPDX-License-Identifier: BSL-1.0
//
// Who may touch an M's P: the one protocol behind retaking, preempting and last-resort stealing.
//
// Roles. The owner is the M's thread. Askers are sysmon and thieves. The P, its run_next and everything
// else that the owner uses without locks belong to the owner while `in_runtime` is 1, and may be
// borrowed by one asker while the owner is in user code (in_runtime 0).
//
// Variables, per M:
//   in_runtime  written by the owner alone
//   word        quiet: nobody asks. Only the owner writes it.
//               quiet_dear: the same where there is no membarrier (barrier.hpp); below, quiet stands for both
//               asked: an asker is about to look at in_runtime
//               borrowed: the asker has the P; an owner that enters waits for it
//               taken: the asker kept the P; the owner learns it at its next entry
//               look: an asker came and went; the owner must synchronise with what it did
//               asked_later: as asked, at an M whose P has been taken before
//   asking      a try-lock, so that there is one asker at a time
//   entries     how often the owner came in and found a word other than quiet; written by the owner alone
//
// Owner enters:  1 in_runtime = 1   2 light barrier   3 read word; quiet is the fast path
//                  (without membarrier: whatever it reads, a full barrier, and it reads word again)
//                4 asked -> quiet by CAS (denied), look -> quiet, taken or asked_later -> quiet and the P is
//                  lost, borrowed: wait; then entries + 1
// Owner passes:  as it enters, but it stays the same run: look stays, and entries too; taken and asked_later as
//                  in 4; asked: leaves again for a moment, else one that passes all the time would deny every
//                  asker; then asked -> look by CAS
// Owner leaves:  5 in_runtime = 0 (release)
// Asker:         a lock asking   b word quiet or look -> asked by CAS   c heavy barrier
//                d in_runtime 1: asked -> look by CAS; done
//                e in_runtime 0: asked -> borrowed by CAS; then look (given back) or taken (release)
// Holder:        as an asker, who also comes to an M without a P: taken -> asked_later in b, back to taken
//                in d and when it is done. Since only the owner writes quiet, every entry after a hold is
//                counted in entries: as long as these stay the same, the owner has been in user code without
//                a break but for passes.
//
// What each step forbids:
// - Without 2 and c, the owner's 1 can be delayed past its 3 while d reads 0 and 3 reads quiet: both use
//   the P. With them, an entry that comes after c reads asked or later, and one before c is seen by d.
// - Without `asking`, asker X stalls between d and e; the owner denies X and enters, asker Y writes asked,
//   and X's CAS in e succeeds against Y's asked while the owner is inside.
// - quiet is written by the owner alone: a relaxed read of quiet in 3 can then only be its own, so no
//   acquire is needed on the fast path. If askers restored quiet, the owner could read it and still miss
//   what the asker did to the P before.
// - A pass that made look quiet would hide the next entry, which is then not counted: whoever compares entries takes
//   the next run for the one it held.
//
// Model: tests/models/retake.pml. Stress: tests/sched/retake_gate_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/base/atom.hpp>
#include <leat/base/safety.hpp>
#include <leat/sched/barrier.hpp>

namespace leat::sched {

class retake_gate {
 public:
  enum class entry : unsigned char { kept, lost };
  enum class hold : unsigned char { none, with_p, without_p };

  // Owner. False: call enter_slow, which tells whether the P is still there.
  [[nodiscard, gnu::always_inline]] bool enter() noexcept {
    if constexpr (!safety::marks) return true;
    in_runtime_.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const std::uint32_t w = word_.load(std::memory_order_relaxed);
    if (w == quiet) [[likely]]
      return true;
    return w == quiet_dear && still_quiet();
  }
  entry enter_slow() noexcept;
  // Owner: comes in for some stores of its own. It is no sign that the G gets on.
  [[nodiscard]] entry pass() noexcept;
  // The owner's next entry takes the slow way, as if somebody had looked. In a simulated world (world.hpp).
  void arm() noexcept {
    std::uint32_t w = rest_;
    (void)word_.compare_exchange_strong(w, look, std::memory_order_relaxed);
  }
  // The owner's light barrier for other handshakes: what it needs to know is at hand here.
  void light_barrier() const noexcept {
    if (rest_ == quiet) [[likely]]
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      full_barrier();
  }
  // Release pairs with the acquire in try_borrow: what the owner did to its P comes first, and so does a
  // quiet that it wrote, which could else land on top of a borrowed.
  void leave() noexcept {
    if constexpr (safety::marks) in_runtime_.store(0, std::memory_order_release);
  }

  // Asker. After true the P is the caller's until give_back or keep, which must follow soon: the owner
  // may be waiting.
  [[nodiscard]] bool try_borrow() noexcept;
  void give_back() noexcept { finish(look); }
  void keep() noexcept { finish(taken); }

  // Holder: keeps the owner in user code, with or without its P. To be followed by let_go soon.
  [[nodiscard]] hold try_hold() noexcept;
  void let_go(hold h) noexcept { finish(h == hold::with_p ? look : taken); }
  [[gnu::always_inline]] std::uint32_t entries() const noexcept {
    return entries_.load(std::memory_order_relaxed);
  }

  // Exact on the owner's own thread. For reports: may be out of date when it returns.
  [[gnu::always_inline]] bool in_runtime() const noexcept {
    return in_runtime_.load(std::memory_order_relaxed) != 0;
  }

 private:
  enum state : std::uint32_t { quiet, asked, borrowed, taken, look, asked_later, quiet_dear };
  hold try_take(bool also_without_p) noexcept;
  entry answer_askers(state leaves) noexcept;
  void finish(state s) noexcept;
  bool still_quiet() const noexcept;

  const state rest_ = detail::membarrier_works.load(std::memory_order_relaxed) ? quiet : quiet_dear;
  atom<std::uint32_t> in_runtime_{1};
  atom<std::uint32_t> word_{rest_};
  atom<std::uint32_t> asking_{0};
  atom<std::uint32_t> entries_{0};
};

}  // namespace leat::sched
