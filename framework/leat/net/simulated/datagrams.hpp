// SPDX-License-Identifier: BSL-1.0
//
// The datagrams that are on their way to a socket, and those that wait there to be received. Pure: no threads, no
// clocks. They arrive in the order of their moments; one that finds no room is dropped, as systems do.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include <leat/net/address.hpp>
#include <leat/net/simulated/link.hpp>

namespace leat::net::simulated {

class datagram_queue {
 public:
  static constexpr std::size_t room = 212'992;  // as Linux has it

  struct message {
    std::int64_t due;
    address from;
    std::string bytes;
  };

  void push(message m) {
    const auto later = [](std::int64_t due, const message& x) { return due < x.due; };
    const auto at = std::upper_bound(coming_.begin(), coming_.end(), m.due, later);
    coming_.insert(at, std::move(m));
  }
  // The first that is there, or null; until take.
  const message* front(std::int64_t now) {
    arrive(now);
    return here_.empty() ? nullptr : &here_.front();
  }
  message take() {
    message m = std::move(here_.front());
    here_.pop_front();
    bytes_ -= m.bytes.size();
    return m;
  }
  std::int64_t next(std::int64_t now) const noexcept {
    if (!here_.empty()) return now;
    return coming_.empty() ? never : std::max(now, coming_.front().due);
  }
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void arrive(std::int64_t now) {
    for (; !coming_.empty() && coming_.front().due <= now; coming_.pop_front()) {
      message& m = coming_.front();
      if (bytes_ + m.bytes.size() > room) {
        ++dropped_;
        continue;
      }
      bytes_ += m.bytes.size();
      here_.push_back(std::move(m));
    }
  }

  std::deque<message> coming_;  // by moment
  std::deque<message> here_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace leat::net::simulated
