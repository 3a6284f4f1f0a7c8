// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "sched/fixture.hpp"

namespace leat::csp::test {

using namespace leat::sched::test;

// body() as the main G at procs 1, 2, 4; nothing may be left behind.
template <class F>
void at_procs(F body) {
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    run_clean(with_procs(procs), body);
  }
}

inline channel_options single_options(leat::full policy = leat::full::block) {
  return {.full = policy, .writers = 1, .readers = 1};
}
inline channel_options policy_options(leat::full policy) { return {.full = policy}; }

// body(options) for a channel between one writer and one reader: as the general one, and as the ring.
template <class F>
void at_procs_both_flavours(F body) {
  for (const bool single : {false, true}) {
    CAPTURE(single);
    at_procs([&] { body(single ? single_options() : channel_options{}); });
  }
}

inline constexpr int scaled(int n) { return fiber::under_tsan ? n / 10 : n; }

// A G that others want to see waiting: it calls here() first, they call parked(reason).
class whereabouts {
 public:
  void here() noexcept { id_.store(self().id); }
  bool parked(sched::wait_reason why) const noexcept {
    const std::uint64_t id = id_.load();
    if (id == 0) return false;
    const sched::G* const g = sched::scheduler::current()->find_g(id);
    return g && g->status.load() == sched::g_status::waiting && g->reason.load() == why;
  }
  [[nodiscard]] bool will_park(sched::wait_reason why) const {
    return eventually([&] { return parked(why); });
  }

 private:
  std::atomic<std::uint64_t> id_{0};
};

// The status of a call that a stop is to end, made by a G that is seen waiting first.
template <class F>
auto stopped_in(sched::wait_reason why, F call) {
  whereabouts w;
  auto t = spawn([&] {
    w.here();
    return call();
  });
  CHECK(w.will_park(why));
  t.request_stop();
  return t.get();
}

template <class Handle>
bool adds_up(const Handle& c) {
  const channel_stats s = c.stats();
  return s.sent == s.received + s.dropped + s.left && s.left == c.size();
}

// Counts its instances. Copies count, moved-from ones too.
class counted {
 public:
  counted() noexcept { ++live; }
  explicit counted(int v) noexcept : value(v) { ++live; }
  counted(const counted& o) noexcept : value(o.value) { ++live; }
  counted(counted&& o) noexcept : value(std::exchange(o.value, -1)) { ++live; }
  counted& operator=(const counted&) noexcept = default;
  counted& operator=(counted&& o) noexcept {
    value = std::exchange(o.value, -1);
    return *this;
  }
  ~counted() { --live; }

  int value = 0;
  static inline std::atomic<int> live{0};
};

}  // namespace leat::csp::test
