// SPDX-License-Identifier: BSL-1.0
//
// Datagrams.
//
//   leat::net::udp_socket s = leat::net::bind_udp("127.0.0.1:7000");
//   char data[1500];
//   auto got = s.receive_from(data, 5s);
//   s.send_to({data, got.size}, got.from);
//
// Errors, deadlines, stops, and who may use it: as descriptor.hpp says. A datagram that could not be
// delivered to a connected peer is told by a later call, as connection_refused.
#pragma once
#include <cstddef>
#include <string_view>
#include <system_error>

#include <leat/net/address.hpp>
#include <leat/net/bytes.hpp>
#include <leat/net/descriptor.hpp>

namespace leat::net {

struct datagram {
  std::size_t size = 0;    // what was stored; 0 is a datagram too
  std::size_t length = 0;  // what was sent; more than size: it was cut
  address from = {};
  bool truncated() const noexcept { return length > size; }
};

class udp_socket {
 public:
  udp_socket() noexcept = default;
  // Takes over a datagram socket.
  explicit udp_socket(descriptor d) noexcept : d_(std::move(d)) {}

  datagram receive_from(mutable_bytes into, deadline until = deadline::never());
  datagram receive_from(mutable_bytes into, std::error_code& ec, deadline until = deadline::never());
  // All of it, or an error (message_size: it is too long for one).
  void send_to(const_bytes from, const address& to, deadline until = deadline::never());
  void send_to(const_bytes from, const address& to, std::error_code& ec, deadline until = deadline::never());
  // To the peer of a connected one.
  void send(const_bytes from, deadline until = deadline::never());
  void send(const_bytes from, std::error_code& ec, deadline until = deadline::never());

  // From now on only datagrams of this peer are received, and send goes to it. Throws std::system_error.
  void connect(const address& peer);

  void close() noexcept { d_.close(); }
  bool is_open() const noexcept { return d_.is_open(); }
  address local() const noexcept { return d_.local(); }
  address peer() const noexcept { return d_.peer(); }
  const descriptor& handle() const noexcept { return d_; }

 private:
  datagram receive_simulated(mutable_bytes into, std::error_code& ec, deadline until);
  void send_message(const_bytes from, const address* to, std::error_code& ec, deadline until);

  descriptor d_;
};

// "127.0.0.1:7000", "[::1]:7000", "7000" (loopback), "unix:/run/x"; port 0: any that is free. Throws
// std::system_error, and std::invalid_argument for text that is no address.
udp_socket bind_udp(std::string_view where);
// Connected to the first address of "host:port" for which there is a route. Throws like resolve.
udp_socket dial_udp(std::string_view where, deadline until = deadline::never());

}  // namespace leat::net
