// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>

#include <leat/net/dial.hpp>
#include <leat/net/listener.hpp>
#include <leat/stock/live_feed.hpp>

#include "fixture.hpp"

namespace leat::stock::test {
namespace {

using namespace std::chrono_literals;
using net::stream;

std::string get(const std::string& path, const std::string& fields = {}) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}
record reading(const std::string& sensor, int v) { return {{"sensor", sensor}, {"value", v}}; }

struct reply {
  std::string status, head, body;
};
reply read_reply(stream& s, bool with_body = true) {
  reply a;
  CHECK(s.read_until(a.head, "\r\n\r\n", patience));
  a.status = a.head.substr(9, a.head.find("\r\n") - 9);
  const std::size_t at = a.head.find("Content-Length: ");
  if (!with_body || at == std::string::npos) return a;
  a.body.resize(std::stoul(a.head.substr(at + 16)));
  s.read_exactly(a.body, patience);
  return a;
}

// http-json on a free port.
struct shown {
  log_reader log;
  rig r{"http-json"};
  leat::channel<record> values = r.channel("values");

  shown() { r.set("listen", "127.0.0.1:0"); }
  void start() {
    r.start();
    REQUIRE(eventually([&] { return log.has("on http://"); }));
    where = log.after("on http://");
    where.pop_back();  // the slash
  }
  stream dial() const { return net::dial(where, patience); }
  reply ask(const std::string& text, bool with_body = true) const {
    stream s = dial();
    s.write(text, patience);
    return read_reply(s, with_body);
  }
  std::string body(const std::string& path) const { return ask(get(path)).body; }
  bool taken(int n) const {
    return eventually(
        [&] { return body("/health").find("\"records\":" + std::to_string(n) + ",") != std::string::npos; });
  }
  ended finish() {
    values.close();
    return r.wait();
  }
  std::string where;
};

// One event of a stream: its id and data. Comments and settings are passed over.
struct event {
  std::string id, data;
};
event next_event(stream& s) {
  event e;
  std::string block;
  while (e.data.empty() && s.read_until(block, "\n\n", patience)) {
    const std::size_t at = block.find("data: ");
    if (at == std::string::npos) continue;
    e.data = block.substr(at + 6, block.size() - at - 8);
    if (block.starts_with("id: ")) e.id = block.substr(4, block.find('\n') - 4);
  }
  return e;
}
stream listen_to(const shown& x, const std::string& path = "/events", const std::string& fields = {}) {
  stream s = x.dial();
  s.write(get(path, fields), patience);
  const reply a = read_reply(s, false);
  CHECK(a.status == "200 OK");
  CHECK(a.head.find("Content-Type: text/event-stream\r\n") != std::string::npos);
  return s;
}

TEST_CASE("the latest of each sensor and the last of all are there as JSON") {
  run_clean(with_procs(2), [] {
    shown x;
    x.start();
    CHECK(x.body("/latest") == "{}\n");
    CHECK(x.body("/history") == "[]\n");
    x.values.send(reading("b\"<", 1));
    x.values.send(reading("a", 2));
    x.values.send(reading("b\"<", 3));
    x.values.send({{"value", 4}});
    CHECK(x.taken(4));
    CHECK(x.body("/latest") ==
          "{\"\":{\"value\":4},\n\"a\":{\"sensor\":\"a\",\"value\":2},\n"
          "\"b\\\"<\":{\"sensor\":\"b\\\"<\",\"value\":3}}\n");
    CHECK(x.body("/history?n=2") == "[{\"sensor\":\"b\\\"<\",\"value\":3},\n{\"value\":4}]\n");
    CHECK(x.body("/health") ==
          "{\"status\":\"ok\",\"records\":4,\"sensors\":3,\"listeners\":0,\"dropped_listeners\":0}\n");
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("only so many records and sensors are kept") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("history", 3).set("keys", 2);
    x.start();
    for (int i = 0; i < 10; ++i) x.values.send(reading(std::to_string(i % 5), i));
    CHECK(x.taken(10));
    CHECK(x.body("/history") ==
          "[{\"sensor\":\"2\",\"value\":7},\n{\"sensor\":\"3\",\"value\":8},\n{\"sensor\":\"4\",\"value\":9}]"
          "\n");
    CHECK(x.body("/latest") ==
          "{\"0\":{\"sensor\":\"0\",\"value\":5},\n\"1\":{\"sensor\":\"1\",\"value\":6}}\n");
    CHECK(x.log.count("more than 2 sensors") == 1);
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("the page lets nothing in from elsewhere and shows texts as texts") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("title", "<b>\"x\" & y").set("key", "\"><script>");
    x.start();
    const reply page = x.ask(get("/"));
    CHECK(page.status == "200 OK");
    CHECK(page.head.find("Content-Security-Policy: default-src 'none'; script-src 'self';") !=
          std::string::npos);
    CHECK(page.head.find("Content-Type: text/html; charset=utf-8\r\n") != std::string::npos);
    CHECK(page.body.find("<title>&lt;b&gt;&quot;x&quot; &amp; y</title>") != std::string::npos);
    CHECK(page.body.find("data-key=\"&quot;&gt;&lt;script&gt;\"") != std::string::npos);
    const std::string script = x.body("/page.js"), style = x.body("/page.css");
    CHECK(script.find("EventSource") != std::string::npos);
    CHECK(script.find("innerHTML") == std::string::npos);
    CHECK(style.find("url(") == std::string::npos);
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("requests in a row are answered in order; methods, paths and queries get their answers") {
  run_clean(with_procs(2), [] {
    shown x;
    x.start();
    stream s = x.dial();
    s.write(get("/latest") + "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/nowhere") +
                "POST /latest HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" +
                get("/history?n=many") + get("/health"),
            patience);
    CHECK(read_reply(s).body == "{}\n");
    const reply head = read_reply(s, false);
    CHECK(head.status == "200 OK");
    CHECK(head.head.find("Content-Length: 0\r\n") == std::string::npos);
    CHECK(read_reply(s).status == "404 Not Found");
    CHECK(read_reply(s).status == "405 Method Not Allowed");
    CHECK(read_reply(s).status == "400 Bad Request");
    CHECK(read_reply(s).body.starts_with("{\"status\":\"ok\""));
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("what is wrong or too large is refused, and so are names of other sites") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("request_size", byte_size{2048});
    x.start();
    CHECK(x.ask("nonsense\r\n\r\n").status == "400 Bad Request");
    CHECK(x.ask(get("/", "X: " + std::string(3000, 'x') + "\r\n")).status ==
          "431 Request Header Fields Too Large");
    CHECK(x.ask("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n").status ==
          "413 Content Too Large");
    CHECK(x.ask("GET /latest HTTP/1.1\r\nHost: evil.example:80\r\n\r\n").status == "403 Forbidden");
    CHECK(x.ask("GET /latest HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n").status == "200 OK");
    CHECK(x.ask("GET /latest HTTP/1.1\r\nHost: [::1]:80\r\n\r\n").status == "200 OK");
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("a request must name this machine, or a host that the configuration allows") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("hosts", std::vector<std::string>{"Boiler.example.org", "192.0.2.7"});
    x.start();
    char own[256] = {};
    REQUIRE(::gethostname(own, sizeof own - 1) == 0);
    const auto status = [&](const std::string& host) {
      return x.ask("GET /latest HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status + " for " + host;
    };
    for (const std::string host :
         {"localhost", "a.localhost:80", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::ffff:127.0.0.1]:80",
          "[::FFFF:7f00:1]", "boiler.example.org.:80", "BOILER.example.org", "192.0.2.7:8080"})
      CHECK(status(host) == "200 OK for " + host);
    CHECK(status(own) == "200 OK for " + std::string(own));
    for (const std::string host : {"evil.example", "localhost.evil.example", "[::ffff:192.0.2.8]",
                                   "192.0.2.8", "[2001:db8::1]:80", "example.org"})
      CHECK(status(host) == "403 Forbidden for " + host);
    CHECK(x.log.count("refuses requests for 'evil.example'; if it is meant, add it to `hosts`") == 1);
    CHECK(x.finish() == ended::returned);

    shown any;
    any.r.set("hosts", std::vector<std::string>{"*"});
    any.start();
    CHECK(any.ask("GET /latest HTTP/1.1\r\nHost: whatever.example\r\n\r\n").status == "200 OK");
    CHECK(any.finish() == ended::returned);
  });
}

TEST_CASE("connections that say nothing hold no place: the first request has its time, and the oldest goes") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("connections", 8).set("per_address", 100).set("idle_time", 1h).set("request_time", 1h);
    x.start();
    std::vector<stream> silent;
    for (int i = 0; i < 8; ++i) silent.push_back(x.dial());
    // All places are taken, and yet it is answered; one has gone for it. Which one is told by whose G began to
    // wait first.
    CHECK(x.ask(get("/health")).status == "200 OK");
    char byte[1];
    int gone = 0;
    for (stream& s : silent) {
      std::error_code ec;
      gone += s.read_some(byte, ec, 10ms) == 0 && !ec ? 1 : 0;
    }
    CHECK(gone == 1);
    CHECK(x.finish() == ended::returned);

    shown y;
    y.r.set("request_time", 20ms).set("idle_time", 1h);
    y.start();
    stream nothing = y.dial();
    CHECK(nothing.read_some(byte, patience) == 0);
    CHECK(y.finish() == ended::returned);
  });
}

TEST_CASE("one address cannot have all places") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("connections", 16).set("request_time", 1h);
    x.start();
    std::vector<stream> mine;
    for (int i = 0; i < 12; ++i) {
      mine.push_back(x.dial());
      mine.back().write(get("/health"), patience);
      CHECK(read_reply(mine.back()).status == "200 OK");
    }
    stream one_more = x.dial();
    char byte[1];
    std::error_code ec;
    CHECK(one_more.read_some(byte, ec, patience) == 0);
    mine[2].write(get("/health"), patience);
    CHECK(read_reply(mine[2]).status == "200 OK");
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("what is kept is bounded in bytes, however large a record is") {
  run_clean(with_procs(2), [] {
    live_feed feed(1'000'000, 1'000'000, 64 * 1024);
    for (int i = 0; i < 1000; ++i) {
      feed.add("sensor " + std::to_string(i), '"' + std::string(1000, 'x') + '"');
      CHECK(feed.bytes() <= 64 * 1024);
    }
    CHECK(feed.keys() > 10);
    CHECK(feed.turned_away() > 900);
    CHECK(feed.history(1'000'000).size() > 16 * 1024);
    // One that grows is not shown as it was.
    feed.add("sensor 0", '"' + std::string(7000, 'y') + '"');
    CHECK(feed.latest().find("sensor 0\"") == std::string::npos);
    feed.add("large", '"' + std::string(10'000, 'z') + '"');
    CHECK(feed.too_large() == 1);
    CHECK(feed.history(1).find('z') == std::string::npos);
    CHECK(feed.bytes() <= 64 * 1024);
  });
}

TEST_CASE("clients that do not take their answers hold no more than the memory that there is") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("memory", byte_size{1 << 20}).set("write_time", 1h);
    x.start();
    const std::string text(60'000, 'x');
    for (int i = 0; i < 15; ++i) x.values.send({{"sensor", "s"}, {"value", text}});
    CHECK(eventually([&] { return x.ask(get("/health")).body.find("\"records\":15") != std::string::npos; }));
    std::vector<stream> slow;
    std::string status;
    // Each asks for 900 kB until the kernel's buffers are full, and reads nothing.
    for (int i = 0; i < 12 && status != "503 Service Unavailable"; ++i) {
      slow.push_back(x.dial());
      for (int k = 0; k < 40; ++k) slow.back().write(get("/history"), patience);
      status = x.ask(get("/history")).status;
    }
    CHECK(eventually([&] { return x.ask(get("/history")).status == "503 Service Unavailable"; }));
    slow.clear();
    CHECK(eventually([&] { return x.ask(get("/history")).status == "200 OK"; }));
    CHECK(x.finish() == ended::returned);
  });
}

// Apart: on a busy machine a whole request may be too slow for it as well.
TEST_CASE("a request that does not come to its end in time is refused") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("request_time", 50ms);
    x.start();
    CHECK(x.ask("GET / HT").status == "408 Request Timeout");
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("events tell what was, then what comes; one who comes back gets what it missed") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("heartbeat", 10ms).set("history", 4);
    x.start();
    x.values.send(reading("a", 1));
    CHECK(x.taken(1));
    stream s = listen_to(x);
    CHECK(next_event(s).data == "{\"sensor\":\"a\",\"value\":1}");
    x.values.send(reading("a", 2));
    const event second = next_event(s);
    CHECK(second.data == "{\"sensor\":\"a\",\"value\":2}");
    // The last part of an id is when it came.
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(moment_now().time_since_epoch()).count();
    const long long came = std::atoll(second.id.substr(second.id.rfind('-') + 1).c_str());
    CHECK(came > ms - 60'000);
    CHECK(came <= ms);
    s.close();
    x.values.send(reading("a", 3));
    x.values.send(reading("a", 4));
    CHECK(x.taken(4));
    stream again = listen_to(x, "/events?after=ignored", "Last-Event-ID: " + second.id + "\r\n");
    CHECK(next_event(again).data == "{\"sensor\":\"a\",\"value\":3}");
    stream by_query = listen_to(x, "/events?after=" + second.id);
    CHECK(next_event(by_query).data == "{\"sensor\":\"a\",\"value\":3}");
    // As far as it is kept, also for one who knew another start of the program.
    for (int i = 5; i <= 10; ++i) x.values.send(reading("a", i));
    CHECK(x.taken(10));
    stream late = listen_to(x, "/events", "Last-Event-ID: " + second.id + "\r\n");
    CHECK(next_event(late).data == "{\"sensor\":\"a\",\"value\":7}");
    stream stranger = listen_to(x, "/events", "Last-Event-ID: 1-1\r\n");
    CHECK(next_event(stranger).data == "{\"sensor\":\"a\",\"value\":7}");
    stream fresh = listen_to(x, "/events?n=1");
    CHECK(next_event(fresh).data == "{\"sensor\":\"a\",\"value\":10}");
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("a listener that does not read is dropped and counted; nobody waits for it") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("history", 8).set("write_time", 20ms);
    x.start();
    stream slow = listen_to(x);
    // More than the system buffers.
    const std::string large(100'000, 'x');
    CHECK(eventually([&] {
      for (int i = 0; i < 20; ++i) x.values.send({{"sensor", "a"}, {"value", large}});
      return x.body("/health").find("\"dropped_listeners\":1}") != std::string::npos;
    }));
    CHECK(eventually([&] { return x.body("/health").find("\"listeners\":0,") != std::string::npos; }));
    CHECK(x.finish() == ended::returned);
    CHECK(x.log.count("1 listeners were too slow") == 1);
  });
}

TEST_CASE("listeners leave room for others") {
  run_clean(with_procs(2), [] {
    shown x;
    x.r.set("connections", 4);
    x.start();
    stream a = listen_to(x), b = listen_to(x), c = listen_to(x);
    CHECK(x.ask(get("/events")).status == "503 Service Unavailable");
    CHECK(x.body("/health").find("\"listeners\":3,") != std::string::npos);
    CHECK(x.r.stop() == ended::returned);  // with listeners
  });
}

TEST_CASE("an address that is taken is a failure that names it") {
  run_clean(with_procs(2), [] {
    net::listener at = net::listen("127.0.0.1:0");
    rig r("http-json");
    (void)r.channel("values");
    r.set("listen", at.local().text()).start();
    CHECK(r.failure().find("Address already in use") != std::string::npos);
  });
}

}  // namespace
}  // namespace leat::stock::test
