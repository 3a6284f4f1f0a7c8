// SPDX-License-Identifier: BSL-1.0
//
// The local run queue of a P: a ring of exactly `capacity` slots. One owner pushes at the tail and pops
// at the head, thieves take from the head. Each has a type of its own, so that each use says which it is.
//
// Variables: head (advanced by CAS by owner and thieves), tail (written by the owner), slots, and two of the
// owner's own: known_head (a head it has seen with acquire) and alone (no thief has ever been let in).
//
//   owner pushes                                   thieves take n
//    1 reads head (acquire), unless known_head      a read head (acquire)
//      already shows room                           b read tail (acquire)
//    2 tail - head = capacity: full                 c read the slots
//    3 writes slot[tail]                            d head + n by CAS (release)
//    4 tail + 1 (release)
//   owner pops
//    5 reads head and slot
//    6 head + 1 by CAS, or by a plain store while alone
//   owner spills half (to the global queue)
//    7 reads head and tail, head + n by CAS (release), then reads the slots
//
// Why it holds:
// - c before d: a slot may be written again (3) only after head has passed it, which 1 sees by the release
//   in d. So a successful CAS means that what c read was still what step 3 had written. 6 needs no release:
//   the owner itself writes the slot again, and as a read-modify-write it keeps d's release sequence going.
//   So may 7 read after its CAS: nobody but the owner writes slots.
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
  class thief;
  class owner;

  run_queue(std::uint32_t capacity, bool alone)
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

 private:
  const std::uint32_t capacity_;
  const std::uint32_t mask_;
  bool alone_;
  std::uint32_t known_head_ = 0;
  const std::unique_ptr<atom<G*>[]> slots_;
  alignas(64) atom<std::uint32_t> head_{0};
  alignas(64) atom<std::uint32_t> tail_{0};
};

// What anybody may do with the ring of another.
class run_queue::thief {
 public:
  explicit thief(run_queue& of) noexcept : q_(of) {}

  // Half of what is there from the head into `out`, `most` of them at most; rounded up, so that a single G can be
  // stolen. May overlap with everything.
  std::uint32_t take_half(G** out, std::uint32_t most) noexcept {
    for (;;) {
      std::uint32_t h = q_.head_.load(std::memory_order_acquire);        // a
      const std::uint32_t t = q_.tail_.load(std::memory_order_acquire);  // b, pairs with push
      std::uint32_t n = t - h;
      if (n > q_.capacity_) continue;  // head moved on between a and b
      n -= n / 2;
      if (n > most) n = most;
      if (n == 0) return 0;
      for (std::uint32_t i = 0; i < n; ++i)
        out[i] = q_.slots_[(h + i) & q_.mask_].load(std::memory_order_relaxed);
      if (q_.head_.compare_exchange_weak(h, h + n, std::memory_order_release, std::memory_order_relaxed))
        return n;  // d
    }
  }

 private:
  run_queue& q_;
};

// What the M that holds the P may do, or who has borrowed the P. All of it may overlap with thieves. Who looks at the P of
// another, or steals from its ring, has a const P, and can call none of it but seen() and for_thieves().
class run_queue::owner {
 public:
  explicit owner(std::uint32_t capacity, bool alone = false) : q_(capacity, alone) {}

  const run_queue& seen() const noexcept { return q_; }
  std::uint32_t capacity() const noexcept { return q_.capacity_; }
  thief for_thieves() const noexcept { return thief(q_); }

  // What it says is empty stays so until the next push.
  bool empty() noexcept {
    return q_.tail_.load(std::memory_order_relaxed) == q_.head_.load(std::memory_order_relaxed);
  }
  // At most this many: thieves may take some meanwhile.
  std::uint32_t size() noexcept {
    return q_.tail_.load(std::memory_order_relaxed) - q_.head_.load(std::memory_order_relaxed);
  }

  // False: full.
  bool push(G* g) noexcept {
    const std::uint32_t t = q_.tail_.load(std::memory_order_relaxed);
    if (t - q_.known_head_ >= q_.capacity_) [[unlikely]] {
      q_.known_head_ = q_.head_.load(std::memory_order_acquire);  // 1, pairs with d
      if (t - q_.known_head_ >= q_.capacity_) return false;
    }
    q_.slots_[t & q_.mask_].store(g, std::memory_order_relaxed);
    if (q_.alone_) {
      q_.tail_.store(t + 1, std::memory_order_relaxed);
    } else {
      q_.tail_.store(t + 1, std::memory_order_release);  // 4, pairs with b
    }
    return true;
  }

  G* pop() noexcept {
    std::uint32_t h = q_.head_.load(std::memory_order_relaxed);
    const std::uint32_t t = q_.tail_.load(std::memory_order_relaxed);
    if (q_.alone_) {
      if (h == t) return nullptr;
      G* g = q_.slots_[h & q_.mask_].load(std::memory_order_relaxed);
      q_.head_.store(h + 1, std::memory_order_relaxed);
      return g;
    }
    while (h != t) {
      G* g = q_.slots_[h & q_.mask_].load(std::memory_order_relaxed);
      if (q_.head_.compare_exchange_weak(h, h + 1, std::memory_order_relaxed)) return g;
    }
    return nullptr;
  }

  // Once.
  void let_thieves_in() noexcept { q_.alone_ = false; }

  // Makes room by handing half of a full ring to `sink(G*)`. Returns how many; none for capacity 1, or if thieves
  // made room meanwhile.
  template <class Sink>
  std::uint32_t spill_half(Sink sink) noexcept {
    std::uint32_t h = q_.head_.load(std::memory_order_acquire);
    const std::uint32_t n = (q_.tail_.load(std::memory_order_relaxed) - h) / 2;
    if (n == 0) return 0;
    // A failed CAS means that thieves came.
    if (!q_.head_.compare_exchange_strong(h, h + n, std::memory_order_release, std::memory_order_relaxed))
      return 0;
    // Read after the CAS: only the owner writes slots, and it is here.
    for (std::uint32_t i = 0; i < n; ++i) sink(q_.slots_[(h + i) & q_.mask_].load(std::memory_order_relaxed));
    return n;
  }

 private:
  mutable run_queue q_;
};

}  // namespace leat::sched
