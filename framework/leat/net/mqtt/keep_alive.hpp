// SPDX-License-Identifier: BSL-1.0
//
// When a client sends its PINGREQ, and when it gives a silent server up. Time is passed in.
//
// A PINGREQ is due three quarters of the keep-alive after the last byte either way, so that a machine that is late is
// not too late. A server that is silent for a whole keep-alive behind it has gone. While the client itself reads
// nothing, silence says nothing.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include <leat/base/clock.hpp>

namespace leat::net::mqtt {

class keep_alive {
 public:
  // A new connection. 0 seconds: none.
  void begin(std::uint16_t seconds, time_point now) noexcept {
    *this = keep_alive();
    seconds_ = seconds;
    begin(now);
  }
  // From the CONNACK on it counts.
  void begin(time_point now) noexcept { sent_ = heard_ = now; }
  void set_seconds(std::uint16_t seconds) noexcept { seconds_ = seconds; }
  void end() noexcept { ping_waits_ = false; }

  void heard(time_point now) noexcept {
    heard_ = now;
    ping_waits_ = false;
  }
  void sent(time_point now) noexcept { sent_ = now; }
  void pinged(time_point now) noexcept {
    pinged_ = sent_ = now;
    ping_waits_ = !paused_;
  }
  // Nothing is read for a while.
  void pause(bool paused, time_point now) noexcept {
    if (paused_ && !paused) heard_ = now;
    paused_ = paused;
    if (paused) ping_waits_ = false;
  }

  std::uint16_t seconds() const noexcept { return seconds_; }
  // A PINGREQ was not answered: at due() the server has gone. Else a PINGREQ is to be sent then.
  bool ping_waits() const noexcept { return ping_waits_; }
  time_point due() const noexcept {
    if (seconds_ == 0) return time_point::max();
    const nanoseconds whole = std::chrono::seconds(seconds_);
    if (ping_waits_) return pinged_ + whole;
    return (paused_ ? sent_ : std::min(sent_, heard_)) + whole * 3 / 4;
  }

 private:
  std::uint16_t seconds_ = 0;
  bool paused_ = false, ping_waits_ = false;
  time_point sent_{}, heard_{}, pinged_{};
};

}  // namespace leat::net::mqtt
