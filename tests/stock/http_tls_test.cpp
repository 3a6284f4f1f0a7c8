// SPDX-License-Identifier: BSL-1.0
//
// http-post and http-json over TLS, and what `leat check` and `leat doctor` say of their files.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cstdio>
#include <fstream>

#include <leat/net/http_server.hpp>
#include <leat/net/listener.hpp>
#include <leat/tls.hpp>

#include "fixture.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"
#include "tls/authority.hpp"

namespace leat::stock::test {
namespace {

using namespace std::chrono_literals;
using tls::test::site;

// Takes posts over TLS, and keeps their bodies.
class post_server {
 public:
  explicit post_server(const tls_options& o) : with_(tls_context::server(o)) {
    group_.go([this] {
      net::serve(at_, [this](net::stream& peer) {
        tls_accept(peer, with_, patience);
        ++connections;
        net::http::serve_connection(peer,
                                    [this](const net::http::request& r) -> net::http::response {
                                      const std::lock_guard hold(lock_);
                                      bodies_.emplace_back(r.body);
                                      return {.body = "ok"};
                                    },
                                    {.keep_body = true});
      });
    });
  }
  ~post_server() { at_.shutdown(); }
  post_server(const post_server&) = delete;
  post_server& operator=(const post_server&) = delete;

  std::string url() const { return "https://localhost:" + std::to_string(at_.local().port()) + "/in"; }
  std::vector<std::string> bodies() {
    const std::lock_guard hold(lock_);
    return bodies_;
  }
  std::atomic<int> connections{0};

 private:
  tls_context with_;
  net::listener at_ = net::listen("127.0.0.1:0");
  std::mutex lock_;
  std::vector<std::string> bodies_;
  task_group group_;  // last: its end joins those that use the rest
};

struct posting {
  log_reader log;
  post_server server;
  rig r{"http-post"};
  leat::channel<record> values = r.channel("values", 2);

  explicit posting(const tls_options& o) : server(o) {
    r.set("url", server.url()).set("retry", 1ms).set("retry_most", 2ms);
  }
  ended send_all(int n) {
    for (int i = 1; i <= n; ++i) values.send({{"n", i}});
    values.close();
    return r.wait();
  }
};

TEST_CASE("records are posted over https, in order, over one connection") {
  const site s;
  run_clean(with_procs(2), [&] {
    posting x(s.server());
    x.r.set("ca", s.files / "ca.pem").start();
    CHECK(x.send_all(3) == ended::returned);
    CHECK(x.server.bodies() == std::vector<std::string>{"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"});
    CHECK(x.server.connections == 1);
  });
}

TEST_CASE("nothing is posted to a server that is not trusted, until it is") {
  site s;
  run_clean(with_procs(2), [&] {
    s.ca.issue(s.files, "server", {.from = -7200, .until = -3600});
    posting x(s.server());
    x.r.set("ca", s.files / "ca.pem").start();
    x.values.send({{"n", 1}});
    CHECK(eventually([&] { return x.log.has("the peer's certificate has expired"); }));
    CHECK(x.server.bodies().empty());
    // Its owner puts a new one there.
    s.ca.issue(s.files, "server");
    CHECK(x.send_all(0) == ended::returned);
    CHECK(x.server.bodies() == std::vector<std::string>{"{\"n\":1}"});
    CHECK(x.log.count("posting again") == 1);
  });
}

TEST_CASE("a server that wants a certificate gets ours") {
  site s;
  s.ca.issue(s.files, "client", {.name = "gateway", .also = ""});
  run_clean(with_procs(2), [&] {
    tls_options o = s.server();
    o.ca = s.files / "ca.pem";
    o.clients = tls_clients::must_have_certificate;
    posting x(o);
    x.r.set("ca", s.files / "ca.pem").set("cert", s.files / "client.pem");
    x.r.set("key_file", s.files / "client.key").start();
    CHECK(x.send_all(2) == ended::returned);
    CHECK(x.server.bodies().size() == 2);

    posting without(o);
    without.r.set("ca", s.files / "ca.pem").set("retries", 1).start();
    CHECK(without.send_all(1) == ended::returned);
    CHECK(without.server.bodies().empty());
    CHECK(without.log.has("the peer does not accept our certificate, or wants one and got none"));
  });
}

TEST_CASE("files that cannot be used make the process fail with the reason") {
  const site s;
  run_clean(with_procs(2), [&] {
    posting x(s.server());
    x.r.set("ca", s.files / "nowhere.pem").start();
    CHECK(x.r.failure().find("nowhere.pem': No such file") != std::string::npos);

    rig page("http-json");
    (void)page.channel("values");
    page.set("cert", s.files / "server.pem").set("key_file", s.files / "server.pem").start();
    CHECK(page.failure().find("chmod o-rwx '") != std::string::npos);
  });
}

std::string get(const std::string& where, const tls_context& with, const std::string& path) {
  tls_stream peer = tls_dial(where, with, patience);
  peer.write("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", patience);
  std::string all;
  char part[4096];
  while (const std::size_t n = peer.read_some(part, patience)) all.append(part, n);
  return all;
}

TEST_CASE("the page is shown over https, to those who have a certificate where one is asked for") {
  site s;
  s.ca.issue(s.files, "client", {.name = "browser", .also = ""});
  run_clean(with_procs(2), [&] {
    for (const bool asks : {false, true}) {
      log_reader log;
      rig r("http-json");
      leat::channel<record> values = r.channel("values");
      r.set("listen", "127.0.0.1:0")
          .set("cert", s.files / "server.pem")
          .set("key_file", s.files / "server.key");
      if (asks) r.set("ca", s.files / "ca.pem");
      r.start();
      values.send({{"sensor", "a"}, {"value", 1}});
      REQUIRE(eventually([&] { return log.has("on https://"); }));
      const std::string address = log.after("on https://");
      const std::string where = "tls://" + address.substr(0, address.find('/'));
      tls_options o = s.client();
      const tls_context nobody = tls_context::client(o);
      o.certificate = s.files / "client.pem";
      o.key_file = s.files / "client.key";
      const tls_context known = tls_context::client(o);
      CHECK(
          eventually([&] { return get(where, known, "/latest").find("\"value\":1") != std::string::npos; }));
      CHECK(get(where, known, "/").find("<html") != std::string::npos);
      std::error_code refused;
      try {
        (void)get(where, nobody, "/latest");
      } catch (const std::system_error& e) {
        refused = e.code();
      }
      CHECK(static_cast<bool>(refused) == asks);
      // Plain HTTP gets nothing.
      net::stream plain = net::dial(where.substr(6), patience);
      plain.write("GET /latest HTTP/1.1\r\nHost: localhost\r\n\r\n", patience);
      char part[256];
      std::string got;
      std::error_code ec;
      while (const std::size_t n = plain.read_some(part, ec, patience)) got.append(part, n);
      CHECK(got.find("value") == std::string::npos);
      values.close();
      CHECK(r.wait() == ended::returned);
    }
  });
}

TEST_CASE("connections that say nothing do not keep others out") {
  const site s;
  run_clean(with_procs(2), [&] {
    log_reader log;
    rig r("http-json");
    leat::channel<record> values = r.channel("values");
    r.set("listen", "127.0.0.1:0")
        .set("cert", s.files / "server.pem")
        .set("key_file", s.files / "server.key");
    r.set("connections", 4).set("request_time", 1h).start();
    REQUIRE(eventually([&] { return log.has("on https://"); }));
    const std::string address = log.after("on https://");
    const std::string where = "tls://" + address.substr(0, address.find('/'));
    std::vector<net::stream> silent;
    for (int i = 0; i < 4; ++i) silent.push_back(net::dial(where.substr(6), patience));
    CHECK(get(where, tls_context::client(s.client()), "/health").find("\"ok\"") != std::string::npos);
    values.close();
    CHECK(r.wait() == ended::returned);
  });
}

TEST_CASE("check and doctor tell what is wrong with the files, to the column") {
  site s;
  s.ca.issue(s.files, "other");
  s.ca.issue(s.files, "old", {.from = -7200, .until = -3600});
  s.ca.issue(s.files, "open");
  REQUIRE(::chmod((s.files / "open.key").c_str(), 0644) == 0);
  const std::string file = s.files / "page.toml";
  const auto say = [&](const std::string& verb, const std::string& cert, const std::string& key) {
    std::ofstream(file)
        << "leat = 1\n\n[process.sensors]\nuse = \"sensor-sim\"\nout = { values = \"v\" }\n\n"
           "[process.page]\nuse = \"http-json\"\nin = { values = \"v\" }\n\n[process.page.config]\n"
        << "cert     = \"" << s.files / cert << "\"\nkey_file = \"" << s.files / key << "\"\n\n[channel.v]\n";
    return leat::test::run_program(leat::test::program_path("leat"), {verb, file});
  };
  auto r = say("check", "server.pem", "server.key");
  CHECK_MESSAGE(r.exited(0), r.output);
  r = say("check", "server.pem", "other.key");
  CHECK(!r.exited(0));
  CHECK_MESSAGE(
      r.said("page.toml:13:12: error: 'key_file': '" + (s.files / "other.key") + "': is not the key"),
      r.output);
  r = say("check", "open.pem", "open.key");
  CHECK(!r.exited(0));
  CHECK_MESSAGE(r.said("page.toml:13:12: error: "), r.output);
  CHECK(r.said("chmod o-rwx '"));
  // It may be on the machine that the file is for.
  r = say("check", "nowhere.pem", "server.key");
  CHECK(r.exited(0));
  CHECK_MESSAGE(r.said("page.toml:12:12: warning: 'cert': '" + (s.files / "nowhere.pem") + "': No such file"),
                r.output);
  r = say("check", "old.pem", "old.key");
  CHECK(r.exited(0));
  CHECK_MESSAGE(r.said("page.toml:12:12: warning: "), r.output);
  CHECK(r.said("the certificate expired on "));
  // It may be for the service's own user.
  if (::geteuid() != 0) {
    REQUIRE(::chmod((s.files / "other.key").c_str(), 0) == 0);
    r = say("check", "other.pem", "other.key");
    CHECK(r.exited(0));
    CHECK_MESSAGE(r.said("page.toml:13:12: warning: 'key_file': "), r.output);
  }
  r = say("doctor", "nowhere.pem", "server.key");
  CHECK(!r.exited(0));
  CHECK_MESSAGE(r.said("LACKING '" + (s.files / "nowhere.pem") + "': No such file"), r.output);
}

TEST_CASE("a variable that is empty does not open what was meant to be closed") {
  const site s;
  const std::string file = s.files / "page.toml";
  std::ofstream(file)
      << "leat = 1\n\n[process.sensors]\nuse = \"sensor-sim\"\nout = { values = \"v\" }\n\n"
         "[process.page]\nuse = \"http-json\"\nin = { values = \"v\" }\n\n[process.page.config]\n"
      << "cert     = \"" << s.files / "server.pem" << "\"\nkey_file = \"" << s.files / "server.key"
      << "\"\nca       = \"${CLIENTS:-}\"\n\n[channel.v]\n";
  const auto r = leat::test::run_program(leat::test::program_path("leat"), {"check", file},
                                         {.environment = {"CLIENTS"}});
  CHECK(!r.exited(0));
  CHECK_MESSAGE(r.said("page.toml:14:12: error: "), r.output);
  CHECK_MESSAGE(r.said("`ca` names no file"), r.output);
}

}  // namespace
}  // namespace leat::stock::test
