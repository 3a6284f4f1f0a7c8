// SPDX-License-Identifier: BSL-1.0
//
// A client's side of the network.
#pragma once
#include <string_view>
#include <vector>

#include <leat/net/address.hpp>
#include <leat/net/stream.hpp>

namespace leat::net {

// "example.org:80", "127.0.0.1:7000", "7000" (loopback), "unix:/run/x.sock". Tries all addresses of a name in
// turn within the deadline. Throws std::system_error (of the last try), std::invalid_argument for text that
// is no address, and resolve's errors.
stream dial(std::string_view where, deadline until = deadline::never());
stream dial(const address& where, deadline until = deadline::never());

// The addresses of "host:port"; the port may be a service name. Looked up on a thread of its own, so it holds
// no P; a look-up that a deadline or stop gave up ends by itself later. Throws std::system_error.
std::vector<address> resolve(std::string_view where, deadline until = deadline::never());

}  // namespace leat::net
