// SPDX-License-Identifier: BSL-1.0
//
// Texts that came lately, bounded in their number and their bytes: the one that came first is forgotten first.
// Without a clock. Not installed.
#pragma once
#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <leat/base/clock.hpp>

namespace leat::stock {

class recent_texts {
 public:
  // The last one is remembered in any case.
  recent_texts(std::size_t most, std::size_t bytes) : most_(most), most_bytes_(bytes) {}

  // Whether it came less than `window` ago. One that did not is remembered from now on; with `renew` so is one that
  // did. `now` is never less than before.
  bool came(std::string text, time_point now, nanoseconds window, bool renew) {
    while (!all_.empty() && saturating_sub(now, all_.front().at) >= window) forget_first();
    const auto known = index_.find(text);
    const bool repeated = known != index_.end();
    if (repeated && !renew) return true;
    if (repeated) {
      known->second->at = now;
      all_.splice(all_.end(), all_, known->second);
      return true;
    }
    bytes_ += cost(text);
    all_.push_back({std::move(text), now});
    index_.emplace(all_.back().text, std::prev(all_.end()));
    for (; all_.size() > 1 && (all_.size() > most_ || bytes_ > most_bytes_); forget_first()) early_ = true;
    return false;
  }
  // Whether one was forgotten for want of room, ever.
  bool forgot_early() const noexcept { return early_; }
  std::size_t size() const noexcept { return all_.size(); }

 private:
  struct entry {
    std::string text;
    time_point at;
  };
  // Of its places in both tables as well.
  static std::size_t cost(const std::string& text) noexcept { return text.size() + 128; }
  void forget_first() {
    bytes_ -= cost(all_.front().text);
    index_.erase(all_.front().text);
    all_.pop_front();
  }

  const std::size_t most_, most_bytes_;
  std::size_t bytes_ = 0;
  bool early_ = false;
  std::list<entry> all_;  // by their time
  std::unordered_map<std::string_view, std::list<entry>::iterator> index_;
};

}  // namespace leat::stock
