// SPDX-License-Identifier: BSL-1.0
//
// Peers that keep to TLS, but not to its manners: OpenSSL itself, driven by hand, whose records are sent when the
// test wants them to be.
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <memory>
#include <utility>

#include "tls/authority.hpp"

namespace leat::tls::test {
namespace {

using namespace std::chrono_literals;

class raw_server {
 public:
  raw_server(const site& s, stream over, int version, bool wants_certificate = false)
      : over_(std::move(over)), context_(SSL_CTX_new(TLS_server_method()), SSL_CTX_free) {
    SSL_CTX* const c = context_.get();
    must(SSL_CTX_use_certificate_chain_file(c, (s.files / "server.pem").c_str()) == 1, "certificate");
    must(SSL_CTX_use_PrivateKey_file(c, (s.files / "server.key").c_str(), SSL_FILETYPE_PEM) == 1, "key");
    SSL_CTX_set_max_proto_version(c, version);
    SSL_CTX_set_max_send_fragment(c, 512);
    SSL_CTX_set_num_tickets(c, 0);
    SSL_CTX_set_session_id_context(c, reinterpret_cast<const unsigned char*>("x"), 1);
    if (wants_certificate) SSL_CTX_set_verify(c, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    ssl_.reset(SSL_new(c), SSL_free);
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_accept_state(ssl_.get());
  }
  void handshake() {
    char part[4096];
    while (SSL_do_handshake(ssl_.get()) != 1) {
      send();
      const std::size_t n = over_.read_some(part, patience);
      must(n > 0 && BIO_write(in_, part, static_cast<int>(n)) > 0, "handshake");
    }
    send();
  }
  void ask_for_renegotiation() {
    must(SSL_renegotiate(ssl_.get()) == 1 && SSL_do_handshake(ssl_.get()) == 1, "renegotiate");
  }
  void make_ticket() {
    must(SSL_new_session_ticket(ssl_.get()) == 1 && SSL_do_handshake(ssl_.get()) == 1, "ticket");
  }
  void make_text(const std::string& text) {
    must(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0, "SSL_write");
  }
  // What the client has sent, decrypted.
  std::string read(std::size_t size) {
    std::string all;
    char part[4096];
    while (all.size() < size) {
      const int got = SSL_read(ssl_.get(), part, sizeof part);
      if (got > 0) {
        all.append(part, static_cast<std::size_t>(got));
        continue;
      }
      const std::size_t n = over_.read_some(part, patience);
      must(n > 0 && BIO_write(in_, part, static_cast<int>(n)) > 0, "read");
    }
    return all;
  }
  // Records that were made and not sent yet.
  std::string made() {
    char* data = nullptr;
    const long n = BIO_get_mem_data(out_, &data);
    std::string all(data, static_cast<std::size_t>(n));
    (void)BIO_reset(out_);
    return all;
  }
  void send() { over_.write(made(), patience); }
  stream& over() { return over_; }

 private:
  stream over_;
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<SSL> ssl_;
  BIO *in_ = nullptr, *out_ = nullptr;
};

struct raw_pair {
  tls_stream near;
  std::unique_ptr<raw_server> far;
};
raw_pair meet(const site& s, const tls_context& client, int version, bool wants_certificate = false) {
  // Not TCP: its acknowledgements may be lost in a buffer that is full.
  stream_pair raw = connected(abstract_name("hostile"));
  const int little = 16 * 1024;
  for (const int fd : {raw.near.handle().fd(), raw.far.handle().fd()})
    for (const int which : {SO_SNDBUF, SO_RCVBUF})
      must(::setsockopt(fd, SOL_SOCKET, which, &little, sizeof little) == 0, "setsockopt");
  raw_pair p;
  p.far = std::make_unique<raw_server>(s, std::move(raw.far), version, wants_certificate);
  auto shaking = spawn([&] { p.far->handshake(); });
  p.near = tls_stream(std::move(raw.near), client, "localhost", patience);
  shaking.get();
  return p;
}

TEST_CASE("a peer that asks for answers and reads none gets no memory for them") {
  const site s;
  run_clean(with_procs(2), [&] {
    raw_pair p = meet(s, tls_context::client(s.client()), TLS1_2_VERSION);
    // Each record of text comes with a renegotiation, which is refused by a record that the peer does not take.
    std::error_code ec;
    char x = 0;
    std::size_t rounds = 0;
    for (; rounds < 2'000 && !ec; rounds += 10) {
      for (int i = 0; i < 10; ++i) {
        for (int n = 0; n < 20; ++n) p.far->ask_for_renegotiation();
        p.far->make_text("x");
      }
      p.far->send();
      for (int i = 0; i < 10 && !ec; ++i) CHECK((p.near.read_some({&x, 1}, ec, patience) == 1 || ec));
    }
    CHECK(ec == std::errc::protocol_error);
  });
}

TEST_CASE("a write waits for the rest of a message to TLS itself, and goes on") {
  site s;
  s.ca.issue(s.files, "client", {.name = std::string(60, 'x'), .also = "DNS:" + std::string(600, 'y')});
  run_clean(with_procs(2), [&] {
    tls_options o = s.client();
    o.certificate = s.files / "client.pem";
    o.key_file = s.files / "client.key";
    raw_pair p = meet(s, tls_context::client(o), TLS1_3_VERSION, true);
    // A ticket has the client's certificate in it, and so is more than a record.
    p.far->make_ticket();
    const std::string all = p.far->made();
    const std::size_t first =
        5 + static_cast<unsigned char>(all[3]) * 256u + static_cast<unsigned char>(all[4]);
    REQUIRE(first < all.size());
    p.far->over().write(all.substr(0, first), patience);
    char part[16];
    // Until it has come.
    REQUIRE(eventually([&] {
      CHECK(error_of([&] { (void)p.near.read_some(part, 1ms); }) == std::errc::timed_out);
      return error_of([&] { p.near.write("a", 1ms); }) == std::errc::timed_out;
    }));
    CHECK(stops_while_waiting([&] { p.near.write("b"); }));
    auto writer = start_waiting([&] { p.near.write("go on", patience); });
    p.far->over().write(all.substr(first), patience);
    p.far->make_text("here");
    p.far->send();
    p.near.read_exactly({part, 4}, patience);
    CHECK(std::string(part, 4) == "here");
    writer.get();
    std::string got = p.far->read(5);
    while (!got.ends_with("go on")) got += p.far->read(1);
    CHECK(got.find('b') == std::string::npos);
  });
}

TEST_CASE("a read with a deadline ends, whatever comes that is not for it") {
  const site s;
  run_clean(with_procs(2), [&] {
    raw_pair p = meet(s, tls_context::client(s.client()), TLS1_3_VERSION);
    // All of it is here before the read begins, and is more than is received at once.
    const int enough = 200 * 1024;
    must(::setsockopt(p.far->over().handle().fd(), SOL_SOCKET, SO_SNDBUF, &enough, sizeof enough) == 0,
         "SO_SNDBUF");
    for (int i = 0; i < 300; ++i) p.far->make_ticket();
    p.far->send();
    char part[16];
    CHECK(error_of([&] { (void)p.near.read_some(part, 0ms); }) == std::errc::timed_out);
    int left = 0;
    REQUIRE(::ioctl(p.near.handle().fd(), FIONREAD, &left) == 0);
    CHECK(left > 0);
    // And the next one goes on where it was.
    p.far->make_text("here");
    p.far->send();
    p.near.read_exactly({part, 4}, patience);
    CHECK(std::string(part, 4) == "here");
  });
}

}  // namespace
}  // namespace leat::tls::test
