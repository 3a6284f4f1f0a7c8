// SPDX-License-Identifier: BSL-1.0
//
// One TLS connection: an SSL object between a stream and its descriptor. OpenSSL never sees the descriptor: it
// takes ciphertext out of in_ and puts it into out_, and so never waits. One G may read while another writes,
// but the SSL object bears one caller at a time, and both directions may have to send: a read that answers an
// update of keys or refuses a renegotiation makes ciphertext, too.
//
// Variables:
//   lock_           short: held for calls of OpenSSL and for moving buffers, never for a wait
//   ssl_, out_      under lock_
//   in_[begin_, end_)  under lock_; the rest of in_ is the reader's, who fills it without the lock
//   sending_now_    under lock_: somebody is the sender
//   reads_          under lock_: calls of SSL_read; progress_ wakes who waits for another one
//   sending_, sent_ the sender's: what is on its way. Its order is that in which OpenSSL made it, because it
//                   is swapped with out_ only when it has gone out whole
//
//   reader                                         writer, and finish
//    1 lock; tells what it got; SSL_read            a lock; waits (lock dropped) while sending_now_;
//    2 there is something to send, and nobody         sending_now_ = true
//      is the sender: becomes it, as b to e, but    b sending_ empty: swaps it with out_
//      gives up where it would wait                 c unlock; sends; may wait for the peer to read; lock
//    3 unlock; got plaintext: done                  d again from b until both are empty. The first time:
//    4 waits for ciphertext, holding nothing          SSL_write, and again from b
//                                                   e sending_now_ = false, under the lock of the last look
//                                                     at out_; wakes one who waits in a; unlock
//
// Forbidden: a read that waits for the peer while it holds what a writer needs. At 4 it holds nothing; at 2 it
// does not wait. Forbidden: two sides that both write much and read little wait for each other for ever: a
// writer at c holds the sender's role, but not lock_, so its own side goes on reading. Forbidden: ciphertext
// that nobody sends. What a read leaves in out_ at 2 because there is a sender, that one finds at d: e is under
// the same lock. What it leaves because the peer does not take it goes with the next call of either, and the
// peer's own progress never depends on it. It is bounded: more than most_unsent of it ends the connection.
// Forbidden: records out of order, or one sent in parts among others: only the sender sends, and a new one
// begins with the rest of the old one's sending_.
//
// The one case in which a writer depends on a reader: a message to OpenSSL itself (new keys, a ticket) has come
// in part, and OpenSSL writes nothing until it has the rest. Then SSL_write at d waits, as the sender, until a
// read has gone on (progress_), or its deadline. Peers send such messages whole; who has no reader and no
// deadline waits for one that does not for ever, as for one that does not read.
//
// The end: the peer's close_notify is the end of a read; the end of the descriptor without it is an error
// (tls_errc::truncated), for who cuts a connection must not decide what was said. An error of OpenSSL's is for
// ever: failed_ is what each later call gets. Deadlines and stops leave all as it was, but a write that one of
// them ended may have been sent in part; so finish does not say after it that this was all.
//
// Stress: tests/tls/stream_test.cpp, under ThreadSanitizer too. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <leat/csp/condition_variable.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/net/stream_layer.hpp>
#include <leat/tls/context_state.hpp>
#include <leat/tls/stream.hpp>

namespace leat::tls {

class session final : public net::stream_layer {
 public:
  // `name`: of a client, whom it wants to talk to, a DNS name or an address; `server`: what its sessions are
  // kept under; `early`: what was read already.
  session(std::shared_ptr<loaded> by, role who, bool verify, const std::string& name, std::string server,
          std::string_view early);

  // By one G, before anything else. Throws std::system_error.
  void handshake(net::descriptor& d, deadline until);
  tls_info info() const;

  std::size_t read_some(net::descriptor& d, net::mutable_bytes into, std::error_code& ec,
                        deadline until) override;
  std::size_t write_some(net::descriptor& d, net::const_bytes from, std::error_code& ec,
                         deadline until) override;
  void finish(net::descriptor& d, deadline until) noexcept override;

  // What OpenSSL calls: with each certificate it looked at, and with each session that may be resumed.
  static int on_verified(int good, X509_STORE_CTX* c);
  static int on_ticket(SSL* s, SSL_SESSION* of);

 private:
  static constexpr std::size_t in_size = 17 * 1024;       // a record, and a little
  static constexpr std::size_t most_at_once = 64 * 1024;  // plaintext for one run of a to e
  static constexpr std::size_t most_unsent = 64 * 1024;   // of what reads make
  static constexpr std::size_t most_kept = 32 * 1024;     // of a buffer for ciphertext that is not needed now

  class sender;
  friend struct session_bio;

  void expect(const std::string& name, bool verify);
  bool must_receive_locked() const noexcept;
  void fail_locked(int result);
  void keep_ticket_locked(std::unique_lock<mutex>& hold);
  void send_what_is_there(std::unique_lock<mutex>& hold, net::descriptor& d, std::error_code& ec,
                          deadline until);
  std::size_t encrypt_locked(std::unique_lock<mutex>& hold, net::const_bytes from, std::error_code& ec,
                             deadline until);
  void send_without_waiting(std::unique_lock<mutex>& hold, net::descriptor& d);
  [[noreturn]] void refuse(const std::error_code& ec);

  const std::shared_ptr<loaded> by_;
  const role who_;
  const std::string name_, server_;
  mutex lock_;
  condition_variable no_sender_;
  condition_variable progress_;
  std::uint64_t reads_ = 0;
  owned<SSL> ssl_;
  std::unique_ptr<char[]> in_;
  std::size_t capacity_ = in_size;
  std::size_t begin_ = 0, end_ = 0;
  std::string out_;
  bool sending_now_ = false;
  bool finished_ = false;  // finish was called
  bool cut_ = false;       // a write did not get through: what the peer has is not all that was meant
  std::error_code failed_;
  owned<SSL_SESSION> ticket_;
  std::string sending_;
  std::size_t sent_ = 0;
  // Of a certificate that was not accepted.
  std::string culprit_;
};

}  // namespace leat::tls
