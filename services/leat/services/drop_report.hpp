// SPDX-License-Identifier: BSL-1.0
//
// When the log says that a channel drops values, or is injected into: at the first one, then at most once a minute
// with what came since. Without clocks and channels: it is given counts and times.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace leat::services {

class drop_report {
 public:
  static constexpr std::int64_t pause = 60'000'000'000;

  struct line {
    std::uint64_t since_last = 0, in_all = 0;
    bool first = false;
  };

  explicit drop_report(std::size_t queues) : all_(queues) {}

  // What is to be said now of a queue that has dropped so many in all.
  std::optional<line> add(std::size_t queue, std::uint64_t dropped, std::int64_t now) {
    entry& e = all_[queue];
    if (dropped <= e.told || (e.told > 0 && now - e.at < pause)) return std::nullopt;
    const line l{dropped - e.told, dropped, e.told == 0};
    e = {dropped, now};
    return l;
  }

 private:
  struct entry {
    std::uint64_t told = 0;
    std::int64_t at = 0;
  };
  std::vector<entry> all_;
};

}  // namespace leat::services
