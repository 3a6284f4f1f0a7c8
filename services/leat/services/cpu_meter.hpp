// SPDX-License-Identifier: BSL-1.0
//
// Who used the CPU of late, from what the scheduler and the system counted. Counts and times are passed in.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

namespace leat::services {

class cpu_meter {
 public:
  using counts = std::unordered_map<std::uint64_t, std::uint32_t>;  // us by G; modulo 2^32

  // `watched`: for how long counts go on without a mark. A longer gap is no time without CPU.
  explicit cpu_meter(std::int64_t watched) noexcept : watched_(watched) {}

  void mark(std::int64_t now, counts by_g) {
    if (!marks_.empty() && now - marks_.back().at > watched_) marks_.clear();
    marks_.push_back({now, std::move(by_g)});
    while (marks_.size() > 2 && now - marks_[1].at >= window) marks_.pop_front();
  }
  // Of a CPU, over the last seconds. Nothing: it was not there for two marks.
  std::optional<double> share_of(std::uint64_t g) const {
    if (marks_.size() < 2 || g == 0) return std::nullopt;
    const mark_of_all& last = marks_.back();
    const auto now = last.by_g.find(g);
    if (now == last.by_g.end()) return std::nullopt;
    for (const mark_of_all& m : marks_) {
      const auto then = m.by_g.find(g);
      if (then == m.by_g.end() || m.at == last.at) continue;
      return static_cast<double>(now->second - then->second) * 1000 / static_cast<double>(last.at - m.at);
    }
    return std::nullopt;
  }

  // The whole program's, between two calls of this.
  void mark_program(std::int64_t now, std::int64_t used_ns) noexcept {
    if (program_at_ > 0)
      program_share_ = static_cast<double>(used_ns - program_used_) / static_cast<double>(now - program_at_);
    program_used_ = used_ns;
    program_at_ = now;
  }
  double program_share() const noexcept { return program_share_; }

 private:
  static constexpr std::int64_t window = 5'000'000'000;

  struct mark_of_all {
    std::int64_t at;
    counts by_g;
  };
  const std::int64_t watched_;
  std::deque<mark_of_all> marks_;
  std::int64_t program_used_ = 0, program_at_ = 0;
  double program_share_ = 0;
};

}  // namespace leat::services
