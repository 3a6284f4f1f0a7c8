// SPDX-License-Identifier: BSL-1.0
//
// A process that counts at a steady pace.
#pragma once
#include <chrono>
#include <cstdint>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>

struct beat {
  std::int64_t number;
};
LEAT_MESSAGE(beat, number);

class heartbeat : public leat::process {
  leat::out<beat> beats{this, "beats", "each beat", leat::optional_port};
  leat::setting<std::chrono::milliseconds> period{this, "period", std::chrono::seconds(1),
                                                  "time between beats",
                                                  leat::at_least(std::chrono::milliseconds(1))};
  leat::setting<std::int64_t> count{this, "count", 0, "beats before it ends; 0: it goes on",
                                    leat::at_least(0)};

  void run() override {
    std::int64_t n = 0;
    leat::ticker clock(*period);
    for ([[maybe_unused]] const leat::tick t : clock) {  // until it is stopped
      leat::log_info(name(), "beat {}", ++n);
      if (beats && beats.send({n}) != leat::send_status::sent) return;
      if (n == count) return;
    }
  }
};
