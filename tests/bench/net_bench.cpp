// SPDX-License-Identifier: BSL-1.0
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <stdexcept>
#include <thread>
#include <vector>

#include <leat/leat.hpp>
#include <leat/net.hpp>

#include <asio.hpp>

#include "harness.hpp"
#include "peers/echo_client.hpp"
#include "peers/echo_servers.hpp"

using namespace leat;
using namespace leat::bench;

namespace {

enum class placing { free, pinned };

// The client in a process of its own; must be started before this one has threads.
class client_process {
 public:
  client_process(std::uint16_t port, int milliseconds, placing where, int idle = 0) {
    if (::pipe(pipe_) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(pipe_[0]);
      if (where == placing::pinned) pin_to(1);
      const echo_result r = run_echo_client(port, 64, milliseconds, idle);
      _exit(::write(pipe_[1], &r, sizeof r) == sizeof r ? 0 : 1);
    }
    ::close(pipe_[1]);
  }
  // Blocks until it is done.
  echo_result result() {
    echo_result r;
    const ssize_t n = ::read(pipe_[0], &r, sizeof r);
    ::close(pipe_[0]);
    ::waitpid(pid_, nullptr, 0);
    if (n != sizeof r || r.requests_per_second == 0) throw std::runtime_error("the echo client failed");
    return r;
  }

 private:
  int pipe_[2];
  pid_t pid_;
};

void serve_streams(std::string_view at, client_process& client, echo_result& result) {
  net::listener listener = net::listen(at);
  task_group servers;
  servers.go("server", [&] {
    net::serve(listener,
               [](net::stream& peer) {
                 char data[1024];
                 while (const std::size_t n = peer.read_some(data)) peer.write({data, n});
               },
               {.limit = 20'000});
  });
  blocking([&] { result = client.result(); });
}

// The same as any Asio program would write it.
void serve_asio(std::uint16_t port, client_process& client, echo_result& result) {
  using asio::ip::tcp;
  tcp::acceptor acceptor(io(), {asio::ip::address_v4::loopback(), port});
  task_group servers;
  servers.go("server", [&] {
    for (;;) {
      tcp::socket peer = acceptor.async_accept(leat::await);
      peer.set_option(tcp::no_delay(true));
      servers.go("peer", [s = std::move(peer)]() mutable {
        char data[4096];
        for (;;) {
          const auto [ec, n] = s.async_read_some(asio::buffer(data), leat::await_tuple);
          if (ec) return;
          asio::async_write(s, asio::buffer(data, n), leat::await);
        }
      });
    }
  });
  blocking([&] { result = client.result(); });
}

int client_ms(const bench::context& b) { return b.quick() ? 300 : 2000; }

echo_result measure_raw(bench::context& b, placing where) {
  std::uint16_t port = 0;
  const int listener = listening_socket(port);
  client_process client(port, client_ms(b), where);
  if (where == placing::pinned) pin_to(0);
  const std::vector<int> set{::epoll_create1(EPOLL_CLOEXEC)};
  serve_epoll(listener, set, 0);
  ::close(set[0]);
  ::close(listener);
  return client.result();
}

template <class Body>
echo_result measure_leat(bench::context& b, placing where, Body body, int idle = 0) {
  std::uint16_t port = 0;
  ::close(listening_socket(port));  // the client tries until somebody listens there
  client_process client(port, client_ms(b), where, idle);
  if (where == placing::pinned) pin_to(0);
  runtime_options o;
  o.procs = static_cast<unsigned>(b.procs());
  echo_result r;
  run(o, [&] { body(port, client, r); });
  return r;
}

void report(bench::context& b, const std::string& prefix, const echo_result& r) {
  b.report(prefix, 1e9 / r.requests_per_second);
  b.report(prefix + "_p99", r.p99_us, "us");
}

}  // namespace

// Raw first: forking wants a process without threads, and those of a runtime have ended when run returns.
LEAT_BENCH(tcp_echo, "ns",
           "one request of 64 bytes over one of 64 loopback connections, client in another process",
           fresh_process, no_warm_up, at_most_times(1 / 0.95, "raw")) {
  if (!bench.alone()) report(bench, "raw", measure_raw(bench, placing::free));
  const echo_result mine = measure_leat(bench, placing::free, [](std::uint16_t port, auto& client, auto& r) {
    serve_streams(std::to_string(port), client, r);
  });
  if (!bench.alone()) report(bench, "awaited_asio", measure_leat(bench, placing::free, serve_asio));
  bench.report("p99", mine.p99_us, "us");
  return 1e9 / mine.requests_per_second;
}

LEAT_BENCH(tcp_echo_pinned, "ns", "the same, server and client on a core each", fresh_process, no_warm_up,
           at_procs{1}, at_most_times(1 / 0.95, "raw")) {
  if (std::thread::hardware_concurrency() < 2) bench.skip("needs two cores");
  if (!bench.alone()) report(bench, "raw", measure_raw(bench, placing::pinned));
  const echo_result mine = measure_leat(
      bench, placing::pinned,
      [](std::uint16_t port, auto& client, auto& r) { serve_streams(std::to_string(port), client, r); });
  bench.report("p99", mine.p99_us, "us");
  return 1e9 / mine.requests_per_second;
}

LEAT_BENCH(tcp_echo_idle, "ns", "the same beside 10,000 connections that are silent", fresh_process,
           no_warm_up, at_procs{2}, at_most_times(1.1, "alone")) {
  const int idle = static_cast<int>(bench.scaled(10'000));
  if (!allow_descriptors(static_cast<rlim_t>(idle) + 200))
    bench.skip("needs " + std::to_string(idle + 200) + " descriptors (ulimit -n)");
  const auto serve = [](std::uint16_t port, auto& client, auto& r) {
    serve_streams(std::to_string(port), client, r);
  };
  const echo_result alone = measure_leat(bench, placing::free, serve);
  const double before = resident_bytes();
  const echo_result beside = measure_leat(bench, placing::free, serve, idle);
  bench.report("alone", 1e9 / alone.requests_per_second);
  bench.report("memory", (resident_bytes() - before) / idle, "bytes");
  return 1e9 / beside.requests_per_second;
}
