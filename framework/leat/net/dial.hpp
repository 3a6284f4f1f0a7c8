// SPDX-License-Identifier: BSL-1.0
//
// A client's side of the network.
#pragma once
#include <string_view>
#include <vector>

#include <leat/net/address.hpp>
#include <leat/net/stream.hpp>

namespace leat::net {

// "example.org:80", "127.0.0.1:7000", "7000" (loopback), "unix:/run/x.sock". The addresses of a name are
// tried as RFC 8305 has it: both families in turn, each 250 ms after the last one or when that has failed,
// until one answers. Throws std::system_error (of the last try), std::invalid_argument for text that is no
// address, and resolve's errors. A peer that has lost its power is noticed after about two minutes
// (SO_KEEPALIVE).
stream dial(std::string_view where, deadline until = deadline::never());
stream dial(const address& where, deadline until = deadline::never());
// The same for addresses that are known.
stream dial(const std::vector<address>& any_of, deadline until = deadline::never());

// The addresses of "host:port"; the port may be a service name. Looked up on a thread of its own, so it holds
// no P; a look-up that a deadline or stop gave up ends by itself later. Throws std::system_error.
std::vector<address> resolve(std::string_view where, deadline until = deadline::never());

}  // namespace leat::net
