// SPDX-License-Identifier: BSL-1.0
#include <leat/net/dial.hpp>

#include <netdb.h>
#include <sys/socket.h>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>

#include <leat/csp/channel.hpp>
#include <leat/net/socket.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::net {
namespace {

class resolver_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "resolver"; }
  std::string message(int e) const override { return ::gai_strerror(e); }
};
const resolver_category resolver_errors;

struct found {
  std::vector<address> addresses;
  std::error_code ec;
};

found look_up(const std::string& host, const std::string& port) {
  found f;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  int error = 0;
  const int e = leat::blocking([&] {
    const int r = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
    error = errno;  // of this thread, on which the G need not be afterwards
    return r;
  });
  if (e == EAI_SYSTEM) {
    f.ec = {error, std::system_category()};
  } else if (e != 0) {
    f.ec = {e, resolver_errors};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, [](addrinfo* p) {
    if (p) ::freeaddrinfo(p);
  });
  for (const addrinfo* a = list; a; a = a->ai_next) f.addresses.emplace_back(a->ai_addr, a->ai_addrlen);
  return f;
}

}  // namespace

std::vector<address> resolve(std::string_view where, deadline until) {
  if (const auto in_numbers = address::parse(where)) return {*in_numbers};
  std::string host, port;
  const auto refuse = [&] {
    std::string why;
    (void)address::parse(where, &why);
    throw std::invalid_argument("leat::net: \"" + std::string(where) + "\": " + why);
  };
  if (!split_host_port(where, host, port)) refuse();
  // getaddrinfo would take 99999 for 34463, and look up a port without a host as a name.
  const bool number = port.find_first_not_of("0123456789") == std::string::npos;
  if (host.empty() || (number && (port.size() > 5 || std::stoul(port) > 65535))) refuse();
  // In a G of its own: nothing can end getaddrinfo, but its caller can go on without it.
  channel<found> answer(1);
  leat::go("resolver", [answer, host, port]() mutable { (void)answer.try_send(look_up(host, port)); });
  std::optional<found> f = answer.recv_until(until);
  if (!f) {
    throw_error(stop_requested() ? std::make_error_code(std::errc::operation_canceled)
                                 : std::make_error_code(std::errc::timed_out),
                ("leat::net::resolve: " + std::string(where)).c_str());
  }
  if (f->ec) throw std::system_error(f->ec, "leat::net::resolve: " + std::string(where));
  return std::move(f->addresses);
}

namespace {

std::error_code connect(descriptor& d, const address& to, deadline until) {
  std::error_code ec;
  int e = 0;
  while ((e = ::connect(d.fd(), to.data(), to.size()) == 0 ? 0 : errno) == EINTR) {
  }
  // EAGAIN: the queue of a Unix listener is full. The system tells nobody when there is room again.
  if (e == EAGAIN) return std::make_error_code(std::errc::connection_refused);
  if (e != EINPROGRESS) return {e, std::system_category()};
  for (;;) {
    d.wait_writable("connect", ec, until);
    if (ec) return ec;
    int error = 0;
    socklen_t size = sizeof error;
    (void)::getsockopt(d.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return {error, std::system_category()};
    // Woken for nothing? Only a connected one has a peer.
    if (address::peer_of(d.fd()).size() > 0) return {};
  }
}

}  // namespace

stream dial(const address& where, deadline until) {
  descriptor d(make_socket(where.family(), SOCK_STREAM));
  no_delay(d.fd());
  if (const std::error_code ec = connect(d, where, until))
    throw_error(ec, ("leat::net::dial: " + where.text()).c_str());
  return stream(std::move(d));
}

stream dial(std::string_view where, deadline until) {
  const std::vector<address> all = resolve(where, until);
  for (std::size_t i = 0;; ++i) {
    try {
      return dial(all.at(i), until);
    } catch (const std::system_error& e) {
      if (i + 1 >= all.size() || e.code() == std::errc::timed_out) throw;
    }
  }
}

}  // namespace leat::net
