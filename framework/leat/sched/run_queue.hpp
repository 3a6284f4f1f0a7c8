// SPDX-License-Identifier: BSL-1.0
//
// The local run queue of a P: a ring of exactly `capacity` slots. One owner pushes at the tail and pops
// at the head, thieves take from the head.
//
// Variables: head (advanced by CAS by owner and thieves), tail (written by the owner), slots, and two of the
// owner's own: known_head (a head it has seen with acquire) and alone (no thief has ever been let in).
// Owner pushes:   1 read head (acquire), unless known_head already shows room   2 full if tail - head =
// capacity
//                 3 write slot[tail]   4 tail + 1 (release)
// Owner pops:     5 read head and slot   6 head + 1 by CAS, or by a plain store while alone
// Thieves take n: a read head (acquire)   b read tail (acquire)   c read the slots   d head + n by CAS
// (release) Why it holds:
// - c before d: a slot may be written again (3) only after head has passed it, which 1 sees by the release
//   in d. So a successful CAS means that what c read was still what step 3 had written. 6 needs no release:
//   the owner itself writes the slot again, and as a read-modify-write it keeps d's release sequence going.
// - b's acquire pairs with 4's release: the slots up to tail are written, and so is what they point to.
// - A thief may read head, be delayed, and read a tail that is more than `capacity` ahead; it then sees
//   nonsense and starts again. Counters wrap at 2^32; the storage is a power of two, so indices stay right.
// - alone ends in the owner's own round (let_thieves_in), before thieves are told of this ring (P::shared).
//
// Model test: tests/sched/run_queue_test.cpp (small capacities, every size, thieves under TSan).
#pragma once
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include <leat/base/atom.hpp>
#include <leat/base/check.hpp>

namespace leat::sched {

struct G;

class run_queue {
 public:
  explicit run_queue(std::uint32_t capacity, bool alone = false)
      : capacity_(capacity),
        mask_(std::bit_ceil(capacity) - 1),
        alone_(alone),
        slots_(std::make_unique<atom<G*>[]>(std::bit_ceil(capacity))) {}

  std::uint32_t capacity() const noexcept { return capacity_; }

  // Any thread; out of date when it returns.
  std::uint32_t size() const noexcept {
    const std::uint32_t h = head_.load(std::memory_order_acquire);
    const std::uint32_t n = tail_.load(std::memory_order_acquire) - h;
    return n > capacity_ ? capacity_ : n;
  }
  bool empty() const noexcept { return size() == 0; }

  // Owner: exact in the sense that what it says is empty stays so until the next push.
  bool empty_for_owner() const noexcept {
    return tail_.load(std::memory_order_relaxed) == head_.load(std::memory_order_relaxed);
  }

  // Owner: no less than this unless thieves come meanwhile.
  std::uint32_t size_for_owner() const noexcept {
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
  }

  // Owner. False: full. May overlap with takes.
  bool push(G* g) noexcept {
    const std::uint32_t t = tail_.load(std::memory_order_relaxed);
    if (t - known_head_ >= capacity_) [[unlikely]] {
      known_head_ = head_.load(std::memory_order_acquire);  // 1, pairs with d
      if (t - known_head_ >= capacity_) return false;
    }
    slots_[t & mask_].store(g, std::memory_order_relaxed);
    if (alone_) {
      tail_.store(t + 1, std::memory_order_relaxed);
    } else {
      tail_.store(t + 1, std::memory_order_release);  // 4, pairs with b
    }
    return true;
  }

  // Owner. May overlap with takes.
  G* pop() noexcept {
    std::uint32_t h = head_.load(std::memory_order_relaxed);
    const std::uint32_t t = tail_.load(std::memory_order_relaxed);
    if (alone_) {
      if (h == t) return nullptr;
      G* g = slots_[h & mask_].load(std::memory_order_relaxed);
      head_.store(h + 1, std::memory_order_relaxed);
      return g;
    }
    while (h != t) {
      G* g = slots_[h & mask_].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(h, h + 1, std::memory_order_relaxed)) return g;
    }
    return nullptr;
  }

  // Owner, once.
  void let_thieves_in() noexcept { alone_ = false; }

  // Owner or thief: up to `most` from the head into `out`. `share` of what is there: 2 takes half, rounded
  // up for thieves so that a single G can be stolen. May overlap with everything.
  std::uint32_t take_half(G** out, std::uint32_t most) noexcept {
    for (;;) {
      std::uint32_t h = head_.load(std::memory_order_acquire);        // a
      const std::uint32_t t = tail_.load(std::memory_order_acquire);  // b, pairs with push
      std::uint32_t n = t - h;
      if (n > capacity_) continue;  // head moved on between a and b
      n -= n / 2;
      if (n > most) n = most;
      if (n == 0) return 0;
      for (std::uint32_t i = 0; i < n; ++i) out[i] = slots_[(h + i) & mask_].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(h, h + n, std::memory_order_release, std::memory_order_relaxed))
        return n;  // d
    }
  }

  // Owner: makes room by handing half of a full ring to `sink(G*)`. Returns how many; none for capacity 1.
  // May overlap with takes, in which case it may find less to do.
  template <class Sink>
  std::uint32_t spill_half(Sink sink) noexcept {
    std::uint32_t h = head_.load(std::memory_order_acquire);
    const std::uint32_t n = (tail_.load(std::memory_order_relaxed) - h) / 2;
    if (n == 0) return 0;
    // The slots are read before the CAS and handed on after it: a failed CAS means that thieves came.
    if (!head_.compare_exchange_strong(h, h + n, std::memory_order_release, std::memory_order_relaxed))
      return 0;
    // Only the owner writes slots, and it is here: they keep their values past the CAS.
    for (std::uint32_t i = 0; i < n; ++i) sink(slots_[(h + i) & mask_].load(std::memory_order_relaxed));
    return n;
  }

 private:
  const std::uint32_t capacity_;
  const std::uint32_t mask_;
  bool alone_;
  std::uint32_t known_head_ = 0;
  const std::unique_ptr<atom<G*>[]> slots_;
  alignas(64) atom<std::uint32_t> head_{0};
  alignas(64) atom<std::uint32_t> tail_{0};
};

}  // namespace leat::sched
