// SPDX-License-Identifier: BSL-1.0
//
// Are other Ms woken for what the network has brought?
//
// A server with many connections gets Gs from the network in batches and runs each for a few microseconds, less
// than another M takes to wake up. Sharing them out costs a quarter of the throughput and makes single requests late;
// not sharing them leaves some waiting behind one that computes. So a P counts how long its Gs run from one look at
// the network to the next: if that was often long on average, it wakes others for what the next looks bring, and for
// the looking itself. Gs queued behind the first long one are left to sysmon.
//
// The first stretch after a sleep finds its caches cold: a program that does a little each second looks slow, and is
// not to wake a second thread each time. So that stretch counts only if it was long beyond what the cold explains.
//
// For the row tcp_echo at two Ps. Belongs to the owner of a P.
#pragma once
#include <algorithm>
#include <cstdint>

namespace leat::sched {

class network_share_policy {
 public:
  static constexpr std::int64_t long_run = 20'000;  // ns a G; about what a wake costs
  static constexpr std::int64_t cold = 250'000;     // of the first stretch after a sleep
  static constexpr std::uint32_t weight = 16, most = 256;

  // A look at the network; `switches`: Gs that have run on this P so far.
  void look(std::uint64_t switches, std::int64_t now) noexcept {
    const auto ran = static_cast<std::int64_t>(switches - switches_);
    if (long_ones_ > 0) --long_ones_;
    if (ran > 0 && now - since_ > long_run * ran)
      long_ones_ = long_ones_ + weight < most ? long_ones_ + weight : most;
    switches_ = switches;
    since_ = ran > 0 ? now : std::max(since_, now);  // it is as cold as before
  }
  // A stretch begins after a sleep, which does not count.
  void begin(std::uint64_t switches, std::int64_t now) noexcept {
    switches_ = switches;
    since_ = now + cold;
  }
  // One long stretch can be the kernel's doing.
  bool shares() const noexcept { return long_ones_ > weight; }

 private:
  std::int64_t since_ = 0;
  std::uint64_t switches_ = 0;
  std::uint32_t long_ones_ = 0;  // up by `weight` with each long stretch, down by one with each look
};

}  // namespace leat::sched
