// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <vector>

#include <leat/csp/task_group.hpp>
#include <leat/net/listener.hpp>

#include "tls/authority.hpp"

namespace leat::tls::test {
namespace {

using namespace std::chrono_literals;

std::string bytes_of(std::size_t n, unsigned seed) {
  std::string s(n, '\0');
  for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>(i * 7 + i / 251 + seed);
  return s;
}

TEST_CASE("what one side writes the other reads, and both know what was settled") {
  const site s;
  at_procs([&] {
    secure_pair p = secure(s);
    CHECK(p.near.info().version == "TLSv1.3");
    CHECK(p.near.info().peer == "CN = localhost");
    CHECK(p.near.info().alpn == "");
    CHECK(p.far.info().peer == "");
    CHECK(!p.near.info().resumed);
    p.near.write("one\r\ntwo\n", patience);
    CHECK(p.far.read_line(patience) == "one");
    p.far.write("three\n", patience);
    CHECK(p.near.read_line(patience) == "three");
    CHECK(p.far.read_line(patience) == "two");
    // Moved, as a plain stream: the layer goes with it.
    stream moved = std::move(p.near);
    moved.write("four\n", patience);
    CHECK(p.far.read_line(patience) == "four");
  });
}

TEST_CASE("a mebibyte each way at once, by four Gs") {
  const site s;
  at_procs([&] {
    secure_pair p = secure(s);
    const std::string there = bytes_of(1 << 20, 1), back = bytes_of(1 << 20, 2);
    const auto write_all = [](stream& to, const std::string& all) {
      // Parts of all sizes: records and runs of them have edges.
      for (std::size_t at = 0, n = 1; at < all.size(); at += n, n = n * 3 + 1) {
        n = std::min(n, all.size() - at);
        to.write({all.data() + at, n}, patience);
      }
      to.shutdown_write();
    };
    const auto read_all = [](stream& from) {
      std::string all;
      std::vector<char> part(40'000);
      while (const std::size_t n = from.read_some(part, patience)) all.append(part.data(), n);
      return all;
    };
    auto a = spawn([&] { write_all(p.near, there); });
    auto b = spawn([&] { write_all(p.far, back); });
    auto c = spawn([&] { return read_all(p.far) == there; });
    CHECK(read_all(p.near) == back);
    a.get();
    b.get();
    CHECK(c.get());
  });
}

TEST_CASE("certificates that are not what they should be end the handshake on both sides") {
  site s;
  s.ca.issue(s.files, "expired", {.from = -7200, .until = -3600});
  s.ca.issue(s.files, "early", {.from = 3600, .until = 7200});
  s.ca.issue(s.files, "no-names", {.name = "localhost", .also = ""});
  s.ca.issue(s.files, "address", {.name = "localhost", .also = "IP:127.0.0.1"});
  s.ca.issue(s.files, "other", {.name = "other.example", .also = "DNS:other.example,DNS:*.wild.example"});
  authority stranger("somebody else");
  stranger.issue(s.files, "stranger");
  struct {
    const char *who, *name;
    std::error_code why;
  } const cases[] = {
      {"server", "localhost", {}},
      {"server", "LOCALHOST.", {}},
      {"server", "127.0.0.1:443", {}},
      {"server", "127.0.0.2", tls_errc::wrong_name},
      {"server", "[::1]:443", tls_errc::wrong_name},
      {"other", "localhost", tls_errc::wrong_name},
      {"other", "other.example:443", {}},
      {"other", "a.wild.example", {}},
      {"other", "a.b.wild.example", tls_errc::wrong_name},
      {"no-names", "localhost", tls_errc::wrong_name},
      {"address", "localhost", tls_errc::wrong_name},
      {"address", "127.0.0.1", {}},
      {"expired", "localhost", tls_errc::expired},
      {"early", "localhost", tls_errc::not_yet_valid},
      {"stranger", "localhost", tls_errc::untrusted},
  };
  run_clean(with_procs(2), [&] {
    for (const auto& c : cases) {
      secure_pair p;
      const outcome o =
          attempt(tls_context::client(s.client()), tls_context::server(s.server(c.who)), p, c.name);
      CHECK_MESSAGE(o.client == c.why, c.who << " as " << c.name << ": " << o.client_says);
      CHECK(static_cast<bool>(o.server) == static_cast<bool>(c.why));
      if (c.why == tls_errc::expired) CHECK(o.client_says.find("CN = localhost") != std::string::npos);
    }
    // The system's authorities know nothing of ours; and who verifies nothing is told nothing.
    secure_pair p;
    CHECK(attempt(tls_context::client(), tls_context::server(s.server()), p).client == tls_errc::untrusted);
    CHECK(!attempt(tls_context::client({.verify = false}), tls_context::server(s.server("stranger")), p)
               .client);
  });
}

TEST_CASE("a server that wants certificates of its clients") {
  site s;
  s.ca.issue(s.files, "client", {.name = "sensor 7", .also = ""});
  authority stranger("somebody else");
  stranger.issue(s.files, "stranger", {.name = "nobody", .also = ""});
  tls_options server = s.server();
  server.ca = s.files / "ca.pem";
  const auto client = [&](const std::string& who) {
    tls_options o = s.client();
    o.certificate = who.empty() ? "" : s.files / (who + ".pem");
    o.key_file = who.empty() ? "" : s.files / (who + ".key");
    return tls_context::client(o);
  };
  run_clean(with_procs(2), [&] {
    server.clients = tls_clients::must_have_certificate;
    const tls_context strict = tls_context::server(server);
    {
      const secure_pair p = secure(client("client"), strict);
      CHECK(p.far.info().peer == "CN = sensor 7");
    }
    secure_pair p;
    outcome o = attempt(client(""), strict, p);
    CHECK(o.server == tls_errc::no_certificate);
    CHECK(o.client == tls_errc::refused);
    o = attempt(client("stranger"), strict, p);
    CHECK(o.server == tls_errc::untrusted);
    CHECK(o.client == tls_errc::refused);
    server.clients = tls_clients::may_have_certificate;
    CHECK(secure(client(""), tls_context::server(server)).far.info().peer == "");
  });
}

TEST_CASE("the first protocol of the server's that the client offers is spoken, and without one nothing is") {
  const site s;
  run_clean(with_procs(2), [&] {
    tls_options server = s.server(), client = s.client();
    server.alpn = {"mqtt", "http/1.1"};
    client.alpn = {"h2", "http/1.1"};
    const secure_pair p = secure(tls_context::client(client), tls_context::server(server));
    CHECK(p.near.info().alpn == "http/1.1");
    CHECK(p.far.info().alpn == "http/1.1");
    client.alpn = {"h2"};
    secure_pair none;
    const outcome o = attempt(tls_context::client(client), tls_context::server(server), none);
    CHECK(o.client == tls_errc::no_common_protocol);
    CHECK(o.server == tls_errc::no_common_protocol);
  });
}

TEST_CASE("names of peers are told in ASCII, and cut between two signs") {
  site s;
  s.ca.issue(s.files, "server", {.name = "M\u00fcller \u202e gro"});
  run_clean(with_procs(2), [&] {
    const tls_context client = tls_context::client(s.client()), server = tls_context::server(s.server());
    CHECK(secure(client, server).near.info().peer == "CN = M\\C3\\BCller \\E2\\80\\AE gro");
    for (int n = 0; n < 3; ++n) {
      std::string name(static_cast<std::size_t>(n), 'a');
      for (int i = 0; i < 60; ++i) name += "\u00fc";
      s.ca.issue(s.files, "server", {.name = name});
      const std::string peer = secure(client, server).near.info().peer;
      CHECK(peer.size() <= 203);
      const bool whole = peer.ends_with("\\C3...") || peer.ends_with("\\BC...");
      CHECK_MESSAGE(whole, peer);
    }
  });
}

TEST_CASE("an end that was meant is an end, and a connection that is cut is an error") {
  const site s;
  at_procs([&] {
    char part[16];
    {
      secure_pair p = secure(s);
      p.far.write("all", patience);
      p.far.shutdown_write();
      p.near.read_exactly({part, 3}, patience);
      CHECK(p.near.read_some(part, patience) == 0);
      CHECK(p.near.read_some(part, patience) == 0);
      // The other direction goes on, until it is ended as well.
      p.near.write("still", patience);
      p.far.read_exactly({part, 5}, patience);
      std::error_code ec;
      p.far.write("more", ec, patience);
      CHECK(ec == tls_errc::finished);
      p.near.close();
      CHECK(p.far.read_some(part, patience) == 0);
    }
    // Given up; and cut by somebody in between.
    for (const bool in_between : {false, true}) {
      secure_pair p = secure(s);
      p.far.write("half", patience);
      if (in_between)
        p.far.shutdown();
      else
        p.far = {};
      p.near.read_exactly({part, 4}, patience);
      std::error_code ec;
      CHECK(p.near.read_some(part, ec, patience) == 0);
      CHECK(ec == tls_errc::truncated);
      CHECK(ec == std::errc::connection_aborted);
      p.near.read_some(part, ec, patience);
      CHECK(ec == tls_errc::truncated);
    }
  });
}

TEST_CASE("after a write that did not get through, a close does not say that this was all") {
  const site s;
  run_clean(with_procs(2), [&] {
    secure_pair p = secure(s);
    const std::string much = bytes_of(32 << 20, 4);
    CHECK(error_of([&] { p.near.write(much, 20ms); }) == std::errc::timed_out);
    auto reader = spawn([&] {
      std::vector<char> part(1 << 16);
      std::size_t all = 0;
      std::error_code ec;
      while (const std::size_t n = p.far.read_some(part, ec, patience)) all += n;
      CHECK(all < much.size());
      return ec;
    });
    p.near.close();
    CHECK(reader.get() == tls_errc::truncated);
  });
}

TEST_CASE("what a write that timed out had begun comes whole and in order, before what is written next") {
  const site s;
  run_clean(with_procs(2), [&] {
    secure_pair p = secure(s);
    const std::string much = bytes_of(32 << 20, 5), last = "the last words";
    CHECK(error_of([&] { p.near.write(much, 20ms); }) == std::errc::timed_out);
    auto reader = spawn([&] {
      std::string all;
      std::vector<char> part(1 << 16);
      while (!all.ends_with(last)) {
        const std::size_t n = p.far.read_some(part, patience);
        if (n == 0) break;
        all.append(part.data(), n);
      }
      return all;
    });
    p.near.write(last, patience);
    const std::string all = reader.get();
    REQUIRE(all.ends_with(last));
    const std::string_view begun = std::string_view(all).substr(0, all.size() - last.size());
    CHECK(begun.size() > 0);
    CHECK(std::string_view(much).starts_with(begun));
  });
}

TEST_CASE("bytes that were changed on the way are never read") {
  const site s;
  run_clean(with_procs(2), [&] {
    // A man in the middle, who changes a bit of what the server says after the handshake.
    net::listener at = net::listen("127.0.0.1:0");
    const tls_context server = tls_context::server(s.server());
    std::atomic<bool> change{false};
    auto serving = spawn([&] {
      tls_stream far(at.accept(patience), server, patience);
      char x = 0;
      far.read_exactly({&x, 1}, patience);
      std::error_code ec;
      far.write("a secret that matters\n", ec, patience);
      (void)far.read_some({&x, 1}, ec, patience);  // the alert
      return ec;
    });
    stream_pair outer = connected();
    stream inner = net::dial(at.local(), patience);
    task_group middle;
    const auto forward = [](stream& from, stream& to, const std::atomic<bool>& bad) {
      char part[4096];
      std::error_code ec;
      while (const std::size_t n = from.read_some(part, ec, patience)) {
        if (bad) part[n - 1] = static_cast<char>(part[n - 1] ^ 1);
        to.write({part, n}, ec, patience);
      }
      to.shutdown_write();
    };
    const std::atomic<bool> never{false};
    middle.go([&] { forward(inner, outer.far, change); });
    middle.go([&] { forward(outer.far, inner, never); });
    tls_stream near(std::move(outer.near), tls_context::client(s.client()), "localhost", patience);
    change = true;
    near.write("?", patience);
    std::error_code ec;
    char part[64];
    // Tickets may be what was changed: an error all the same.
    CHECK(near.read_some(part, ec, patience) == 0);
    CHECK(ec);
    CHECK(ec != tls_errc::truncated);
    near.close();
    CHECK(serving.get());
    (void)middle.wait();
  });
}

TEST_CASE("what is no TLS is told as that") {
  const site s;
  run_clean(with_procs(2), [&] {
    const tls_context server = tls_context::server(s.server()), client = tls_context::client(s.client());
    for (const std::string_view said : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "hello, who is there?\r\n"}) {
      stream_pair raw = connected();
      raw.near.write(said, patience);
      CHECK(error_of([&] { tls_accept(raw.far, server, patience); }) == tls_errc::not_tls);
      raw = connected();
      raw.far.write("220 mail.example ESMTP\r\n", patience);
      CHECK(error_of([&] { tls_connect(raw.near, client, "localhost", patience); }) == tls_errc::not_tls);
    }
    stream_pair raw = connected();
    raw.near.shutdown_write();
    CHECK(error_of([&] { tls_accept(raw.far, server, patience); }) == tls_errc::truncated);
    CHECK_THROWS_AS(tls_accept(raw.far, client), std::invalid_argument);
    CHECK_THROWS_AS(tls_accept(raw.far, tls_context()), std::invalid_argument);
    CHECK_THROWS_AS(tls_connect(raw.far, client, ""), std::invalid_argument);
    CHECK_THROWS_AS(net::dial("tls://localhost:1"), std::invalid_argument);
  });
}

TEST_CASE("TLS can begin in the middle, after lines that were read too far") {
  const site s;
  run_clean(with_procs(2), [&] {
    stream_pair raw = connected();
    auto near = spawn([&] {
      raw.near.write("STARTTLS\n", patience);
      tls_connect(raw.near, tls_context::client(s.client()), "localhost", patience);
      return raw.near.read_line(patience);
    });
    // By now the client's hello may be in the buffer as well.
    CHECK(raw.far.read_line(patience) == "STARTTLS");
    tls_accept(raw.far, tls_context::server(s.server()), patience);
    raw.far.write("go\n", patience);
    CHECK(near.get() == "go");
  });
}

TEST_CASE("deadlines and stops end a handshake, a read and a write") {
  const site s;
  at_procs([&] {
    const tls_context server = tls_context::server(s.server()), client = tls_context::client(s.client());
    const std::string much = bytes_of(32 << 20, 3);  // more than any socket holds
    {
      stream_pair raw = connected();
      CHECK(error_of([&] { tls_accept(raw.far, server, 10ms); }) == std::errc::timed_out);
      raw = connected();
      CHECK(error_of([&] { tls_connect(raw.near, client, "localhost", 10ms); }) == std::errc::timed_out);
      raw = connected();
      CHECK(stops_while_waiting([&] { tls_accept(raw.far, server); }));
    }
    secure_pair p = secure(client, server);
    char part[16];
    CHECK(error_of([&] { (void)p.near.read_some(part, 10ms); }) == std::errc::timed_out);
    CHECK(stops_while_waiting([&] { (void)p.near.read_some(part); }));
    // And it goes on after that.
    p.far.write("on", patience);
    p.near.read_exactly({part, 2}, patience);
    CHECK(error_of([&] { p.near.write(much, 20ms); }) == std::errc::timed_out);
    CHECK(stops_while_waiting([&] { p.near.write(much); }));
    // Also while somebody else reads, whom it does not disturb.
    auto reader = spawn([&] {
      char two[2];
      p.near.read_exactly({two, 2}, patience);
      return std::string(two, 2);
    });
    CHECK(error_of([&] { p.near.write(much, 20ms); }) == std::errc::timed_out);
    p.far.write("ok", patience);
    CHECK(reader.get() == "ok");
  });
}

TEST_CASE("servers and clients come and go at once") {
  const site s;
  at_procs([&] {
    const tls_context server = tls_context::server(s.server()), client = tls_context::client(s.client());
    net::listener at = net::listen("127.0.0.1:0");
    task_group all;
    all.go([&] {
      net::serve(at, [&](stream& peer) {
        tls_accept(peer, server, patience);
        while (const auto line = peer.read_line(patience)) peer.write(*line + "!\n", patience);
      });
    });
    const std::string where = "tls://localhost:" + std::to_string(at.local().port());
    std::atomic<int> good{0};
    task_group clients;
    for (int i = 0; i < 8; ++i)
      clients.go([&, i] {
        for (int n = 0; n < 3; ++n) {
          tls_stream peer = tls_dial(where, client, patience);
          peer.write(std::to_string(i) + "\n", patience);
          good += peer.read_line(patience) == std::to_string(i) + "!";
          peer.close();
        }
      });
    (void)clients.wait();
    CHECK(good == 24);
    at.shutdown();
    (void)all.wait();
  });
}

}  // namespace
}  // namespace leat::tls::test
