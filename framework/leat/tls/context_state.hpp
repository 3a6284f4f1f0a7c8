// SPDX-License-Identifier: BSL-1.0
//
// A context's files as OpenSSL holds them. `loaded` never changes once it is made; `context_state` says which
// one is in use. Not installed.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/tls/context.hpp>
#include <leat/tls/openssl.hpp>

namespace leat::tls {

enum class role : std::uint8_t { client, server };

// Our certificate, those between it and its authority, and its key.
struct identity {
  std::vector<owned<X509>> chain;
  owned<EVP_PKEY> key;
};

// Sessions that a client may resume, one per server, until the server's certificate expires. Those of TLS 1.3 are
// used once, as RFC 8446 (C.4) asks for.
class session_cache {
 public:
  void put(const std::string& server, owned<SSL_SESSION> s);
  owned<SSL_SESSION> take(const std::string& server);

 private:
  static constexpr std::size_t most = 256;
  mutex lock_;  // for what follows
  std::unordered_map<std::string, owned<SSL_SESSION>> all_;
};

struct loaded {
  loaded(role who, const tls_options& o, std::shared_ptr<const identity> we);

  std::shared_ptr<const identity> self;  // null: none
  owned<SSL_CTX> context;
  std::string alpn;  // as it is sent: each with its length in front
  session_cache sessions;
};

class context_state {
 public:
  context_state(role who, tls_options o);

  // After a look at the files. Never fails: the last good ones are there.
  std::shared_ptr<loaded> current();
  role who() const noexcept { return who_; }
  const tls_options& options() const noexcept { return o_; }
  std::uint64_t reloads() const noexcept { return reloads_.load(std::memory_order_relaxed); }

 private:
  using stamps = std::array<file_stamp, 3>;
  static constexpr nanoseconds pause = std::chrono::seconds(2);
  stamps look() const noexcept;
  const std::string& name() const noexcept { return o_.certificate.empty() ? o_.ca : o_.certificate; }
  void load_locked(const stamps& before, bool changed);
  void refused_locked(const std::exception& e, bool changed);

  const role who_;
  const tls_options o_;
  mutex lock_;                             // for the four that follow
  stamps tried_;                           // those that were last loaded, or found bad
  file_stamp used_ca_;                     // that which in_use_ trusts
  deadline again_at_ = deadline::never();  // what was in the way then has nothing to do with the files
  std::shared_ptr<loaded> in_use_;
  std::atomic<std::uint64_t> reloads_{0};
};

}  // namespace leat::tls
