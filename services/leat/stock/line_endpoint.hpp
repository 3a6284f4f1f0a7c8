// SPDX-License-Identifier: BSL-1.0
//
// Where lines come from and go to, as text: "stdin", "file:PATH", "tcp:HOST:PORT", ... Not installed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <leat/net/serial.hpp>

namespace leat::stock {

enum class medium : std::uint8_t {
  standard,  // input or output
  file,
  serial,
  tcp,
  tcp_listen,
  udp,
  unix_socket,
  unix_listen,
};
enum class direction : std::uint8_t { read, write };

struct line_endpoint {
  stock::medium medium = medium::standard;
  std::string path = {};     // file, serial
  std::string address = {};  // the others, as leat::net takes it
  net::serial_options serial = {};
};

// Looks nothing up and opens nothing. Throws setting_error that begins with `setting` and says what is wrong.
line_endpoint parse_endpoint(std::string_view setting, std::string_view text, direction d);
// "" or what is wrong.
std::string validate_endpoint(std::string_view text, direction d);

}  // namespace leat::stock
