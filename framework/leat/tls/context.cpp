// SPDX-License-Identifier: BSL-1.0
#include <leat/tls/context.hpp>

#include <openssl/err.h>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/tls/context_state.hpp>
#include <leat/tls/pem.hpp>
#include <leat/tls/session.hpp>

namespace leat::tls {
namespace {

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("leat::tls: ") + what + ": " + last_error());
}

// Null: the options name none.
std::shared_ptr<const identity> identity_of(const tls_options& o) {
  if (o.certificate.empty()) return nullptr;
  auto who = std::make_shared<identity>();
  who->chain = certificates_of(o.certificate);
  who->key = key_of(o.key_file);
  check_pair(*who->chain.front(), o.certificate, *who->key, o.key_file);
  return who;
}

void use_identity(SSL_CTX* c, const identity& who, const tls_options& o) {
  if (::SSL_CTX_use_certificate(c, who.chain.front().get()) != 1)
    throw tls_file_error("'" + o.certificate + "': cannot be used: " + last_error());
  for (std::size_t i = 1; i < who.chain.size(); ++i)
    must(SSL_CTX_add1_chain_cert(c, who.chain[i].get()) == 1, "chain");
  if (::SSL_CTX_use_PrivateKey(c, who.key.get()) != 1)
    throw tls_file_error("'" + o.key_file + "': cannot be used: " + last_error());
}

void use_authorities(SSL_CTX* c, role who, const std::string& ca) {
  if (ca.empty()) {
    must(::SSL_CTX_set_default_verify_paths(c) == 1, "the system's authorities");
    return;
  }
  X509_STORE* const store = ::SSL_CTX_get_cert_store(c);
  for (const owned<X509>& one : certificates_of(ca)) {
    must(::X509_STORE_add_cert(store, one.get()) == 1, "ca");
    // So that a client knows which of its certificates is wanted.
    if (who == role::server) must(::SSL_CTX_add_client_CA(c, one.get()) == 1, "ca");
  }
}

// The first of ours that the client offers.
int choose_alpn(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                unsigned offered_size, void* ours) {
  const auto& all = *static_cast<const std::string*>(ours);
  unsigned char* chosen = nullptr;
  if (::SSL_select_next_proto(&chosen, size, reinterpret_cast<const unsigned char*>(all.data()),
                              static_cast<unsigned>(all.size()), offered,
                              offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// Of the peer's certificate: a session must not outlive it.
bool is_expired(SSL_SESSION* s) {
  const X509* const x = ::SSL_SESSION_get0_peer(s);
  return x && ::X509_cmp_current_time(::X509_get0_notAfter(x)) < 0;
}

// A client that comes with an expired certificate's ticket shows a certificate again, and that one decides.
SSL_TICKET_RETURN decide_on_ticket(SSL*, SSL_SESSION* s, const unsigned char*, std::size_t,
                                   SSL_TICKET_STATUS how, void*) {
  if ((how != SSL_TICKET_SUCCESS && how != SSL_TICKET_SUCCESS_RENEW) || is_expired(s))
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  return how == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

std::string alpn_list(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& n : names) {
    if (n.empty() || n.size() > 255) throw std::invalid_argument("leat::tls: a protocol of 1 to 255 bytes");
    all += static_cast<char>(n.size());
    all += n;
  }
  return all;
}

void check_options(role who, const tls_options& o) {
  if (o.certificate.empty() != o.key_file.empty())
    throw std::invalid_argument("leat::tls: a certificate and its key come together");
  if (who == role::server && o.certificate.empty())
    throw std::invalid_argument("leat::tls: a server needs a certificate and its key");
  if (who == role::server && o.clients != tls_clients::any && o.ca.empty())
    throw std::invalid_argument("leat::tls: who wants certificates of clients says who signs them: ca");
  if (who == role::server && o.clients == tls_clients::any && !o.ca.empty())
    throw std::invalid_argument("leat::tls: a server with ca says which clients need a certificate: clients");
  if (who == role::client && !o.verify && !o.ca.empty())
    throw std::invalid_argument("leat::tls: ca has no use without verify");
}

}  // namespace

void session_cache::put(const std::string& server, owned<SSL_SESSION> s) {
  const std::lock_guard hold(lock_);
  owned<SSL_SESSION>& place = all_[server];
  place.swap(s);
  if (all_.size() <= most) return;
  for (auto i = all_.begin(); i != all_.end(); ++i)
    if (i->first != server) {
      all_.erase(i);
      return;
    }
}

owned<SSL_SESSION> session_cache::take(const std::string& server) {
  const std::lock_guard hold(lock_);
  const auto at = all_.find(server);
  if (at == all_.end() || !at->second) return {};
  owned<SSL_SESSION> s = std::move(at->second);
  if (is_expired(s.get())) {
    all_.erase(at);
    return {};
  }
  if (::SSL_SESSION_get_protocol_version(s.get()) >= TLS1_3_VERSION)
    all_.erase(at);
  else
    at->second.reset(::SSL_SESSION_dup(s.get()));
  return s;
}

loaded::loaded(role who, const tls_options& o, std::shared_ptr<const identity> we)
    : self(std::move(we)),
      context(::SSL_CTX_new(who == role::client ? ::TLS_client_method() : ::TLS_server_method())),
      alpn(alpn_list(o.alpn)) {
  SSL_CTX* const c = context.get();
  must(c != nullptr, "SSL_CTX_new");
  must(::SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) == 1, "version");
  ::SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  if (self) use_identity(c, *self, o);
  const bool looks = who == role::client ? o.verify : o.clients != tls_clients::any;
  if (looks) use_authorities(c, who, o.ca);
  int verify = looks ? SSL_VERIFY_PEER : SSL_VERIFY_NONE;
  if (who == role::server && o.clients == tls_clients::must_have_certificate)
    verify |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  ::SSL_CTX_set_verify(c, verify, &session::on_verified);
  if (who == role::client) {
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    ::SSL_CTX_sess_set_new_cb(c, &session::on_ticket);
    if (!alpn.empty())
      must(::SSL_CTX_set_alpn_protos(c, reinterpret_cast<const unsigned char*>(alpn.data()),
                                     static_cast<unsigned>(alpn.size())) == 0,
           "alpn");
  } else {
    // Sessions are in the tickets that clients keep; their keys go with this context.
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    static constexpr unsigned char id[] = {'l', 'e', 'a', 't'};
    must(::SSL_CTX_set_session_id_context(c, id, sizeof id) == 1, "session id context");
    must(::SSL_CTX_set_session_ticket_cb(c, nullptr, decide_on_ticket, nullptr) == 1, "tickets");
    if (!alpn.empty()) ::SSL_CTX_set_alpn_select_cb(c, choose_alpn, &alpn);
  }
}

context_state::context_state(role who, tls_options o) : who_(who), o_(std::move(o)) {
  check_options(who_, o_);
  const std::lock_guard hold(lock_);
  tried_ = look();
  used_ca_ = tried_[0];
  in_use_ = std::make_shared<loaded>(who_, o_, identity_of(o_));
}

context_state::stamps context_state::look() const noexcept {
  return {stamp_of(o_.ca), stamp_of(o_.certificate), stamp_of(o_.key_file)};
}

std::shared_ptr<loaded> context_state::current() {
  const std::lock_guard hold(lock_);
  const stamps before = look();
  const bool changed = before != tried_;
  if (!changed && !again_at_.expired()) return in_use_;
  tried_ = before;
  again_at_ = deadline::never();
  try {
    load_locked(before, changed);
  } catch (const std::exception& e) {
    refused_locked(e, changed);
  }
  return in_use_;
}

// Whom we trust does not wait for a key that fits: an authority that was taken out must go.
void context_state::load_locked(const stamps& before, bool changed) {
  std::shared_ptr<const identity> we = in_use_->self;
  try {
    we = identity_of(o_);
  } catch (const tls_file_error& e) {
    if (before[0] == used_ca_) throw;
    refused_locked(e, changed);
  }
  auto fresh = std::make_shared<loaded>(who_, o_, std::move(we));
  if (look() != before) {
    tried_ = {};  // changed while it was read: the next handshake looks again
    return;
  }
  in_use_ = std::move(fresh);
  used_ca_ = before[0];
  reloads_.fetch_add(1, std::memory_order_relaxed);
  log_notice("tls", "'{}' or what belongs to it has changed: in use from now on", name());
}

// Once per change. What does not come from the files' contents may be over soon.
void context_state::refused_locked(const std::exception& e, bool changed) {
  const bool by_content =
      dynamic_cast<const tls_file_error*>(&e) && !dynamic_cast<const passing_file_error*>(&e);
  if (!by_content) again_at_ = deadline(pause);
  if (changed)
    log_warning("tls", "'{}' or what belongs to it has changed and cannot be used; the old one stays: {}{}",
                name(), e.what(), by_content ? "" : "; trying again");
}

}  // namespace leat::tls

namespace leat {

tls_context tls_context::client(tls_options o) {
  tls_context c;
  c.state_ = std::make_shared<tls::context_state>(tls::role::client, std::move(o));
  return c;
}

tls_context tls_context::server(tls_options o) {
  tls_context c;
  c.state_ = std::make_shared<tls::context_state>(tls::role::server, std::move(o));
  return c;
}

std::uint64_t tls_context::reloads() const noexcept { return state_ ? state_->reloads() : 0; }

}  // namespace leat
