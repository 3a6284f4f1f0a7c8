// SPDX-License-Identifier: BSL-1.0
#include <leat/net/udp.hpp>

#include <sys/socket.h>
#include <sys/uio.h>
#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/net/dial.hpp>
#include <leat/net/io_wait.hpp>
#include <leat/net/last_error.hpp>
#include <leat/net/socket.hpp>
#include <leat/sched/stop.hpp>

namespace leat::net {

datagram udp_socket::receive_from(mutable_bytes into, std::error_code& ec, deadline until) {
  ec.clear();
  if (stop_requested()) {
    throw_if_insisted_on_this_g();
    ec = std::make_error_code(std::errc::operation_canceled);
    return {};
  }
  for (;;) {
    datagram got;
    iovec part{into.data, into.size};
    msghdr m{};
    m.msg_name = got.from.data();
    m.msg_namelen = address::capacity();
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    // MSG_TRUNC: the result is the whole length.
    const ssize_t n = ::recvmsg(d_.fd(), &m, MSG_TRUNC);
    if (n >= 0) {
      got.from.resize(std::min<socklen_t>(m.msg_namelen, address::capacity()));
      got.length = static_cast<std::size_t>(n);
      got.size = std::min(got.length, into.size);
      return got;
    }
    const int error = last_error();
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EWOULDBLOCK) {
      ec = {error, std::system_category()};
      return {};
    }
    d_.wait_readable("receive", ec, until);
    if (ec) return {};
  }
}

void udp_socket::send_message(const_bytes from, const address* to, std::error_code& ec, deadline until) {
  ec.clear();
  for (;;) {
    const ssize_t n =
        ::sendto(d_.fd(), from.data, from.size, MSG_NOSIGNAL, to ? to->data() : nullptr, to ? to->size() : 0);
    if (n >= 0) return;
    const int error = last_error();
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EWOULDBLOCK) {
      ec = {error, std::system_category()};
      return;
    }
    d_.wait_writable("send", ec, until);
    if (ec) return;
  }
}

datagram udp_socket::receive_from(mutable_bytes into, deadline until) {
  std::error_code ec;
  datagram got = receive_from(into, ec, until);
  if (ec) throw_error(ec, "leat::net: receive");
  return got;
}

void udp_socket::send_to(const_bytes from, const address& to, std::error_code& ec, deadline until) {
  send_message(from, &to, ec, until);
}

void udp_socket::send_to(const_bytes from, const address& to, deadline until) {
  std::error_code ec;
  send_message(from, &to, ec, until);
  if (ec) throw_error(ec, ("leat::net: send to " + to.text()).c_str());
}

void udp_socket::send(const_bytes from, std::error_code& ec, deadline until) {
  send_message(from, nullptr, ec, until);
}

void udp_socket::send(const_bytes from, deadline until) {
  std::error_code ec;
  send_message(from, nullptr, ec, until);
  if (ec) throw_error(ec, "leat::net: send");
}

void udp_socket::connect(const address& peer) {
  if (::connect(d_.fd(), peer.data(), peer.size()) != 0)
    throw std::system_error(errno, std::system_category(), "leat::net: connect to " + peer.text());
}

udp_socket bind_udp(std::string_view where) {
  std::string why;
  const std::optional<address> a = address::parse(where, &why);
  if (!a) throw std::invalid_argument("leat::net::bind_udp: \"" + std::string(where) + "\": " + why);
  descriptor d(make_socket(a->family(), SOCK_DGRAM));
  if (::bind(d.fd(), a->data(), a->size()) != 0)
    throw std::system_error(errno, std::system_category(), "leat::net::bind_udp: " + std::string(where));
  return udp_socket(std::move(d));
}

udp_socket dial_udp(std::string_view where, deadline until) {
  const std::vector<address> all = resolve(where, until);
  for (std::size_t i = 0;; ++i) {
    udp_socket s(descriptor(make_socket(all.at(i).family(), SOCK_DGRAM)));
    try {
      s.connect(all[i]);
      return s;
    } catch (const std::system_error&) {
      if (i + 1 >= all.size()) throw;
    }
  }
}

}  // namespace leat::net
