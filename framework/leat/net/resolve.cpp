// SPDX-License-Identifier: BSL-1.0
#include <netdb.h>
#include <sys/socket.h>
#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>

#include <leat/csp/channel.hpp>
#include <leat/net/descriptor.hpp>
#include <leat/net/dial.hpp>
#include <leat/net/look_up.hpp>
#include <leat/net/simulated/open.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>

namespace leat::net {
namespace {

class resolver_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "resolver"; }
  std::string message(int e) const override { return ::gai_strerror(e); }
};
const resolver_category resolver_errors;

}  // namespace

looked_up look_up(const name_and_port& what, families which) {
  looked_up f;
  if (simulated::is_here()) {
    if (const int e = simulated::look_up(what, which, f.addresses)) f.ec = {e, resolver_errors};
    return f;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = which == families::all ? AF_UNSPEC : AF_INET;
  // Asked for one family alone, it would find nothing on a machine that has only its loopback.
  hints.ai_flags = which == families::all ? AI_ADDRCONFIG : 0;
  addrinfo* list = nullptr;
  int error = 0;
  const int e = leat::blocking([&] {
    const int r = ::getaddrinfo(what.host.c_str(), what.port.c_str(), &hints, &list);
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

name_and_port parse_name(std::string_view where) {
  name_and_port n;
  const auto refuse = [&] {
    std::string why;
    (void)address::parse(where, &why);
    throw std::invalid_argument("leat::net: \"" + std::string(where) + "\": " + why);
  };
  if (!split_host_port(where, n.host, n.port)) refuse();
  // getaddrinfo would take 99999 for 34463, and look up a port without a host as a name.
  const bool number = n.port.find_first_not_of("0123456789") == std::string::npos;
  if (n.host.empty() || (number && (n.port.size() > 5 || std::stoul(n.port) > 65535))) refuse();
  return n;
}

std::vector<address> resolve(std::string_view where, deadline until) {
  if (const auto in_numbers = address::parse(where)) return {*in_numbers};
  // In a G of its own: nothing can end getaddrinfo, but its caller can go on without it.
  channel<looked_up> answer(1);
  leat::go("resolver", [answer, what = parse_name(where)]() mutable {
    (void)answer.try_send(look_up(what, families::all));
  });
  std::optional<looked_up> f = answer.recv_until(until);
  if (!f) {
    throw_error(stop_requested() ? std::make_error_code(std::errc::operation_canceled)
                                 : std::make_error_code(std::errc::timed_out),
                ("leat::net::resolve: " + std::string(where)).c_str());
  }
  if (f->ec) throw std::system_error(f->ec, "leat::net::resolve: " + std::string(where));
  return std::move(f->addresses);
}

}  // namespace leat::net
