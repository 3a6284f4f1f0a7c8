// SPDX-License-Identifier: BSL-1.0
//
// Against programs of other origin: openssl's s_server and s_client, and curl. What is not installed is told, and
// left out.
#include <unistd.h>
#include <atomic>
#include <vector>

#include <leat/csp/task_group.hpp>
#include <leat/net/child.hpp>
#include <leat/net/http_server.hpp>

#include "support/free_port.hpp"
#include "tls/authority.hpp"

namespace leat::tls::test {
namespace {

using namespace std::chrono_literals;
using net::child;
using net::stdio;

bool is_there(const char* program) {
  const bool there = ::access((std::string("/usr/bin/") + program).c_str(), X_OK) == 0;
  if (!there) MESSAGE("skipped: there is no /usr/bin/", program);
  return there;
}

std::string all_of(stream& from) {
  std::string all;
  char part[4096];
  std::error_code ec;
  while (const std::size_t n = from.read_some(part, ec, patience)) all.append(part, n);
  return all;
}

// openssl s_server that answers each line by its reverse.
class reverse_server {
 public:
  reverse_server(const site& s, const std::vector<std::string>& more = {}) {
    // Somebody else may take the port before s_server has it.
    for (int i = 0; i < 5; ++i) {
      begin(s, more);
      const bool over = eventually([&] { return ended() || listens(); });
      if (over && !ended()) return;
    }
    must(false, "s_server does not listen");
  }
  std::string where() const { return "tls://localhost:" + port_; }

 private:
  void begin(const site& s, const std::vector<std::string>& more) {
    port_ = std::to_string(leat::test::free_port());
    std::vector<std::string> argv{"openssl", "s_server",
                                  "-accept", "127.0.0.1:" + port_,
                                  "-cert",   s.files / "server.pem",
                                  "-key",    s.files / "server.key",
                                  "-rev",    "-quiet"};
    argv.insert(argv.end(), more.begin(), more.end());
    program_ = child(argv, {.in = stdio::null, .out = stdio::null, .err = stdio::null});
  }
  bool ended() {
    std::error_code ec;
    return program_.wait(ec, 0ms).has_value();
  }
  bool listens() const {
    return !error_of([&] { net::dial("127.0.0.1:" + port_, patience).close(); });
  }

  std::string port_;
  child program_;
};

struct line_server {
  line_server(const tls_context& c) {
    all.go([this, c] {
      net::serve(at, [&](stream& peer) {
        try {
          tls_accept(peer, c, patience);
          while (const auto line = peer.read_line(patience)) peer.write("got " + *line + "\n", patience);
        } catch (const std::system_error& e) {
          too_old += e.code() == tls_errc::no_common_version ? 1 : 0;
          throw;
        }
      });
    });
  }
  ~line_server() {
    at.shutdown();
    (void)all.wait();
  }
  line_server(const line_server&) = delete;
  line_server& operator=(const line_server&) = delete;
  std::string port() const { return std::to_string(at.local().port()); }

  net::listener at = net::listen("127.0.0.1:0");
  std::atomic<int> too_old{0};
  task_group all;
};

// A line for openssl s_client, and how the line begins that it prints then. It takes letters for commands only
// at the beginning of what it reads at once.
struct step {
  std::string send, expect;
};

// What s_client printed.
std::string ask(const site& s, const line_server& at, const std::string& more,
                const std::vector<step>& steps) {
  child client({"sh", "-c",
                "exec openssl s_client -connect 127.0.0.1:" + at.port() + " -servername localhost -CAfile '" +
                    (s.files / "ca.pem") + "' -verify_return_error " + more + " 2>&1"},
               {.in = stdio::pipe, .out = stdio::pipe});
  std::string out, line;
  std::error_code ec;
  for (const step& x : steps) {
    client.in().write(x.send, ec, patience);
    while (client.out().read_line(line, patience)) {
      out += line + '\n';
      if (line.starts_with(x.expect)) break;
    }
  }
  client.in().close();
  out += all_of(client.out());
  (void)client.wait(patience);
  return out;
}

TEST_CASE("a client of ours and s_server, of TLS 1.3 and 1.2") {
  if (!is_there("openssl")) return;
  const site s;
  run_clean(with_procs(2), [&] {
    const tls_context client = tls_context::client(s.client());
    for (const std::string version : {"TLSv1.3", "TLSv1.2"}) {
      const reverse_server server(s, {version == "TLSv1.3" ? "-tls1_3" : "-tls1_2"});
      for (const bool again : {false, true, true}) {
        tls_stream peer = tls_dial(server.where(), client, patience);
        CHECK(peer.info().version == version);
        CHECK(peer.info().resumed == again);
        peer.write("abc\n", patience);
        CHECK(peer.read_line(patience) == "cba");
        peer.close();
      }
    }
  });
}

TEST_CASE("servers of other origin that must be refused") {
  if (!is_there("openssl")) return;
  site s;
  run_clean(with_procs(2), [&] {
    {
      const reverse_server old(s, {"-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"});
      const tls_context client = tls_context::client(s.client());
      CHECK(error_of([&] { (void)tls_dial(old.where(), client, patience); }) == tls_errc::no_common_version);
    }
    const reverse_server wants(s, {"-Verify", "2", "-verify_return_error", "-CAfile", s.files / "ca.pem"});
    const std::error_code refused = error_of([&] {
      tls_stream peer = tls_dial(wants.where(), tls_context::client(s.client()), patience);
      peer.write("abc\n", patience);
      (void)peer.read_line(patience);
    });
    CHECK(refused == tls_errc::refused);
    s.ca.issue(s.files, "client", {.name = "sensor 7", .also = ""});
    tls_options with = s.client();
    with.certificate = s.files / "client.pem";
    with.key_file = s.files / "client.key";
    tls_stream peer = tls_dial(wants.where(), tls_context::client(with), patience);
    peer.write("abc\n", patience);
    CHECK(peer.read_line(patience) == "cba");
  });
}

TEST_CASE("a server of ours and s_client: old versions, renegotiations, updates of keys") {
  if (!is_there("openssl")) return;
  const site s;
  run_clean(with_procs(2), [&] {
    line_server server(tls_context::server(s.server()));
    for (const std::string version : {"-tls1_2", "-tls1_3"}) {
      const std::string said = ask(s, server, version, {{"one\n", "got one"}, {"last\n", "got last"}});
      CHECK(said.find("Verify return code: 0 (ok)") != std::string::npos);
      CHECK(said.find("got one\ngot last\n") != std::string::npos);
    }
    // k and K: an update of keys, the second with a wish for ours.
    const std::string updated =
        ask(s, server, "-tls1_3",
            {{"one\n", "got one"}, {"k\n", "KEYUPDATE"}, {"K\n", "KEYUPDATE"}, {"last\n", "got last"}});
    CHECK(updated.find("got last\n") != std::string::npos);

    (void)ask(s, server, "-tls1_1 -cipher DEFAULT@SECLEVEL=0", {});
    CHECK(eventually([&] { return server.too_old == 1; }));
    // R: a renegotiation, which is refused; and then s_client does not go on.
    const std::string renegotiated =
        ask(s, server, "-tls1_2", {{"one\n", "got one"}, {"R\n", "RENEGOTIATING"}, {"last\n", "got last"}});
    CHECK(renegotiated.find("got one") != std::string::npos);
    CHECK(renegotiated.find("no renegotiation") != std::string::npos);
    CHECK(renegotiated.find("got last") == std::string::npos);
  });
}

TEST_CASE("curl and a server of ours") {
  if (!is_there("curl")) return;
  site s;
  run_clean(with_procs(2), [&] {
    net::listener at = net::listen("127.0.0.1:0");
    const tls_context server = tls_context::server(s.server());
    task_group serving;
    serving.go([&] {
      net::serve(at, [&](stream& peer) {
        tls_accept(peer, server, patience);
        net::http::serve_connection(peer, [](const net::http::request& r) -> net::http::response {
          return {.body = r.path() == "/large" ? std::string(3 << 20, 'x') : "hello\n"};
        });
      });
    });
    const std::string base = "https://localhost:" + std::to_string(at.local().port());
    const auto curl = [&](std::vector<std::string> more) {
      std::vector<std::string> argv{
          "curl", "-sS",       "--noproxy",
          "*",    "--resolve", "localhost:" + std::to_string(at.local().port()) + ":127.0.0.1"};
      argv.insert(argv.end(), more.begin(), more.end());
      child c(argv, {.in = stdio::null, .out = stdio::pipe, .err = stdio::null});
      std::string out = all_of(c.out());
      return std::pair(c.wait(patience).code, out);
    };
    const std::string ca = s.files / "ca.pem";
    CHECK(curl({"--cacert", ca, base + "/"}) == std::pair(0, std::string("hello\n")));
    const auto twice = curl({"--cacert", ca, base + "/", base + "/large"});
    CHECK(twice.first == 0);
    CHECK(twice.second.size() == 6 + (3 << 20));
    // 60: a certificate that it does not trust.
    const authority stranger("somebody else");
    save(stranger.certificate(), s.files / "stranger.pem");
    CHECK(curl({"--cacert", s.files / "stranger.pem", base + "/"}).first == 60);
    s.ca.issue(s.files, "server", {.from = -7200, .until = -3600});
    CHECK(curl({"--cacert", ca, base + "/"}).first == 60);
    s.ca.issue(s.files, "server");
    CHECK(curl({"--cacert", ca, base + "/"}).first == 0);
    at.shutdown();
    (void)serving.wait();
  });
}

}  // namespace
}  // namespace leat::tls::test
