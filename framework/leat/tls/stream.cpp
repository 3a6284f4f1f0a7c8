// SPDX-License-Identifier: BSL-1.0
#include <leat/tls/stream.hpp>

#include <memory>
#include <stdexcept>

#include <leat/net/dial.hpp>
#include <leat/tls/session.hpp>

namespace leat {
namespace {

// "example.org:443", "[::1]:443", "::1", "example.org.": without port, brackets, zone and last dot.
std::string host_in(std::string_view name) {
  std::string host;
  const std::size_t colon = name.find(':');
  if (name.starts_with('[')) {
    host = name.substr(1, name.find(']') - 1);
  } else if (colon != std::string_view::npos && colon == name.rfind(':')) {
    host = name.substr(0, colon);
  } else {
    host = name;
  }
  if (host.find(':') != std::string::npos) host = host.substr(0, host.find('%'));
  if (host.ends_with('.')) host.pop_back();
  return host;
}

tls_info secure(net::stream& over, const tls_context& with, tls::role who, const std::string& host,
                deadline until) {
  if (!with || with.state()->who() != who)
    throw std::invalid_argument(who == tls::role::client ? "leat::tls_connect: not a client's context"
                                                         : "leat::tls_accept: not a server's context");
  if (over.has_layer()) throw std::invalid_argument("leat::tls: the stream has TLS already");
  try {
    auto s =
        std::make_unique<tls::session>(with.state()->current(), who, with.state()->options().verify, host,
                                       host + ':' + std::to_string(over.peer().port()), over.take_buffered());
    s->handshake(over.handle(), until);
    tls_info info = s->info();
    over.put_on(std::move(s));
    return info;
  } catch (...) {
    over.shutdown();  // what is sent now would not be safe
    throw;
  }
}

}  // namespace

tls_info tls_connect(net::stream& over, const tls_context& with, std::string_view name, deadline until) {
  const std::string host = host_in(name);
  if (host.empty() || host.find('\0') != std::string::npos)
    throw std::invalid_argument("leat::tls_connect: there is no name to expect in the peer's certificate");
  return secure(over, with, tls::role::client, host, until);
}

tls_info tls_accept(net::stream& over, const tls_context& with, deadline until) {
  return secure(over, with, tls::role::server, "", until);
}

tls_stream tls_dial(std::string_view where, const tls_context& with, deadline until) {
  if (where.starts_with("tls://")) where.remove_prefix(6);
  if (where.ends_with('/')) where.remove_suffix(1);
  if (where.starts_with("unix:"))
    throw std::invalid_argument(
        "leat::tls_dial: a Unix socket has no name to expect; dial it, and tls_connect");
  const bool port_alone = where.find_first_not_of("0123456789") == std::string_view::npos;
  return {net::dial(where, until), with, port_alone ? "127.0.0.1" : where, until};
}

}  // namespace leat
