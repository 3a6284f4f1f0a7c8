// SPDX-License-Identifier: BSL-1.0
//
// What modbus-poll and modbus-write have in common.
#pragma once
#include <leat/leat.hpp>

#include "bus.hpp"

namespace leat::modbus {

enum class on_lost : std::uint8_t { retry, fail };
LEAT_ENUM(on_lost, retry, fail);
enum class record_form : std::uint8_t { each, all };
LEAT_ENUM(record_form, each, all);

inline constexpr const char* registers_help =
    "each { name = \"flow\", number = 0, table = \"holding\", type = \"u16\", order = \"abcd\", scale = 1.0, "
    "offset = "
    "0.0, unit = 1 }";

struct bus_settings {
  explicit bus_settings(process* owner)
      : bus(owner, "bus", required, "\"tcp:HOST:PORT\" or \"rtu:DEVICE?baud=9600&parity=even&stop=1&bits=8\"",
            validated_by(validate_bus)),
        unit(owner, "unit", 1, "the device, where a register says no other", between(0, 255)),
        timeout(owner, "timeout", std::chrono::milliseconds(500),
                "longest wait for an answer, and for a connection",
                between<nanoseconds>(std::chrono::milliseconds(1), std::chrono::minutes(1))),
        retry(owner, "retry", std::chrono::milliseconds(200), "first pause when nothing answers; it doubles",
              between<nanoseconds>(std::chrono::milliseconds(1), std::chrono::hours(1))),
        retry_most(owner, "retry_most", std::chrono::seconds(10), "longest pause",
                   between<nanoseconds>(std::chrono::milliseconds(1), std::chrono::hours(24))),
        lost(owner, "lost", on_lost::retry, "when nothing answers: try again, or fail, for the supervisor") {}

  setting<std::string> bus;
  setting<int> unit;
  setting<nanoseconds, live> timeout;
  setting<nanoseconds> retry, retry_most;
  setting<on_lost> lost;
};

// A request cannot be cut short, nor what comes before it: a connection, or the wait for an answer that is late.
inline process_limits time_of_requests(const value& settings) {
  const value* const timeout = settings.find("timeout");
  const auto* const time = timeout ? timeout->get_if<nanoseconds>() : nullptr;
  process_limits l;
  l.grace = 2 * (time ? *time : nanoseconds(std::chrono::milliseconds(500))) + std::chrono::seconds(1);
  return l;
}

}  // namespace leat::modbus
