// SPDX-License-Identifier: BSL-1.0
#include <leat/tls/session.hpp>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <leat/net/io_wait.hpp>
#include <leat/sched/stop.hpp>
#include <leat/tls/pem.hpp>

namespace leat::tls {

// The two buffers, as OpenSSL wants to see them. Called under lock_.
struct session_bio {
  static int read(BIO* b, char* to, std::size_t size, std::size_t* n) {
    session& s = *static_cast<session*>(::BIO_get_data(b));
    BIO_clear_retry_flags(b);
    *n = std::min(size, s.end_ - s.begin_);
    if (*n == 0) {
      BIO_set_retry_read(b);
      return 0;
    }
    std::memcpy(to, s.in_.get() + s.begin_, *n);
    s.begin_ += *n;
    return 1;
  }
  static int write(BIO* b, const char* from, std::size_t size, std::size_t* n) {
    session& s = *static_cast<session*>(::BIO_get_data(b));
    BIO_clear_retry_flags(b);
    try {
      s.out_.append(from, size);
    } catch (const std::bad_alloc&) {
      return 0;
    }
    *n = size;
    return 1;
  }
  static long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

  static const BIO_METHOD* method() {
    static BIO_METHOD* const one = [] {
      BIO_METHOD* const m = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "leat");
      if (!m) throw std::bad_alloc();
      (void)::BIO_meth_set_read_ex(m, read);
      (void)::BIO_meth_set_write_ex(m, write);
      (void)::BIO_meth_set_ctrl(m, control);
      return m;
    }();
    return one;
  }
};

// The sender's role, from a to e. Begins and ends with the lock held.
class session::sender {
 public:
  explicit sender(session& s, std::unique_lock<mutex>& hold) noexcept : s_(s), hold_(hold) {
    s_.sending_now_ = true;
  }
  ~sender() {
    if (!hold_.owns_lock()) hold_.lock();  // a stop that was insisted on
    s_.sending_now_ = false;
    s_.no_sender_.notify_one();
  }
  sender(const sender&) = delete;
  sender& operator=(const sender&) = delete;

 private:
  session& s_;
  std::unique_lock<mutex>& hold_;
};

session::session(std::shared_ptr<loaded> by, role who, bool verify, const std::string& name,
                 std::string server, std::string_view early)
    : by_(std::move(by)),
      who_(who),
      name_(name),
      server_(std::move(server)),
      ssl_(::SSL_new(by_->context.get())),
      capacity_(std::max(early.size(), in_size)),
      end_(early.size()) {
  if (!ssl_) throw std::bad_alloc();
  in_ = std::make_unique<char[]>(capacity_);
  std::copy(early.begin(), early.end(), in_.get());
  BIO* const b = ::BIO_new(session_bio::method());
  if (!b) throw std::bad_alloc();
  ::BIO_set_data(b, this);
  ::BIO_set_init(b, 1);
  ::SSL_set_bio(ssl_.get(), b, b);
  SSL_set_app_data(ssl_.get(), this);
  if (who_ == role::server) {
    ::SSL_set_accept_state(ssl_.get());
    return;
  }
  ::SSL_set_connect_state(ssl_.get());
  expect(name, verify);
  if (const owned<SSL_SESSION> known = by_->sessions.take(server_))
    (void)::SSL_set_session(ssl_.get(), known.get());
}

// In the peer's certificate; and a name, unlike an address, is told to the server, which may be several.
void session::expect(const std::string& name, bool verify) {
  X509_VERIFY_PARAM* const expected = ::SSL_get0_param(ssl_.get());
  in6_addr ignored{};
  const bool number =
      ::inet_pton(AF_INET, name.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, name.c_str(), &ignored) == 1;
  bool good = true;
  if (!number) good = SSL_set_tlsext_host_name(ssl_.get(), name.c_str()) == 1;
  if (good && verify && number) good = ::X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1;
  if (good && verify && !number) {
    ::X509_VERIFY_PARAM_set_hostflags(
        expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    good = ::X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size()) == 1;
  }
  if (!good) throw std::system_error(tls_errc::wrong_name, "leat::tls: '" + name + "': " + last_error());
}

int session::on_verified(int good, X509_STORE_CTX* c) {
  if (good == 1) return good;
  const auto* const ssl =
      static_cast<const SSL*>(::X509_STORE_CTX_get_ex_data(c, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const s = static_cast<session*>(SSL_get_app_data(ssl));
  const X509* const x = ::X509_STORE_CTX_get_current_cert(c);
  try {
    if (s && s->culprit_.empty() && x)
      s->culprit_ = subject_of(*x) + " (signed by " + issuer_of(*x) +
                    "): " + ::X509_verify_cert_error_string(::X509_STORE_CTX_get_error(c));
  } catch (const std::bad_alloc&) {
    // It is refused all the same.
  }
  return good;
}

int session::on_ticket(SSL* s, SSL_SESSION* of) {
  static_cast<session*>(SSL_get_app_data(s))->ticket_.reset(of);
  return 1;
}

// Out of the lock: the cache has one of its own.
void session::keep_ticket_locked(std::unique_lock<mutex>& hold) {
  if (!ticket_) return;
  owned<SSL_SESSION> one = std::move(ticket_);
  hold.unlock();
  by_->sessions.put(server_, std::move(one));
  hold.lock();
}

bool session::must_receive_locked() const noexcept {
  return begin_ == end_ && ::SSL_pending(ssl_.get()) == 0 &&
         (::SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) == 0;
}

// After a call that has failed, for good.
void session::fail_locked(int result) {
  const int why = ::SSL_get_error(ssl_.get(), result);
  const unsigned long e = ::ERR_peek_error();
  const long verified = ::SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK && ERR_GET_LIB(e) == ERR_LIB_SSL &&
      ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED)
    failed_ = code_of_verification(verified);
  else if (why == SSL_ERROR_ZERO_RETURN)
    failed_ = tls_errc::truncated;
  else
    failed_ = e != 0 ? code_of(e) : std::make_error_code(std::errc::protocol_error);
  ::ERR_clear_error();
}

// b to d: until all has gone out, or ec says why not.
void session::send_what_is_there(std::unique_lock<mutex>& hold, net::descriptor& d, std::error_code& ec,
                                 deadline until) {
  for (;;) {
    if (sent_ == sending_.size()) {
      sending_.clear();
      sent_ = 0;
      if (out_.empty()) {
        // Connections that are quiet keep little.
        if (sending_.capacity() > most_kept) std::string().swap(sending_);
        if (out_.capacity() > most_kept) std::string().swap(out_);
        return;
      }
      sending_.swap(out_);
    }
    hold.unlock();
    const std::size_t n = d.write_some({sending_.data() + sent_, sending_.size() - sent_}, ec, until);
    hold.lock();
    sent_ += n;
    if (ec) return;
  }
}

void session::send_without_waiting(std::unique_lock<mutex>& hold, net::descriptor& d) {
  if (sending_now_ || (out_.empty() && sent_ == sending_.size())) return;
  const sender me(*this, hold);
  std::error_code later;
  send_what_is_there(hold, d, later, nanoseconds::zero());
}

std::size_t session::read_some(net::descriptor& d, net::mutable_bytes into, std::error_code& ec,
                               deadline until) {
  ec.clear();
  if (into.size == 0) return 0;
  if (stop_requested()) {
    net::throw_if_insisted_on_this_g();
    ec = std::make_error_code(std::errc::operation_canceled);
    return 0;
  }
  bool received = false;
  for (std::size_t got = 0;;) {
    {
      std::unique_lock hold(lock_);
      if (got > 0) {
        begin_ = 0;
        end_ = got;
      }
      if (failed_) {
        ec = failed_;
        return 0;
      }
      if (!must_receive_locked()) {
        ::ERR_clear_error();
        std::size_t n = 0;
        const std::size_t before = begin_;
        const int result = ::SSL_read_ex(ssl_.get(), into.data, into.size, &n);
        const int why = result == 1 ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), result);
        if (result != 1 && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_ZERO_RETURN) fail_locked(result);
        ++reads_;
        progress_.notify_all();
        keep_ticket_locked(hold);
        send_without_waiting(hold, d);
        // First of all: a peer that sends a byte with each thing to be answered gets no further either.
        if (out_.size() > most_unsent && !failed_) failed_ = std::make_error_code(std::errc::protocol_error);
        if (result == 1) return n;
        if (why == SSL_ERROR_ZERO_RETURN) return 0;
        // What is there is taken before more is received into its place.
        got = 0;
        if (!failed_ && begin_ != end_) {
          if (begin_ != before) continue;
          failed_ = std::make_error_code(std::errc::protocol_error);
        }
        if (failed_) {
          ec = failed_;
          return 0;
        }
      }
    }
    // Or who sends records with nothing in them would keep a reader for ever.
    if (std::exchange(received, true) && until.expired()) {
      ec = std::make_error_code(std::errc::timed_out);
      return 0;
    }
    got = d.read_some({in_.get(), capacity_}, ec, until);
    if (ec) return 0;
    if (got == 0) {
      const std::unique_lock hold(lock_);
      failed_ = tls_errc::truncated;
      progress_.notify_all();
      ec = failed_;
      return 0;
    }
  }
}

std::size_t session::write_some(net::descriptor& d, net::const_bytes from, std::error_code& ec,
                                deadline until) {
  ec.clear();
  if (from.size == 0) return 0;
  std::unique_lock hold(lock_);
  if (!no_sender_.wait_until(hold, until, [&] { return !sending_now_; })) {
    ec = std::make_error_code(stop_requested() ? std::errc::operation_canceled : std::errc::timed_out);
    cut_ = true;
    return 0;
  }
  const sender me(*this, hold);
  const bool was_cut = std::exchange(cut_, true);  // until it is through, or an exception comes
  send_what_is_there(hold, d, ec, until);
  if (!ec && failed_) ec = failed_;
  if (!ec && finished_) ec = tls_errc::finished;
  if (ec) return 0;
  const std::size_t n = encrypt_locked(hold, from, ec, until);
  if (ec) return 0;
  send_what_is_there(hold, d, ec, until);
  if (ec) return 0;
  cut_ = was_cut;
  return n;
}

// SSL_write. OpenSSL does not write amid a message to itself (new keys, a ticket) that has come in part: then
// this waits for a reader that gets the rest.
std::size_t session::encrypt_locked(std::unique_lock<mutex>& hold, net::const_bytes from, std::error_code& ec,
                                    deadline until) {
  for (;;) {
    std::size_t n = 0;
    ::ERR_clear_error();
    const int result = ::SSL_write_ex(ssl_.get(), from.data, std::min(from.size, most_at_once), &n);
    if (result == 1) return n;
    if (::SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) fail_locked(result);
    const std::uint64_t before = reads_;
    const bool goes_on = progress_.wait_until(hold, until, [&] { return failed_ || reads_ != before; });
    if (failed_)
      ec = failed_;
    else if (!goes_on)
      ec = std::make_error_code(stop_requested() ? std::errc::operation_canceled : std::errc::timed_out);
    if (ec) return 0;
  }
}

void session::finish(net::descriptor& d, deadline until) noexcept {
  try {
    std::unique_lock hold(lock_);
    if (!no_sender_.wait_until(hold, until, [&] { return !sending_now_; })) return;
    const sender me(*this, hold);
    if (!finished_ && !failed_ && !cut_) {
      ::ERR_clear_error();
      (void)::SSL_shutdown(ssl_.get());
      ::ERR_clear_error();
    }
    finished_ = true;
    std::error_code lost;
    send_what_is_there(hold, d, lost, until);
  } catch (...) {
    // A stop that was insisted on, or no memory: the peer takes it for a cut, which it is.
  }
}

void session::handshake(net::descriptor& d, deadline until) {
  std::error_code ec;
  for (bool received = false;;) {
    int why = SSL_ERROR_NONE;
    {
      std::unique_lock hold(lock_);
      ::ERR_clear_error();
      const int result = ::SSL_do_handshake(ssl_.get());
      why = result == 1 ? SSL_ERROR_NONE : ::SSL_get_error(ssl_.get(), result);
      const bool over = why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_READ;
      if (over) fail_locked(result);
      keep_ticket_locked(hold);
      {
        const sender me(*this, hold);
        send_what_is_there(hold, d, ec, over ? deadline(nanoseconds::zero()) : until);
      }
      if (over) refuse(failed_);
    }
    if (ec) refuse(ec);
    if (why == SSL_ERROR_NONE) return;
    if (std::exchange(received, true) && until.expired()) refuse(std::make_error_code(std::errc::timed_out));
    const std::size_t got = d.read_some({in_.get(), capacity_}, ec, until);
    if (ec) refuse(ec);
    if (got == 0) refuse(tls_errc::truncated);
    const std::unique_lock hold(lock_);
    begin_ = 0;
    end_ = got;
  }
}

void session::refuse(const std::error_code& ec) {
  std::string what = "leat: tls handshake";
  if (!name_.empty()) what += " with " + name_;
  if (!culprit_.empty()) what += ": " + culprit_;
  net::throw_error(ec, what.c_str());
}

tls_info session::info() const {
  tls_info i;
  i.version = ::SSL_get_version(ssl_.get());
  if (const char* const cipher = ::SSL_get_cipher_name(ssl_.get())) i.cipher = cipher;
  const unsigned char* alpn = nullptr;
  unsigned size = 0;
  ::SSL_get0_alpn_selected(ssl_.get(), &alpn, &size);
  if (size > 0) i.alpn.assign(reinterpret_cast<const char*>(alpn), size);
  if (const X509* const x = ::SSL_get0_peer_certificate(ssl_.get())) i.peer = subject_of(*x);
  i.resumed = ::SSL_session_reused(ssl_.get()) == 1;
  return i;
}

}  // namespace leat::tls
