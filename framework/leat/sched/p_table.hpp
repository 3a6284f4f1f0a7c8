// SPDX-License-Identifier: BSL-1.0
//
// All Ps. They are made one after the other and never taken out: of those beyond `wanted`, each stops when it
// is found idle, or is emptied by its owner (resize.cpp).
//
// Thread safety: one thread at a time adds; all others may read at any time.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include <leat/sched/p.hpp>

namespace leat::sched {

class p_table {
 public:
  explicit p_table(unsigned room) : all_(std::make_unique<std::atomic<P*>[]>(room)) {}
  ~p_table() {
    each([](P& p) {
      while (p.free_gs.pop()) {
      }
      delete &p;
    });
  }
  p_table(const p_table&) = delete;
  p_table& operator=(const p_table&) = delete;

  void add(std::unique_ptr<P> p) noexcept {
    const unsigned at = made();
    all_[at].store(p.release(), std::memory_order_release);
    made_.store(at + 1, std::memory_order_release);
  }
  void want(unsigned n) noexcept { wanted_.store(n, std::memory_order_relaxed); }
  unsigned wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
  unsigned made() const noexcept { return made_.load(std::memory_order_acquire); }
  P& operator[](unsigned i) const noexcept { return *all_[i].load(std::memory_order_acquire); }

  template <class F>
  void each(F f) const noexcept {
    const unsigned n = made();
    for (unsigned i = 0; i < n; ++i) f((*this)[i]);
  }
  std::int64_t earliest_timer() const noexcept {
    std::int64_t least = timer_heap::no_timer;
    each([&](const P& p) { least = std::min(least, p.timers.next()); });
    return least;
  }

 private:
  std::atomic<unsigned> wanted_{0}, made_{0};
  std::unique_ptr<std::atomic<P*>[]> all_;
};

}  // namespace leat::sched
