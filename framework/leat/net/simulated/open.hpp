// SPDX-License-Identifier: BSL-1.0
//
// How dial, listen, resolve and datagrams come to a simulated network: by these, when they are called by a G of a
// simulated world. Not installed.
#pragma once
#include <memory>
#include <system_error>

#include <leat/base/clock.hpp>
#include <leat/net/address.hpp>
#include <leat/net/look_up.hpp>
#include <leat/net/transport.hpp>

namespace leat::net::simulated {

// The calling G is in a world: all below is for such.
bool is_here() noexcept;

// Null, and the error. Waits as a real one does.
std::unique_ptr<transport> connect(const address& to, std::error_code& ec, deadline until);
std::unique_ptr<transport> listen(const address& at, int backlog, std::error_code& ec);
// `at` empty: bound when it first sends, or connects.
std::unique_ptr<transport> open_datagrams(const address* at, std::error_code& ec);
// Addresses of a host of the network; the error is getaddrinfo's, or 0.
int look_up(const name_and_port& what, families which, std::vector<address>& found);

}  // namespace leat::net::simulated
