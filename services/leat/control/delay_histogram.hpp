// SPDX-License-Identifier: BSL-1.0
//
// How late Gs run after they have become ready. A probe tells it: a G of the observer's own that sleeps until a
// certain time and looks how late it is then. So no readying of the deployment's own Gs costs anything, and what is
// measured is what its processes see: from the time a sleep was to end until it runs, the wake-up of an idle thread by
// the kernel included.
//
// Pure: it is given delays. `recent` are the last 256, for people; the buckets count since the start, for metrics.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace leat::control {

struct delay_view {
  double p50 = 0, p99 = 0;  // seconds, of the recent ones
};

class delay_histogram {
 public:
  // Seconds; a bucket counts what is not above its bound. What is above the last is in the count alone.
  static constexpr std::array<double, 12> bounds{20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3,
                                                 2e-3,  5e-3,  10e-3,  50e-3,  200e-3, 1.0};

  void add(std::int64_t ns) noexcept {
    const double s = static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e9;
    recent_[static_cast<std::size_t>(count_ % recent_.size())] = s;
    const auto* const bucket = std::lower_bound(bounds.begin(), bounds.end(), s);
    if (bucket != bounds.end()) ++buckets_[static_cast<std::size_t>(bucket - bounds.begin())];
    ++count_;
    sum_ += s;
  }

  // Nothing before there are twenty: a percentile of two says nothing.
  std::optional<delay_view> recent() const {
    if (count_ < 20) return std::nullopt;
    std::array<double, 256> sorted = recent_;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(count_, sorted.size()));
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
    return delay_view{sorted[n / 2], sorted[n - 1 - n / 100]};
  }
  // Of all bounds up to this one.
  std::uint64_t up_to(std::size_t bound) const noexcept {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i <= bound; ++i) all += buckets_[i];
    return all;
  }
  std::uint64_t count() const noexcept { return count_; }
  double sum() const noexcept { return sum_; }

 private:
  std::array<double, 256> recent_{};
  std::array<std::uint64_t, bounds.size()> buckets_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace leat::control
