// SPDX-License-Identifier: BSL-1.0
//
// tcp_echo with TLS 1.3 on each connection: Leat's streams beside asio::ssl::stream, one thread each, both on the
// same OpenSSL. The client is OpenSSL on plain sockets in another process.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <leat/leat.hpp>
#include <leat/net.hpp>
#include <leat/tls.hpp>

#include <asio.hpp>
#include <asio/ssl.hpp>

#include "harness.hpp"
#include "peers/echo_client.hpp"
#include "peers/echo_servers.hpp"

using namespace leat;
using namespace leat::bench;

namespace {

// A certificate that is signed by itself, in files.
class identity {
 public:
  identity() {
    if (!::mkdtemp(folder_.data())) throw std::runtime_error("mkdtemp");
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const x = ::X509_new();
    ::X509_set_version(x, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(x), 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(x), -60);
    ::X509_gmtime_adj(::X509_getm_notAfter(x), 3600);
    ::X509_set_pubkey(x, key);
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(x), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("bench"), -1, -1, 0);
    ::X509_set_issuer_name(x, ::X509_get_subject_name(x));
    ::X509_sign(x, key, ::EVP_sha256());
    std::FILE* f = std::fopen(certificate().c_str(), "w");
    if (f) ::PEM_write_X509(f, x);
    if (f) std::fclose(f);
    f = std::fopen(key_file().c_str(), "w");
    ::chmod(key_file().c_str(), 0600);
    if (f) ::PEM_write_PrivateKey(f, key, nullptr, nullptr, 0, nullptr, nullptr);
    if (f) std::fclose(f);
    ::X509_free(x);
    ::EVP_PKEY_free(key);
  }
  ~identity() {
    ::unlink(certificate().c_str());
    ::unlink(key_file().c_str());
    ::rmdir(folder_.c_str());
  }
  identity(const identity&) = delete;
  identity& operator=(const identity&) = delete;
  std::string certificate() const { return folder_ + "/cert.pem"; }
  std::string key_file() const { return folder_ + "/key.pem"; }

 private:
  std::string folder_ = "/tmp/leat-bench.XXXXXX";
};

constexpr double noise = 1.05;  // the bar is Asio's figure; runs of one program differ by so much
constexpr std::size_t message_size = 64, block_size = 16 * 1024;

int connect_to(std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  for (int tries = 0; ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0; ++tries) {
    if (tries > 2000) return -1;
    ::usleep(1000);
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// Each connection sends so many bytes and waits for them to come back. Requests per second; 0: it failed.
double run_tls_client(std::uint16_t port, int connections, std::size_t size, int milliseconds) {
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_client_method());
  struct peer {
    SSL* ssl = nullptr;
    std::size_t got = 0;
  };
  std::vector<peer> peers(static_cast<std::size_t>(connections));
  const std::string message(size, 'x');
  std::string back(size, '\0');
  const int set = ::epoll_create1(0);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const int fd = connect_to(port);
    peers[i].ssl = ::SSL_new(context);
    ::SSL_set_fd(peers[i].ssl, fd);
    if (fd < 0 || ::SSL_connect(peers[i].ssl) != 1) return 0;
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = i;
    ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
  }
  for (const peer& p : peers)
    if (::SSL_write(p.ssl, message.data(), static_cast<int>(size)) <= 0) return 0;
  const std::int64_t length = static_cast<std::int64_t>(milliseconds) * 1'000'000;
  const std::int64_t begin = echo_now_ns() + length / 10, end = begin + length;
  std::uint64_t done = 0;
  epoll_event events[64];
  for (std::int64_t now = echo_now_ns(); now < end; now = echo_now_ns()) {
    const int n = ::epoll_wait(set, events, 64, 100);
    for (int i = 0; i < n; ++i) {
      peer& p = peers[static_cast<std::size_t>(events[i].data.u64)];
      // Tickets come first, and are not data: the sockets block, so look before reading.
      const int fd = ::SSL_get_fd(p.ssl);
      do {
        char first = 0;
        if (::SSL_pending(p.ssl) == 0 && ::recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) break;
        const int k = ::SSL_read(p.ssl, back.data(), static_cast<int>(size - p.got));
        if (k <= 0) return 0;
        p.got += static_cast<std::size_t>(k);
      } while (p.got < size);
      if (p.got < size) continue;
      p.got = 0;
      done += now >= begin ? 1 : 0;
      if (::SSL_write(p.ssl, message.data(), static_cast<int>(size)) <= 0) return 0;
    }
  }
  return static_cast<double>(done) / (static_cast<double>(length) / 1e9);
}

// CPU time of this process, without its children.
double cpu_ns() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(u.ru_utime) + ns(u.ru_stime);
}

class client_process {
 public:
  client_process(std::uint16_t port, int connections, std::size_t size, int milliseconds) {
    if (::pipe(pipe_) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      const double r = run_tls_client(port, connections, size, milliseconds);
      _exit(::write(pipe_[1], &r, sizeof r) == sizeof r ? 0 : 1);
    }
    ::close(pipe_[1]);
  }
  double result() {
    double r = 0;
    const ssize_t n = ::read(pipe_[0], &r, sizeof r);
    ::close(pipe_[0]);
    ::waitpid(pid_, nullptr, 0);
    if (n != sizeof r || r == 0) throw std::runtime_error("the client failed");
    return r;
  }

 private:
  int pipe_[2];
  pid_t pid_;
};

// As asio's own examples have it.
class asio_session : public std::enable_shared_from_this<asio_session> {
 public:
  asio_session(asio::ip::tcp::socket s, asio::ssl::context& c) : stream_(std::move(s), c) {}
  void start() {
    stream_.async_handshake(asio::ssl::stream_base::server, [me = shared_from_this()](std::error_code ec) {
      if (!ec) me->read();
    });
  }

 private:
  void read() {
    stream_.async_read_some(asio::buffer(data_),
                            [me = shared_from_this()](std::error_code ec, std::size_t n) {
                              if (!ec) me->write(n);
                            });
  }
  void write(std::size_t n) {
    asio::async_write(stream_, asio::buffer(data_, n),
                      [me = shared_from_this()](std::error_code ec, std::size_t) {
                        if (!ec) me->read();
                      });
  }
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
  char data_[block_size];
};

double measure_asio(const identity& who, int connections, std::size_t size, int ms) {
  std::uint16_t port = 0;
  ::close(listening_socket(port));
  client_process client(port, connections, size, ms);
  asio::io_context io(1);
  asio::ssl::context with(asio::ssl::context::tls_server);
  with.use_certificate_chain_file(who.certificate());
  with.use_private_key_file(who.key_file(), asio::ssl::context::pem);
  asio::ip::tcp::acceptor at(io, {asio::ip::address_v4::loopback(), port});
  std::function<void()> accept = [&] {
    at.async_accept([&](std::error_code ec, asio::ip::tcp::socket s) {
      if (ec) return;
      s.set_option(asio::ip::tcp::no_delay(true));
      std::make_shared<asio_session>(std::move(s), with)->start();
      accept();
    });
  };
  accept();
  std::thread server([&] { io.run(); });
  double r = 0;
  std::exception_ptr failed;
  try {
    r = client.result();
  } catch (...) {
    failed = std::current_exception();
  }
  io.stop();
  server.join();
  if (failed) std::rethrow_exception(failed);
  return r;
}

double measure_leat(const identity& who, int connections, std::size_t size, int ms) {
  std::uint16_t port = 0;
  ::close(listening_socket(port));
  client_process client(port, connections, size, ms);
  runtime_options o;
  o.procs = 1;
  double r = 0;
  run(o, [&] {
    const tls_context with =
        tls_context::server({.certificate = who.certificate(), .key_file = who.key_file()});
    net::listener listener = net::listen(std::to_string(port));
    task_group servers;
    servers.go("server", [&] {
      net::serve(listener, [&](net::stream& peer) {
        tls_accept(peer, with);
        const auto data = std::make_unique<char[]>(block_size);
        std::error_code ec;
        while (const std::size_t n = peer.read_some({data.get(), block_size}, ec))
          peer.write({data.get(), n}, ec);
      });
    });
    blocking([&] { r = client.result(); });
    servers.stop();
    listener.shutdown();
  });
  return r;
}

// The server's CPU time per request: on a busy machine it holds where elapsed time does not.
template <class Server>
double cpu_per_request(Server measure, double& elapsed, int ms) {
  const double before = cpu_ns();
  const double rate = measure();
  elapsed = 1e9 / rate;
  return (cpu_ns() - before) / (rate * 1.1 * ms / 1000);
}

double measure(bench::context& b, int connections, std::size_t size) {
  const identity who;
  const int ms = b.quick() ? 300 : 2000;
  double elapsed = 0;
  if (!b.alone()) {
    b.report("asio_ssl",
             cpu_per_request([&] { return measure_asio(who, connections, size, ms); }, elapsed, ms));
    b.report("asio_ssl_elapsed", elapsed);
  }
  const double mine = cpu_per_request([&] { return measure_leat(who, connections, size, ms); }, elapsed, ms);
  b.report("elapsed", elapsed);
  return mine;
}

}  // namespace

LEAT_BENCH(tls_echo, "ns",
           "CPU time of a server per request: tcp_echo over TLS 1.3, 64 bytes over one of 64 connections",
           fresh_process, no_warm_up, at_procs{1}, at_most_times(noise, "asio_ssl")) {
  return measure(bench, 64, message_size);
}

LEAT_BENCH(tls_echo_16k, "ns", "the same with 16 KiB at a time", fresh_process, no_warm_up, at_procs{1},
           at_most_times(noise, "asio_ssl")) {
  return measure(bench, 64, block_size);
}
