// SPDX-License-Identifier: BSL-1.0
//
// TLS over a stream: the same stream, but nobody on the way can read or change what goes through it.
//
//   auto peer = leat::tls_dial("tls://example.org:443", leat::tls_context::client(), 5s);
//   peer.write("GET / HTTP/1.0\r\n\r\n", 5s);
//   while (auto line = peer.read_line(5s)) use(*line);
//
//   leat::net::serve(at, [&](leat::net::stream& peer) {
//     leat::tls_accept(peer, as_server, 10s);
//     peer.write("hello\n", 5s);
//   });
//
// Errors, deadlines and stops as of any stream, and those of error.hpp. The end of a stream is one that the
// peer has made on purpose (close_notify); a connection that just ends is the error tls_errc::truncated.
// shutdown_write() and close() tell the peer the same from our side, unless a write has failed; a stream that
// is destroyed without them is given up, and its peer is told by that error. One G may read while another
// writes.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/net/stream.hpp>
#include <leat/tls/context.hpp>
#include <leat/tls/error.hpp>

namespace leat {

// What a handshake has settled.
struct tls_info {
  std::string version;  // "TLSv1.3"
  std::string cipher;
  std::string alpn;      // the protocol; empty: none was spoken of
  std::string peer;      // whom the peer's certificate is for: "CN = example.org"; empty: it has shown none
  bool resumed = false;  // without certificates, because both sides remember each other
};

// In place: what is written and read from now on goes through TLS. Both throw std::system_error, and have shut
// the stream down then; std::invalid_argument for a context of the other role, or none.
//
// `name`: whom we want to talk to, a DNS name or an address, with or without a port. Its certificate must be
// for that.
tls_info tls_connect(net::stream& over, const tls_context& with, std::string_view name,
                     deadline until = deadline::never());
tls_info tls_accept(net::stream& over, const tls_context& with, deadline until = deadline::never());

// A stream with what its handshake has settled.
class tls_stream : public net::stream {
 public:
  tls_stream() noexcept = default;
  // A client's, and a server's.
  tls_stream(net::stream over, const tls_context& with, std::string_view name,
             deadline until = deadline::never())
      : net::stream(std::move(over)), info_(tls_connect(*this, with, name, until)) {}
  tls_stream(net::stream over, const tls_context& with, deadline until = deadline::never())
      : net::stream(std::move(over)), info_(tls_accept(*this, with, until)) {}

  const tls_info& info() const noexcept { return info_; }

 private:
  tls_info info_;
};

// "tls://example.org:443", or without the scheme: net::dial and the handshake, both before the deadline.
tls_stream tls_dial(std::string_view where, const tls_context& with, deadline until = deadline::never());

}  // namespace leat
