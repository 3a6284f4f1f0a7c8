// SPDX-License-Identifier: BSL-1.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <cstdio>
#include <mutex>
#include <vector>

#include <leat/base/log.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/tls/context_state.hpp>

#include "tls/authority.hpp"

namespace leat::tls::test {
namespace {

class log_lines {
 public:
  log_lines() {
    set_log_sink(
        [](void* self, log_level, std::string_view, std::string_view text) {
          auto& me = *static_cast<log_lines*>(self);
          const std::lock_guard hold(me.lock_);
          me.lines_.emplace_back(text);
        },
        this);
  }
  ~log_lines() { set_log_sink(nullptr, nullptr); }
  log_lines(const log_lines&) = delete;
  log_lines& operator=(const log_lines&) = delete;
  int count(std::string_view part) {
    const std::lock_guard hold(lock_);
    int n = 0;
    for (const std::string& l : lines_) n += l.find(part) != std::string::npos;
    return n;
  }

 private:
  std::mutex lock_;
  std::vector<std::string> lines_;
};

void put(const std::string& path, const std::string& text, mode_t mode = 0600) {
  std::remove(path.c_str());
  std::ofstream(path) << text;
  must(::chmod(path.c_str(), mode) == 0, "chmod");
}
std::string text_in_file(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("files that cannot be used are refused with their name, the reason and the remedy") {
  site s;
  s.ca.issue(s.files, "other");
  const auto says = [&](const tls_options& o) {
    return text_of<tls_file_error>([&] { (void)tls_context::server(o); });
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  tls_options o = s.server();
  CHECK(says(o).empty());
  o.certificate = s.files / "missing.pem";
  CHECK(has(says(o), "missing.pem': No such file"));
  o.certificate = s.files.path();
  CHECK(has(says(o), "is not a plain file"));
  o.certificate = s.files / "server.key";
  CHECK(has(says(o), "there is no certificate in it"));
  o.certificate = s.files / "torn.pem";
  const std::string whole = text_in_file(s.files / "server.pem");
  put(o.certificate, whole.substr(0, whole.size() / 2));
  CHECK(has(says(o), "torn.pem'"));
  put(o.certificate, "");
  CHECK(has(says(o), "there is no certificate in it"));
  put(o.certificate, std::string(2 << 20, 'x'));
  CHECK(has(says(o), "larger than a mebibyte"));

  o = s.server();
  o.key_file = s.files / "other.key";
  CHECK(has(says(o), "is not the key of the first certificate in"));
  o.key_file = s.files / "server.pem";
  CHECK(has(says(o), "chmod o-rwx '"));  // readable by all, as certificates are
  o.key_file = s.files / "it's.key";
  const std::string key = text_in_file(s.files / "server.key");
  for (const mode_t mode : {mode_t{0604}, mode_t{0602}, mode_t{0644}}) {
    put(o.key_file, key, mode);
    CHECK(has(says(o), "chmod o-rwx '" + s.files.path() + "/it'\\''s.key'"));
  }
  put(o.key_file, key, 0640);
  CHECK(says(o).empty());
  put(o.key_file, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIH=\n-----END ENCRYPTED PRIVATE KEY-----\n");
  CHECK(has(says(o), "the key is encrypted"));
  put(o.key_file, "secret words");
  CHECK(has(says(o), "there is no private key in it"));
  CHECK(!has(says(o), "secret words"));

  CHECK_THROWS_AS((void)tls_context::server({}), std::invalid_argument);
  CHECK_THROWS_AS((void)tls_context::client({.certificate = s.files / "server.pem"}), std::invalid_argument);
  o = s.server();
  o.clients = tls_clients::must_have_certificate;
  CHECK_THROWS_AS((void)tls_context::server(o), std::invalid_argument);
  // What would be ignored is not accepted.
  o = s.server();
  o.ca = s.files / "ca.pem";
  CHECK_THROWS_AS((void)tls_context::server(o), std::invalid_argument);
  CHECK_THROWS_AS((void)tls_context::client({.ca = s.files / "ca.pem", .verify = false}),
                  std::invalid_argument);
  o = s.server();
  o.alpn = {""};
  CHECK_THROWS_AS((void)tls_context::server(o), std::invalid_argument);
}

TEST_CASE("files are examined before anything runs") {
  site s;
  s.ca.issue(s.files, "expired", {.from = -7200, .until = -3600});
  s.ca.issue(s.files, "early", {.from = 3600, .until = 7200});
  using file = tls_diagnostic::file;
  const auto examine = [&](const std::string& ca, const std::string& cert, const std::string& key) {
    return examine_tls_files(s.files / ca, s.files / cert, s.files / key);
  };
  CHECK(examine("ca.pem", "server.pem", "server.key").empty());
  CHECK(examine_tls_files("", "", "").empty());
  auto found = examine("ca.pem", "expired.pem", "expired.key");
  REQUIRE(found.size() == 1);
  CHECK(!found[0].fatal);
  CHECK(found[0].which == file::certificate);
  CHECK(found[0].what.find("the certificate expired on ") != std::string::npos);
  found = examine("ca.pem", "early.pem", "early.key");
  REQUIRE(found.size() == 1);
  CHECK(found[0].what.find("is not valid before ") != std::string::npos);
  found = examine("none.pem", "server.pem", "expired.key");
  REQUIRE(found.size() == 2);
  CHECK(found[0].which == file::ca);
  CHECK(found[1].which == file::key);
  CHECK(found[1].fatal);
}

TEST_CASE("a certificate that changes is used from the next handshake on, and a bad one is not") {
  site s;
  run_clean(with_procs(2), [&] {
    log_lines log;
    const tls_context client = tls_context::client(s.client()), server = tls_context::server(s.server());
    const auto peer = [&] { return secure(client, server).near.info().peer; };
    CHECK(peer() == "CN = localhost");

    s.ca.issue(s.files, "server", {.name = "second"});
    secure_pair before = secure(client, server);
    CHECK(before.near.info().peer == "CN = second");
    CHECK(server.reloads() == 1);
    CHECK(log.count("in use from now on") == 1);

    // The key first, as a script would write them: they do not fit until both are there.
    const key_ptr key = new_key();
    save(key, s.files / "server.key");
    CHECK(peer() == "CN = second");
    CHECK(peer() == "CN = second");
    CHECK(log.count("the old one stays: '" + (s.files / "server.key") + "': is not the key") == 1);
    const certificate_ptr third = s.ca.sign({.name = "third"}, key);
    save(third, s.files / "server.pem");
    const std::string whole = text_in_file(s.files / "server.pem");
    put(s.files / "server.pem", whole.substr(0, whole.size() - 40));
    CHECK(peer() == "CN = second");
    std::remove((s.files / "server.pem").c_str());
    CHECK(peer() == "CN = second");
    CHECK(log.count("the old one stays") == 3);
    put(s.files / "server.pem", whole);
    CHECK(peer() == "CN = third");
    CHECK(server.reloads() == 2);

    // Who was connected goes on.
    before.near.write("still here\n", patience);
    CHECK(before.far.read_line(patience) == "still here");
  });
}

TEST_CASE("files that cannot be read for want of descriptors are read a little later") {
  if (fiber::under_asan)
    return;  // UBSan looks at memory through a pipe of its own, and takes its lack for a bad object
  site s;
  run_clean(with_procs(2), [&] {
    log_lines log;
    const tls_context server = tls_context::server(s.server());
    const auto before = server.state()->current();
    s.ca.issue(s.files, "server", {.name = "second"});
    rlimit all{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &all) == 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = all.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const bool same = server.state()->current() == before && server.state()->current() == before;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &all) == 0);
    CHECK(same);
    CHECK(log.count("; trying again") == 1);
    CHECK(eventually([&] { return server.state()->current() != before; }));
    CHECK(server.reloads() == 1);
    CHECK(log.count("in use from now on") == 1);
  });
}

TEST_CASE("an authority that is taken out goes at once, also while the key does not fit") {
  site s;
  s.ca.issue(s.files, "client", {.name = "sensor 7", .also = ""});
  authority next("the next authority");
  run_clean(with_procs(2), [&] {
    log_lines log;
    tls_options with = s.client(), o = s.server();
    with.certificate = s.files / "client.pem";
    with.key_file = s.files / "client.key";
    o.ca = s.files / "clients.pem";
    o.clients = tls_clients::must_have_certificate;
    save(s.ca.certificate(), o.ca);
    const tls_context client = tls_context::client(with), server = tls_context::server(o);
    CHECK(secure(client, server).far.info().peer == "CN = sensor 7");
    save(new_key(), s.files / "server.key");
    save(next.certificate(), o.ca);
    secure_pair p;
    outcome now = attempt(client, server, p);
    CHECK(now.server == tls_errc::untrusted);
    CHECK(now.client == tls_errc::refused);  // but it knows the server as before
    CHECK(log.count("is not the key of the first certificate") == 1);
    // Deleted or empty: the last good one stays.
    std::remove(o.ca.c_str());
    CHECK(attempt(client, server, p).server == tls_errc::untrusted);
    put(o.ca, "");
    CHECK(attempt(client, server, p).server == tls_errc::untrusted);
    save(s.ca.certificate(), o.ca);
    CHECK(!attempt(client, server, p).server);
    s.ca.issue(s.files, "server", {.name = "second"});
    CHECK(secure(client, server).near.info().peer == "CN = second");
  });
}

TEST_CASE(
    "an authority that is taken out of the file of the file is trusted no longer, not even for a session") {
  site s;
  authority next("the next authority");
  run_clean(with_procs(2), [&] {
    log_lines log;
    const tls_context client = tls_context::client(s.client()), server = tls_context::server(s.server());
    net::listener at = net::listen("127.0.0.1:0");
    const auto meet = [&] {
      auto accepting = spawn([&] {
        (void)error_of([&] {
          tls_stream far(at.accept(patience), server, patience);
          far.write("x", patience);
          far.close();
        });
      });
      bool resumed = false;
      const std::error_code ec = error_of([&] {
        tls_stream near(net::dial(at.local(), patience), client, "localhost", patience);
        resumed = near.info().resumed;
        (void)near.read_line(patience);
        near.close();
      });
      accepting.get();
      return std::pair(ec, resumed);
    };
    CHECK(meet() == std::pair(std::error_code(), false));
    CHECK(meet() == std::pair(std::error_code(), true));
    save(next.certificate(), s.files / "ca.pem");
    CHECK(meet().first == tls_errc::untrusted);
    save(s.ca.certificate(), s.files / "ca.pem", "a");
    CHECK(meet() == std::pair(std::error_code(), false));
  });
}

}  // namespace
}  // namespace leat::tls::test
