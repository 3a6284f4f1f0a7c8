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
#include <leat/net/simulated/open.hpp>
#include <leat/net/socket.hpp>
#include <leat/sched/stop.hpp>

namespace leat::net {

namespace {

descriptor open_for(const address& peer) {
  if (!simulated::is_here()) return descriptor(make_socket(peer.family(), SOCK_DGRAM));
  std::error_code ec;
  return descriptor(simulated::open_datagrams(nullptr, ec));
}

}  // namespace

datagram udp_socket::receive_from(mutable_bytes into, std::error_code& ec, deadline until) {
  ec.clear();
  if (stop_requested()) {
    throw_if_insisted_on_this_g();
    ec = std::make_error_code(std::errc::operation_canceled);
    return {};
  }
  if (d_.simulated()) return receive_simulated(into, ec, until);
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
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EWOULDBLOCK) {
      ec = {error, std::system_category()};
      return {};
    }
    d_.wait_readable("receive", ec, until);
    if (ec) return {};
  }
}

datagram udp_socket::receive_simulated(mutable_bytes into, std::error_code& ec, deadline until) {
  for (;;) {
    datagram got;
    const ssize_t n = d_.simulated()->receive(into, got.from);
    if (n >= 0) {
      got.length = static_cast<std::size_t>(n);
      got.size = std::min(got.length, into.size);
      return got;
    }
    if (n == -EAGAIN)
      d_.wait_readable("receive", ec, until);
    else
      ec = {static_cast<int>(-n), std::system_category()};
    if (ec) return {};
  }
}

void udp_socket::send_message(const_bytes from, const address* to, std::error_code& ec, deadline until) {
  ec.clear();
  if (transport* const t = d_.simulated()) {
    if (const ssize_t n = t->send(from, to); n < 0) ec = {static_cast<int>(-n), std::system_category()};
    return;
  }
  for (;;) {
    const ssize_t n =
        ::sendto(d_.fd(), from.data, from.size, MSG_NOSIGNAL, to ? to->data() : nullptr, to ? to->size() : 0);
    if (n >= 0) return;
    const int error = errno;
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
  transport* const t = d_.simulated();
  if (const int error = t ? t->connect(peer) : ::connect(d_.fd(), peer.data(), peer.size()) != 0 ? errno : 0)
    throw std::system_error(error, std::system_category(), "leat::net: connect to " + peer.text());
}

udp_socket bind_udp(std::string_view where) {
  std::string why;
  const std::optional<address> a = address::parse(where, &why);
  if (!a) throw std::invalid_argument("leat::net::bind_udp: \"" + std::string(where) + "\": " + why);
  if (simulated::is_here()) {
    std::error_code ec;
    descriptor d(simulated::open_datagrams(&*a, ec));
    if (ec) throw std::system_error(ec, "leat::net::bind_udp: " + std::string(where));
    return udp_socket(std::move(d));
  }
  descriptor d(make_socket(a->family(), SOCK_DGRAM));
  if (::bind(d.fd(), a->data(), a->size()) != 0)
    throw std::system_error(errno, std::system_category(), "leat::net::bind_udp: " + std::string(where));
  return udp_socket(std::move(d));
}

udp_socket dial_udp(std::string_view where, deadline until) {
  const std::vector<address> all = resolve(where, until);
  for (std::size_t i = 0;; ++i) {
    udp_socket s(open_for(all.at(i)));
    try {
      s.connect(all[i]);
      return s;
    } catch (const std::system_error&) {
      if (i + 1 >= all.size()) throw;
    }
  }
}

}  // namespace leat::net
