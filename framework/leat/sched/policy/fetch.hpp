// SPDX-License-Identifier: BSL-1.0
//
// How much does an M fetch from other Ps, and does it stand back for a while?
//
// Gs that end at once, and neither start nor wake others, are better left to the P that makes them: passing them,
// their stacks and the ring from core to core takes longer than running them. So an M that finished what it
// fetched very quickly sleeps a little before it fetches again, and then fetches little, to see whether that has
// changed. To everybody else it is an M that runs something short.
//
// For the row spawn at two Ps. The M's own.
#pragma once
#include <cstdint>

namespace leat::sched {

class fetch_policy {
 public:
  static constexpr std::uint32_t worth_assessing = 8;  // Gs; what is fetched after a nap, too
  static constexpr std::int64_t tiny_g = 160;          // ns, with what fetching it costs
  static constexpr std::int64_t shortest_nap = 100'000, longest_nap = 800'000;

  // `napping` Ms stand back already, of those that hold a P (`busy`). May one more? Somebody stays at work.
  static constexpr bool may_nap(int napping, int busy) noexcept { return napping + 1 < busy; }
  // Does a wake wait until one of them looks again, within a millisecond? It has found the queued Gs too short to
  // be fetched, and where all CPUs have an M, one more would only find out the same. But not if all who hold a P
  // stand back: then nobody runs what is queued. If the one that looks again finds a long G elsewhere, what is
  // left waits for the end of a slice, as it does with fewer Ps.
  static constexpr bool puts_off_wake(int napping, int busy, int cpus) noexcept {
    return napping > 0 && napping < busy && busy >= cpus;
  }

  // Of `wanted`, so many at most.
  template <class N>
  N most(N wanted) const noexcept {
    return naps_ > 0 && wanted > worth_assessing ? N{worth_assessing} : wanted;
  }

  static bool is_worth_assessing(std::uint32_t many) noexcept { return many >= worth_assessing; }
  // So many were fetched for the P `on`, whose Gs have done so much until now: spawns, readies, parks, yields.
  void fetched(std::uint32_t many, const void* on, std::uint64_t activity, std::int64_t now) noexcept {
    many_ = many;
    on_ = on;
    activity_ = activity;
    at_ = now;
  }
  // They have run, and were not looked at since.
  bool is_to_assess() const noexcept { return many_ != 0; }
  // Was that too little for the trouble?
  bool assess(const void* on, std::uint64_t activity, std::int64_t now) noexcept {
    const bool too_short = on_ == on && activity <= activity_ + 1 && now - at_ < tiny_g * many_;
    many_ = 0;
    if (!too_short) naps_ = 0;
    return too_short;
  }
  // How long to sleep, if the next timer is due in `left`.
  std::int64_t nap(std::int64_t left) noexcept {
    std::int64_t nap = longest_nap;
    if (naps_ < 3) nap = shortest_nap << naps_;
    ++naps_;
    if (nap > left) nap = left;
    return nap > 0 ? nap : 0;
  }

 private:
  std::uint32_t many_ = 0;  // 0: assessed
  std::uint32_t naps_ = 0;  // in a row
  const void* on_ = nullptr;
  std::uint64_t activity_ = 0;
  std::int64_t at_ = 0;
};

}  // namespace leat::sched
