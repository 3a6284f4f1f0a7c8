// SPDX-License-Identifier: BSL-1.0
//
// Sessions that are resumed, and those that must not be.
#include <utility>

#include <leat/net/listener.hpp>

#include "tls/authority.hpp"

namespace leat::tls::test {
namespace {

TEST_CASE("a second connection resumes what the first has settled") {
  const site s;
  run_clean(with_procs(2), [&] {
    const tls_context client = tls_context::client(s.client()), server = tls_context::server(s.server());
    net::listener at = net::listen("127.0.0.1:0");
    for (const bool again : {false, true, true}) {
      auto accepting = spawn([&] {
        tls_stream far(at.accept(patience), server, patience);
        far.write("hello\n", patience);
        far.close();
      });
      tls_stream near(net::dial(at.local(), patience), client, "localhost", patience);
      CHECK(near.info().resumed == again);
      CHECK(near.info().peer == "CN = localhost");
      CHECK(near.read_line(patience) == "hello");
      CHECK(!near.read_line(patience));
      near.close();
      accepting.get();
    }
  });
}

TEST_CASE("a session is not resumed when the server's certificate has expired") {
  site s;
  s.ca.issue(s.files, "server", {.from = -7200, .until = -3600});
  run_clean(with_procs(2), [&] {
    const tls_context client = tls_context::client({.verify = false}),
                      server = tls_context::server(s.server());
    net::listener at = net::listen("127.0.0.1:0");
    for (int i = 0; i < 3; ++i) {
      auto accepting = spawn([&] {
        tls_stream far(at.accept(patience), server, patience);
        far.write("hello\n", patience);
        far.close();
      });
      tls_stream near(net::dial(at.local(), patience), client, "localhost", patience);
      CHECK(!near.info().resumed);
      CHECK(near.read_line(patience) == "hello");
      CHECK(!near.read_line(patience));
      near.close();
      accepting.get();
    }
  });
}

TEST_CASE("a session does not outlive the client's certificate") {
  site s;
  tls_options o = s.server();
  o.ca = s.files / "ca.pem";
  o.clients = tls_clients::must_have_certificate;
  run_clean(with_procs(2), [&] {
    net::listener at = net::listen("127.0.0.1:0");
    // How it ended for the server, and whether a session was resumed.
    const auto attempt_at = [&](const tls_context& client, const tls_context& server) {
      std::error_code refused;
      auto accepting = spawn([&] {
        refused = error_of([&] {
          tls_stream far(at.accept(patience), server, patience);
          far.write("hello\n", patience);
          far.close();
        });
      });
      bool resumed = false;
      (void)error_of([&] {
        tls_stream near(net::dial(at.local(), patience), client, "localhost", patience);
        resumed = near.info().resumed;
        while (near.read_line(patience)) {
        }
        near.close();
      });
      accepting.get();
      return std::pair(refused, resumed);
    };
    const std::pair good(std::error_code(), true);
    bool seen = false;
    // On a machine that is slow it may expire before it was used twice.
    for (long life = 2; life <= 32 && !seen; life *= 2) {
      s.ca.issue(s.files, "client", {.name = "sensor 7", .also = "", .until = life});
      tls_options with = s.client();
      with.certificate = s.files / "client.pem";
      with.key_file = s.files / "client.key";
      const tls_context client = tls_context::client(with), server = tls_context::server(o);
      (void)attempt_at(client, server);
      seen = attempt_at(client, server) == good;
      if (seen) CHECK(eventually([&] { return attempt_at(client, server).first == tls_errc::expired; }));
    }
    CHECK(seen);
  });
}

}  // namespace
}  // namespace leat::tls::test
