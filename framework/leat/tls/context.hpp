// SPDX-License-Identifier: BSL-1.0
//
// What many TLS connections share: whom to trust, and who we are. Made once, used by any number of Gs and
// threads at once; copies share.
//
//   leat::tls_context as_server = leat::tls_context::server({.certificate = "/etc/x/cert.pem",
//                                                            .key_file = "/etc/x/key.pem"});
//   leat::tls_context as_client = leat::tls_context::client();    // the system's authorities
//
// Files that change: each handshake begins with a look at them (three calls of stat), and one that finds them
// changed loads them all anew. If they cannot be used, torn or a key that is not the certificate's, that is
// logged once per change, and what was loaded before stays in use; but a `ca` that can be used is, also while
// certificate and key cannot. Where the system is the reason, out of descriptors or memory, they are tried again
// after two seconds. A file that is deleted or empty cannot be used either: to trust nobody any more, put an
// authority there that has signed nothing. Connections that are there keep what they
// began with; sessions that were to be resumed are forgotten with the files they were made under, so an
// authority that was taken out of `ca` is trusted no longer from the next handshake on.
//
// What every context does: TLS 1.2 or later; no compression, no renegotiation; clients verify the server's
// certificate and its name, unless they are told not to; sessions are resumed where the peer lets us.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <leat/tls/files.hpp>

namespace leat {

namespace tls {
class context_state;
}

// Whether a server wants to see certificates of its clients, signed by one of `ca`.
enum class tls_clients : std::uint8_t { any, may_have_certificate, must_have_certificate };

struct tls_options {
  std::string ca = {};           // PEM file with the authorities that are trusted; empty: the system's
  std::string certificate = {};  // PEM file: our certificate first, then those between it and the authority
  std::string key_file = {};     // PEM file: its key, not encrypted, closed to everybody but owner and group
  std::vector<std::string> alpn = {};      // protocols, the best first; empty: none are spoken of
  tls_clients clients = tls_clients::any;  // of a server
  bool verify = true;                      // of a client; false: whoever answers is believed. For tests
};

class tls_context {
 public:
  tls_context() noexcept = default;
  // Both throw tls_file_error for files that cannot be used, and std::invalid_argument for options that make no
  // sense: a server without a certificate, one that wants certificates of clients and has no `ca` or the other way
  // round, a client with a `ca` that does not verify.
  static tls_context client(tls_options o = {});
  static tls_context server(tls_options o);

  explicit operator bool() const noexcept { return state_ != nullptr; }
  // How often files that had changed were taken into use.
  std::uint64_t reloads() const noexcept;
  // For tls_stream.
  const std::shared_ptr<tls::context_state>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<tls::context_state> state_;
};

}  // namespace leat
