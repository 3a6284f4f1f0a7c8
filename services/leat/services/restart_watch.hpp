// SPDX-License-Identifier: BSL-1.0
//
// Which replicas are not well though they are restarted: those that stay away, waiting for their next try, and
// those that fail again and again. Without clocks and threads: it is given rows of the board and times.
//
// A series of failures begins with the first and ends when the replica has run for `steady` without another.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <leat/services/board.hpp>

namespace leat::services {

class restart_watch {
 public:
  // One that is back within this time, and stays, is no reason to wake anybody.
  static constexpr std::int64_t patience = 5'000'000'000, steady = 10'000'000'000;

  explicit restart_watch(std::size_t replicas) : all_(replicas) {}

  void add(std::size_t replica, const replica_row& row, std::int64_t now) {
    series& s = all_[replica];
    if (row.failures != s.seen) {
      if (s.begin == 0) s.begin = row.failed_at;
      s.count += row.failures - s.seen;
      s.seen = row.failures;
      s.last = row.failed_at;
    }
    s.away = row.state == replica_state::restarts;
    const bool back = row.state == replica_state::runs && now - s.last >= steady;
    const bool over = row.state == replica_state::ended || row.state == replica_state::failed;
    if (back || over) s = {.seen = s.seen};
  }

  // What is wrong, as the end of a sentence about it; empty: nothing.
  std::string why(std::size_t replica, const replica_row& row, std::int64_t now) const {
    const series& s = all_[replica];
    if (s.begin == 0 || now - s.begin < patience) return {};
    const auto in_seconds = [&](std::int64_t since) {
      return std::to_string((now - since) / 1'000'000'000) + " s";
    };
    const std::string last = std::string(": ") + row.failure.data();
    if (s.count > 1)
      return "is restarted again and again, " + std::to_string(s.count) + " failures in " +
             in_seconds(s.begin) + last;
    return s.away ? "failed " + in_seconds(s.begin) + " ago and waits for its restart" + last : std::string();
  }

 private:
  struct series {
    unsigned seen = 0;                 // failures of the row
    unsigned count = 0;                // of this series
    std::int64_t begin = 0, last = 0;  // ns; 0: there is none
    bool away = false;
  };
  std::vector<series> all_;
};

}  // namespace leat::services
