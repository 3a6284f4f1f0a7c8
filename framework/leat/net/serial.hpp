// SPDX-License-Identifier: BSL-1.0
//
// Serial ports as streams, raw: no echo, no line editing, no translation.
//
//   leat::net::stream port = leat::net::open_serial("/dev/ttyUSB0", {.baud = 115200});
//   while (auto line = port.read_line(5s)) use(*line);
//
// A port that is pulled out ends the stream, or gives an error, as its driver does.
#pragma once
#include <cstdint>
#include <string>

#include <leat/net/stream.hpp>

namespace leat::net {

enum class parity : std::uint8_t { none, even, odd };
enum class flow : std::uint8_t { none, hardware, software };  // RTS/CTS; XON/XOFF

struct serial_options {
  unsigned baud = 115200;
  unsigned bits = 8;  // 5 to 8
  net::parity parity = parity::none;
  unsigned stop_bits = 1;  // or 2
  net::flow flow = flow::none;
};

// What came before it was opened is thrown away. No second open succeeds while it is open (TIOCEXCL, and for root,
// whom that does not keep away, a lock by flock, if it asks for one too). Throws std::invalid_argument for options
// that no port has, and std::system_error: also when the port does not take the speed, and when it is in use, with the
// number and name of who has it where /proc tells them.
stream open_serial(const std::string& path, const serial_options& options = {});

}  // namespace leat::net
