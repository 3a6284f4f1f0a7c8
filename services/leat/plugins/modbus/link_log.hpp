// SPDX-License-Identifier: BSL-1.0
//
// What goes wrong again and again at one place, told when it begins and when it is over; and how long to wait before
// the next try. One G.
#pragma once
#include <algorithm>
#include <string>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>

namespace leat::modbus {

class trouble {
 public:
  void begins(const std::string& process, const std::string& why) {
    if (why != why_) log_warning("modbus", "{}: {}; tries again", process, why);
    why_ = why;
    ++tries_;
  }
  void is_over(const std::string& process, const std::string& where) {
    if (tries_ > 0) log_notice("modbus", "{}: {} answers again, after {} tries", process, where, tries_);
    tries_ = 0;
    why_.clear();
  }

 private:
  std::string why_;
  std::uint64_t tries_ = 0;
};

// Doubles up to a limit.
class back_off {
 public:
  back_off(nanoseconds first, nanoseconds most) : first_(first), most_(std::max(first, most)), next_(first) {}
  nanoseconds next() noexcept {
    const nanoseconds now = next_;
    next_ = std::min(2 * next_, most_);
    return now;
  }
  void reset() noexcept { next_ = first_; }

 private:
  nanoseconds first_, most_, next_;
};

}  // namespace leat::modbus
