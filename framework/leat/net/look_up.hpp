// SPDX-License-Identifier: BSL-1.0
//
// Names of hosts into addresses. Not installed.
#pragma once
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <leat/net/address.hpp>

namespace leat::net {

struct name_and_port {
  std::string host, port;
};
// Throws std::invalid_argument for text that is neither.
name_and_port parse_name(std::string_view where);

struct looked_up {
  std::vector<address> addresses = {};  // in the system's order of preference (RFC 6724)
  std::error_code ec = {};
};
enum class families : unsigned char { all, ipv4 };
// Blocks a thread of its own, and nothing can end it: for a G that its caller can go on without.
looked_up look_up(const name_and_port& what, families which);

}  // namespace leat::net
