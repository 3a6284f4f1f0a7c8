// SPDX-License-Identifier: BSL-1.0
//
// How many Gs there are, and how many of what could still wake one of them: while there is any of that, it is no
// deadlock that all Gs wait.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/sched/p_table.hpp>

namespace leat::sched {

class population {
 public:
  // Gs that no P counts: those of plain threads, and of Ms that have lost their P.
  void begin_foreign() noexcept { begun_.fetch_add(1, std::memory_order_relaxed); }
  void end_foreign() noexcept { ended_.fetch_add(1, std::memory_order_release); }  // pairs with live
  std::uint64_t begun_foreign() const noexcept { return begun_.load(std::memory_order_relaxed); }
  std::uint64_t ended_foreign() const noexcept { return ended_.load(std::memory_order_relaxed); }
  std::uint64_t live(const p_table& ps) const noexcept {
    // Ends before beginnings: a G counted as ended is then counted as begun too.
    std::uint64_t ended = ended_.load(std::memory_order_acquire);
    ps.each([&](const P& p) {
      ended += p.count.finished.load(std::memory_order_acquire);
    });  // pairs with publish_end
    std::uint64_t begun = begun_foreign();
    ps.each([&](const P& p) { begun += p.count.spawned.load(std::memory_order_relaxed); });
    return begun > ended ? begun - ended : 0;
  }

  // Plain threads that will wake a G (leat::keep_alive).
  void expect_foreign(int by) noexcept { expected_.fetch_add(by, std::memory_order_seq_cst); }
  bool expects_foreign() const noexcept { return expected_.load(std::memory_order_seq_cst) != 0; }

  // Gs that run on although their P was retaken, and others that no P shows.
  void add_without_p() noexcept { without_p_.fetch_add(1, std::memory_order_seq_cst); }
  void remove_without_p() noexcept {
    without_p_.fetch_sub(1, std::memory_order_seq_cst);
    left_.fetch_add(1, std::memory_order_seq_cst);
  }
  int without_p() const noexcept { return without_p_.load(std::memory_order_seq_cst); }
  // How often that count went down, for who compares (sysmon.hpp, step 3).
  std::uint32_t left_without_p() const noexcept { return left_.load(std::memory_order_seq_cst); }

 private:
  std::atomic<std::uint64_t> begun_{0}, ended_{0};
  std::atomic<int> expected_{0};
  std::atomic<int> without_p_{0};
  std::atomic<std::uint32_t> left_{0};
};

}  // namespace leat::sched
