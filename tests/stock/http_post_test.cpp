// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include <leat/net/listener.hpp>

#include "fixture.hpp"

namespace leat::stock::test {
namespace {

using namespace std::chrono_literals;
using net::stream;

// A server that does what it is told with the nth request it gets.
class told_server {
 public:
  using behaviour = std::function<std::string(int n)>;  // the answer; "": ends the connection
  static constexpr const char* ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

  explicit told_server(behaviour b) : b_(std::move(b)) {
    group_.go([this] { net::serve(at_, [this](stream& peer) { talk(peer); }); });
  }
  ~told_server() { at_.shutdown(); }
  told_server(const told_server&) = delete;
  told_server& operator=(const told_server&) = delete;

  std::string url() const { return "http://" + at_.local().text() + "/in?x=1"; }
  std::vector<std::string> bodies() {
    std::lock_guard hold(lock_);
    return bodies_;
  }
  std::string last_head() {
    std::lock_guard hold(lock_);
    return head_;
  }
  std::atomic<int> connections{0};

 private:
  void talk(stream& peer) {
    ++connections;
    for (std::string head; peer.read_until(head, "\r\n\r\n", patience);) {
      const std::size_t at = head.find("Content-Length: ");
      std::string body(at == std::string::npos ? 0 : std::stoul(head.substr(at + 16)), '\0');
      peer.read_exactly(body, patience);
      int n = 0;
      {
        std::lock_guard hold(lock_);
        bodies_.push_back(body);
        head_ = head;
        n = static_cast<int>(bodies_.size());
      }
      const std::string text = b_(n);
      if (text.empty()) return;
      std::error_code ignored;  // the client may have had enough
      peer.write(text, ignored, patience);
      if (ignored) return;
    }
  }

  behaviour b_;
  net::listener at_ = net::listen("127.0.0.1:0");
  std::mutex lock_;
  std::vector<std::string> bodies_;
  std::string head_;
  task_group group_;  // last: its end joins those that use the rest
};

struct posting {
  log_reader log;
  told_server server;
  rig r{"http-post"};
  leat::channel<record> values = r.channel("values", 2);

  explicit posting(told_server::behaviour b) : server(std::move(b)) {
    r.set("url", server.url()).set("retry", 1ms).set("retry_most", 2ms);
  }
  ended send_all(int n) {
    for (int i = 1; i <= n; ++i) values.send({{"n", i}});
    values.close();
    return r.wait();
  }
};

TEST_CASE("records are posted as objects, in order, over one connection") {
  run_clean(with_procs(2), [] {
    posting x([](int) { return told_server::ok; });
    x.r.set("headers", std::vector<std::string>{"Authorization: Bearer abc"}).start();
    CHECK(x.send_all(5) == ended::returned);
    CHECK(x.server.bodies() ==
          std::vector<std::string>{"{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{\"n\":5}"});
    CHECK(x.server.connections.load() == 1);
    const std::string head = x.server.last_head();
    CHECK(head.starts_with("POST /in?x=1 HTTP/1.1\r\nHost: 127.0.0.1:"));
    CHECK(head.find("\r\nContent-Type: application/json\r\n") != std::string::npos);
    CHECK(head.find("\r\nAuthorization: Bearer abc\r\n") != std::string::npos);
  });
}

TEST_CASE("records are posted as arrays of so many, or as many as there are in time") {
  run_clean(with_procs(2), [] {
    posting x([](int) { return told_server::ok; });
    x.r.set("batch", 2).set("within", 1h).start();
    CHECK(x.send_all(3) == ended::returned);
    CHECK(x.server.bodies() == std::vector<std::string>{"[{\"n\":1},\n{\"n\":2}]", "[{\"n\":3}]"});

    posting y([](int) { return told_server::ok; });
    y.r.set("batch", 1000).set("within", 1ms).start();
    y.values.send({{"n", 1}});
    CHECK(eventually([&] { return y.server.bodies().size() == 1; }));
    CHECK(y.server.bodies()[0] == "[{\"n\":1}]");
    y.values.close();
    CHECK(y.r.wait() == ended::returned);

    // To take the next would be to acknowledge the last.
    posting z([](int) { return told_server::ok; });
    z.r.deliver_at_least_once("values");
    z.r.set("batch", 2).set("within", 1h).start();
    CHECK(z.send_all(2) == ended::returned);
    CHECK(z.server.bodies() == std::vector<std::string>{"[{\"n\":1}]", "[{\"n\":2}]"});
  });
}

TEST_CASE("a server in trouble is tried again until it takes the record; senders wait meanwhile") {
  run_clean(with_procs(2), [] {
    std::atomic<bool> well{false};
    posting x([&](int) {
      return well ? told_server::ok : "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    });
    x.r.start();
    auto sender = spawn([&] { CHECK(x.send_all(20) == ended::returned); });
    CHECK(eventually([&] { return x.server.bodies().size() > 5; }));
    CHECK(x.values.stats().received <= 1);
    CHECK(x.log.count("the server answers 503; trying again") == 1);
    well = true;
    sender.get();
    std::vector<std::string> got = x.server.bodies();
    got.erase(std::unique(got.begin(), got.end()), got.end());
    REQUIRE(got.size() == 20);
    for (int i = 1; i <= 20; ++i)
      CHECK(got[static_cast<std::size_t>(i - 1)] == "{\"n\":" + std::to_string(i) + "}");
    CHECK(x.log.count("posting again") == 1);
  });
}

TEST_CASE("a hostile server costs time, not records") {
  run_clean(with_procs(2), [] {
    const std::string huge(1 << 20, 'x');
    posting x([&](int n) -> std::string {
      switch (n) {
        case 1: return "";  // ends at once
        case 2: return "garbage\r\n\r\n";
        case 3: return "HTTP/1.1 2";
        case 4: return "HTTP/1.1 200 OK\r\nX: " + huge;
        case 5: return "HTTP/1.1 999 What\r\n\r\n";
        case 6:
          return "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n" + huge;
        case 7: (void)sleep_for(1h); return "";  // never answers
        case 8: return "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + huge;
        default: return told_server::ok;
      }
    });
    x.r.set("answer_time", 200ms).start();
    CHECK(x.send_all(2) == ended::returned);
    const std::vector<std::string> got = x.server.bodies();
    CHECK(std::count(got.begin(), got.end(), "{\"n\":1}") >= 8);
    CHECK(got.back() == "{\"n\":2}");
  });
}

TEST_CASE("what follows an answer is not taken for the answer to the next record") {
  run_clean(with_procs(2), [] {
    posting x([](int n) -> std::string {
      const std::string other = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";
      switch (n) {
        case 1: return "HTTP/1.1 204 No Content\r\n\r\n" + other;
        case 2: return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 42\r\n\r\n" + other;
        case 3: return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding:\r\n\r\n" + other;
        default: return told_server::ok;
      }
    });
    x.r.start();
    CHECK(x.send_all(5) == ended::returned);
    CHECK(x.server.bodies() ==
          std::vector<std::string>{"{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{\"n\":5}"});
    CHECK(x.server.connections.load() == 4);
  });
}

TEST_CASE("what the server does not want is dropped and counted, or a failure") {
  run_clean(with_procs(2), [] {
    const auto refuse = [](int n) {
      return n == 2 ? "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" : told_server::ok;
    };
    posting drops(refuse);
    drops.r.start();
    CHECK(drops.send_all(3) == ended::returned);
    CHECK(drops.server.bodies().size() == 3);
    CHECK(drops.log.count("dropped: the server answers 400") == 1);

    posting fails(refuse);
    fails.r.set("bad", "fail").start();
    fails.values.send({{"n", 1}});
    fails.values.send({{"n", 2}});
    CHECK(fails.r.failure() == "the server answers 400");
  });
}

TEST_CASE("with an end to its retries, a record that cannot be posted is given up") {
  run_clean(with_procs(2), [] {
    posting x([](int n) { return n <= 3 ? "" : told_server::ok; });
    x.r.set("retries", 2).start();
    CHECK(x.send_all(2) == ended::returned);
    CHECK(x.server.bodies() == std::vector<std::string>{"{\"n\":1}", "{\"n\":1}", "{\"n\":1}", "{\"n\":2}"});
    CHECK(x.log.count("dropped: ") == 1);
  });
}

TEST_CASE("a stop ends the retries, and what was not posted is told") {
  run_clean(with_procs(2), [] {
    posting x([](int) { return ""; });
    x.r.start();
    x.values.send({{"n", 1}});
    CHECK(eventually([&] { return x.server.bodies().size() > 2; }));
    CHECK(x.r.stop() == ended::returned);
    CHECK(x.log.count("1 records were not posted when it was stopped") == 1);
  });
}

TEST_CASE("an address that is none is refused with the reason") {
  run_clean(with_procs(2), [] {
    for (const auto& c :
         std::vector<std::pair<std::string, std::string>>{{"ftp://a/", "expected http://"},
                                                          {"https://", "there is no host"},
                                                          {"http://", "there is no host"},
                                                          {"http://a b/", "a blank"},
                                                          {"http://me:secret@a/", "a name or password"}}) {
      rig r("http-post");
      (void)r.channel("values");
      r.set("url", c.first).start();
      const bool told = r.failure().find(c.second) != std::string::npos;
      CHECK_MESSAGE(told, c.first);
    }
  });
}

}  // namespace
}  // namespace leat::stock::test
