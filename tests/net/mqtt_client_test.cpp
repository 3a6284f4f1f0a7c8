// SPDX-License-Identifier: BSL-1.0
//
// The client over real streams: against mosquitto and its tools, and against a server of the test's own for what
// mosquitto does not do.
#include <map>
#include <set>

#include "net/broker.hpp"
#include "net/told_server.hpp"

namespace leat::net::mqtt::test {
namespace {

using namespace std::chrono_literals;

message message_of(std::string topic, std::string payload, qos q = qos::at_least_once, bool retain = false) {
  return {.topic = std::move(topic), .payload = std::move(payload), .qos = q, .retain = retain};
}

template <class F>
void with_broker(F body, const std::string& more = {}) {
  if (!has("mosquitto")) return;
  run_clean(with_procs(2), [&] {
    broker b(more);
    body(b);
  });
}

TEST_CASE("messages of each QoS come from mosquitto_pub") {
  if (!has("mosquitto_pub")) return;
  with_broker([](broker& b) {
    client c(b.options("reader"));
    subscribe(c, "in/#", qos::exactly_once);
    for (const char* q : {"0", "1", "2"}) {
      b.publish({"-t", "in/x", "-m", q, "-q", q, "-D", "publish", "user-property", "k", "v"});
      const auto d = c.receive(patience);
      REQUIRE(d);
      CHECK(d->message.payload == q);
      CHECK(std::to_string(static_cast<int>(d->message.qos)) == q);
      REQUIRE(d->message.properties.all().size() == 1);
      CHECK(d->message.properties.all()[0].value == "v");
      c.acknowledge(d->token);
    }
  });
}

TEST_CASE("messages go out to mosquitto_sub, with their properties") {
  if (!has("mosquitto_sub")) return;
  with_broker([](broker& b) {
    child sub = b.start("mosquitto_sub", {"-t", "out/#", "-q", "1", "-C", "2", "-F", "%t %q %p %C"});
    client c(b.options("writer"));
    // A SUBSCRIBE has no echo that could be waited for: retained messages find it whenever it comes.
    message m = message_of("out/a", "zero", qos::at_most_once, true);
    m.properties.set(property_id::content_type, "text/plain");
    CHECK(published(c, m).outcome == publish_outcome::sent);
    CHECK(sub.out().read_line(patience) == "out/a 0 zero text/plain");
    CHECK(published(c, message_of("out/b", "one")).outcome == publish_outcome::acknowledged);
    CHECK(sub.out().read_line(patience) == "out/b 1 one ");
    CHECK(sub.wait(patience).ok());
  });
}

TEST_CASE("a retained message is there for those who come later, and can be removed") {
  with_broker([](broker& b) {
    client w(b.options("w"));
    CHECK(published(w, message_of("state", "on", qos::at_least_once, true)).outcome ==
          publish_outcome::acknowledged);
    {
      client r(b.options("r"));
      subscribe(r, "state");
      const auto d = r.receive(patience);
      REQUIRE(d);
      CHECK(d->message.payload == "on");
      CHECK(d->message.retain);
    }
    (void)published(w, message_of("state", "", qos::at_least_once, true));
    client r(b.options("r2"));
    subscribe(r, "state");
    (void)published(w, message_of("state", "later"));
    CHECK(next_payload(r) == "later");
  });
}

// Cuts the connection as a power failure would, as far as the other side sees it.
class cut_transport final : public transport {
 public:
  explicit cut_transport(std::unique_ptr<transport> t, std::function<void(transport*)> note)
      : inner_(std::move(t)), note_(std::move(note)) {
    note_(inner_.get());
  }
  ~cut_transport() override { note_(nullptr); }
  std::size_t read_some(mutable_bytes into, std::error_code& ec) override {
    return inner_->read_some(into, ec);
  }
  void write(const_bytes from, std::error_code& ec, deadline until) override {
    inner_->write(from, ec, until);
  }
  void shutdown() noexcept override { inner_->shutdown(); }

 private:
  std::unique_ptr<transport> inner_;
  std::function<void(transport*)> note_;
};
class cutter {
 public:
  connector connect() {
    return [this](const std::string& server, deadline until) -> std::unique_ptr<transport> {
      if (forbidden_) throw std::system_error(std::make_error_code(std::errc::host_unreachable), "cut");
      return std::make_unique<cut_transport>(connect_tcp(server, until), [this](transport* t) {
        const std::lock_guard hold(lock_);
        now_ = t;
      });
    };
  }
  void cut() {
    const std::lock_guard hold(lock_);
    if (now_) now_->shutdown();
  }
  void forbid(bool on) { forbidden_ = on; }

 private:
  std::mutex lock_;
  transport* now_ = nullptr;
  std::atomic<bool> forbidden_{false};
};

TEST_CASE("a will is sent when the connection is cut, and not when the client ends in order") {
  with_broker([](broker& b) {
    client r(b.options("r"));
    subscribe(r, "wills/#");
    cutter scissors;
    client_options o = b.options("w");
    o.connect = scissors.connect();
    o.session.will = will_message{.topic = "wills/cut", .payload = "gone", .qos = qos::at_least_once};
    {
      client w(o);
      REQUIRE(w.wait_online(patience));
      scissors.forbid(true);
      scissors.cut();
      CHECK(next_payload(r) == "gone");
    }
    o.connect = connect_tcp;
    o.session.will->topic = "wills/ended";
    {
      client w(o);
      REQUIRE(w.wait_online(patience));
    }
    client w(b.options("w2"));
    (void)published(w, message_of("wills/after", "after"));
    CHECK(next_payload(r) == "after");
  });
}

TEST_CASE("a session is resumed: what was not acknowledged comes again, what was published meanwhile too") {
  with_broker([](broker& b) {
    client w(b.options("w"));
    {
      client r(b.options("r", 3600));
      subscribe(r, "t");
      (void)published(w, message_of("t", "1"));
      (void)published(w, message_of("t", "2"));
      CHECK(next_payload(r) == "1");
      CHECK(next_payload(r, false) == "2");
    }
    (void)published(w, message_of("t", "3"));
    client r(b.options("r", 3600));
    REQUIRE(r.wait_online(patience));
    // The acknowledgement of "1" may have been lost on the way.
    std::string next = next_payload(r);
    if (next == "1") next = next_payload(r);
    CHECK(next == "2");
    CHECK(next_payload(r) == "3");
  });
}

TEST_CASE("a broker that is killed comes back to the same session, and nothing that was saved is lost") {
  with_broker([](broker& b) {
    client r(b.options("r", 3600));
    subscribe(r, "t");
    client w(b.options("w", 3600));
    std::set<std::string> seen;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 5; ++i) (void)published(w, message_of("t", std::to_string(round * 10 + i)));
      b.save();
      b.kill();
      const std::string waiting = std::to_string(round * 10 + 9);
      CHECK(w.publish(message_of("t", waiting), patience) != 0);  // while there is nobody
      b.start();
      const auto answer = w.next_result(patience);
      REQUIRE(answer);
      CHECK(answer->outcome == publish_outcome::acknowledged);
      while (!seen.contains(waiting)) {
        const std::string p = next_payload(r);
        REQUIRE(p != "nothing came");
        seen.insert(p);
      }
    }
    CHECK(seen.size() == 18);
  });
}

TEST_CASE("a reader that does not acknowledge gets no more than its Receive Maximum") {
  with_broker([](broker& b) {
    client_options o = b.options("r");
    o.session.receive_maximum = 3;
    client r(o);
    subscribe(r, "t");
    client w(b.options("w"));
    for (int i = 0; i < 10; ++i) (void)published(w, message_of("t", std::to_string(i)));
    std::vector<delivery> held;
    for (int i = 0; i < 3; ++i) held.push_back(*r.receive(patience));
    CHECK(!r.receive(deadline(50ms)));
    for (int i = 0; i < 10; ++i) {
      CHECK(held.front().message.payload == std::to_string(i));
      r.acknowledge(held.front().token);
      held.erase(held.begin());
      if (i < 7) held.push_back(*r.receive(patience));
    }
    CHECK(held.empty());
  });
}

TEST_CASE("a backlog that oversteps the Receive Maximum arrives, in order and on one connection") {
  with_broker([](broker& b) {
    {
      client r(b.options("r", 3600));
      subscribe(r, "t");
    }
    client w(b.options("w"));
    for (int i = 0; i < 40; ++i) (void)published(w, message_of("t", std::to_string(i)));
    client_options o = b.options("r", 3600);
    o.session.receive_maximum = 3;
    std::atomic<int> ends{0};
    o.tell = [&ends](const client_news& n) { ends += !n.online; };
    client r(o);
    for (int i = 0; i < 40; ++i) CHECK(next_payload(r) == std::to_string(i));
    CHECK(ends == 0);
  });
}

TEST_CASE("a message that has expired does not come") {
  with_broker([](broker& b) {
    {
      client r(b.options("r", 3600));
      subscribe(r, "t");
    }
    client w(b.options("w"));
    message m = message_of("t", "old");
    m.properties.set(property_id::message_expiry_interval, 1);
    (void)published(w, m);
    m.payload = "young";
    m.properties.set(property_id::message_expiry_interval, 1000);
    (void)published(w, m);
    (void)sleep_for(2500ms);  // the broker's clock, which nobody can turn
    client r(b.options("r", 3600));
    const auto d = r.receive(patience);
    REQUIRE(d);
    CHECK(d->message.payload == "young");
    CHECK(d->message.properties.number(property_id::message_expiry_interval).value_or(1000) < 1000);
  });
}

TEST_CASE("readers of a shared subscription get each message once") {
  with_broker([](broker& b) {
    client one(b.options("one")), two(b.options("two")), w(b.options("w"));
    subscribe(one, "$share/g/t");
    subscribe(two, "$share/g/t");
    for (int i = 0; i < 20; ++i) (void)published(w, message_of("t", std::to_string(i)));
    std::map<std::string, int> seen;
    int each[2] = {0, 0};
    CHECK(eventually([&] {
      int k = 0;
      for (client* c : {&one, &two}) {
        while (auto d = c->receive(deadline(1ms))) {
          c->acknowledge(d->token);
          ++seen[d->message.payload];
          ++each[k];
        }
        ++k;
      }
      return each[0] + each[1] == 20;
    }));
    CHECK(seen.size() == 20);
    CHECK(each[0] > 0);
    CHECK(each[1] > 0);
  });
}

TEST_CASE("credentials that are refused are told, and never shown") {
  if (!has("mosquitto_passwd") || !has("mosquitto")) return;
  run_clean(with_procs(2), [] {
    scratch_directory folder;
    const std::string file = folder / "passwords";
    child make({program_path("mosquitto_passwd"), "-c", "-b", file, "ann", "right"});
    REQUIRE(make.wait(patience).ok());
    broker b("allow_anonymous false\npassword_file " + file + "\n");
    std::string told;
    client_options o = b.options("c");
    o.session.user_name = "ann";
    o.session.password = "wrong";
    o.give_up_when_refused = true;
    o.tell = [&told](const client_news& n) { told += n.why + (n.refused ? " (refused)" : ""); };
    {
      client c(o);
      CHECK(!c.receive(patience));
      CHECK(c.failure() == "the server refuses: not authorized");
      CHECK(c.publish({.topic = "t"}, patience) == 0);
    }
    CHECK(told == "the server refuses: not authorized (refused)");
    o.session.password = "right";
    client c(o);
    CHECK(c.wait_online(patience));
  });
}

TEST_CASE("a packet that is too large for the broker is told, and the connection stays") {
  with_broker(
      [](broker& b) {
        client_options o = b.options("c");
        o.session.keep_alive = 0;  // nothing is due that would wake the writer
        client c(o);
        REQUIRE(c.wait_online(patience));
        CHECK(published(c, message_of("t", std::string(5000, 'x'))).outcome == publish_outcome::too_large);
        CHECK(published(c, message_of("t", "small")).outcome == publish_outcome::acknowledged);
      },
      "max_packet_size 1000\n");
}

TEST_CASE("a packet that is too large for us is not sent to us") {
  with_broker([](broker& b) {
    client_options o = b.options("r");
    o.session.maximum_packet_size = 500;
    client r(o);
    subscribe(r, "t");
    client w(b.options("w"));
    (void)published(w, message_of("t", std::string(5000, 'x')));
    (void)published(w, message_of("t", "small"));
    CHECK(next_payload(r) == "small");
  });
}

TEST_CASE("a reader that is ended between receipt and acknowledgement, 200 times: nothing is lost") {
  with_broker([](broker& b) {
    client w(b.options("w"));
    {
      client r(b.options("r", 3600));
      subscribe(r, "t");
    }
    constexpr int rounds = 200;
    std::set<std::string> done;
    int again = 0;
    for (int i = 0; i < rounds; ++i) {
      (void)published(w, message_of("t", std::to_string(i)));
      cutter scissors;
      client_options o = b.options("r", 3600);
      o.connect = scissors.connect();
      client r(o);
      const auto d = r.receive(patience);
      REQUIRE(d);
      again += d->duplicate;
      if (i % 4 == 3) {  // some get further
        r.acknowledge(d->token);
        done.insert(d->message.payload);
      }
      if (i % 2 == 0) {
        scissors.forbid(true);
        scissors.cut();
      }
    }
    client r(b.options("r", 3600));
    while (done.size() < rounds) {
      const std::string p = next_payload(r);
      REQUIRE(p != "nothing came");
      done.insert(p);
    }
    CHECK(again > 100);
  });
}

TEST_CASE("a server that sends us elsewhere is obeyed") {
  run_clean(with_procs(2), [] {
    told_server there([](stream& peer, const packet& p) {
      if (std::holds_alternative<connect_packet>(p)) told_server::say(peer, connack_packet{});
    });
    told_server here([&](stream& peer, const packet& p) {
      if (!std::holds_alternative<connect_packet>(p)) return;
      connack_packet go;
      go.reason = reason::server_moved;
      go.properties.set(property_id::server_reference, there.where());
      told_server::say(peer, go);
    });
    client_options o;
    o.server = here.where();
    o.session.client_id = "c";
    o.retry = 1h;  // no pause before the other one
    client c(o);
    CHECK(c.wait_online(patience));
    CHECK(here.connections == 1);
    CHECK(there.connections == 1);
  });
}

TEST_CASE("a subscription that is refused ends a client that cannot do without") {
  run_clean(with_procs(2), [] {
    told_server strict([](stream& peer, const packet& p) {
      if (std::holds_alternative<connect_packet>(p)) told_server::say(peer, connack_packet{});
      if (const auto* const s = std::get_if<subscribe_packet>(&p))
        told_server::say(peer, suback_packet{.id = s->id, .reasons = {reason::not_authorized}});
    });
    client_options o;
    o.server = strict.where();
    o.session.client_id = "c";
    o.give_up_unless_subscribed = true;
    client c(o);
    c.subscribe({.filter = "secret"});
    CHECK(!c.receive(patience));
    CHECK(c.failure() == "'secret': the server refuses the subscription: not authorized");
    CHECK(strict.connections == 1);
  });
}

TEST_CASE("a server that answers nothing is left, and tried again") {
  run_clean(with_procs(2), [] {
    std::atomic<int> pings{0};
    told_server silent([&](stream& peer, const packet& p) {
      if (std::holds_alternative<connect_packet>(p)) told_server::say(peer, connack_packet{});
      pings += std::holds_alternative<pingreq_packet>(p);
    });
    client_options o;
    o.server = silent.where();
    o.session.client_id = "c";
    o.session.keep_alive = 1;
    o.session.connect_time = 1h;  // what was due before says nothing of what is due then
    o.retry = 1ms;
    std::mutex lock;
    std::string told;
    o.tell = [&](const client_news& n) {
      const std::lock_guard hold(lock);
      if (!n.online && told.empty()) told = n.why;
    };
    client c(o);
    CHECK(eventually([&] { return silent.connections >= 2; }));
    CHECK(pings >= 1);
    const std::lock_guard hold(lock);
    CHECK(told == "nothing was heard for 1 s after a PINGREQ");
  });
}

TEST_CASE("a user that takes nothing slows the server down, and the connection lives on") {
  run_clean(with_procs(2), [] {
    std::atomic<int> pings{0};
    std::atomic<bool> flooded{false};
    told_server flood([&](stream& peer, const packet& p) {
      if (std::holds_alternative<pingreq_packet>(p)) ++pings;
      if (!std::holds_alternative<connect_packet>(p)) return;
      told_server::say(peer, connack_packet{});
      std::string bytes;
      for (int i = 0; i < 200; ++i)
        REQUIRE(encode(publish_packet{.topic = "t", .payload = "x"}, bytes) == nullptr);
      peer.write(bytes, patience);
      flooded = true;
    });
    client_options o;
    o.server = flood.where();
    o.session.client_id = "c";
    o.session.keep_alive = 1;
    o.session.connect_time = 1h;  // what was due before says nothing of what is due then
    o.session.most_waiting = 10;
    client c(o);
    CHECK(eventually([&] { return flooded && pings >= 4; }));
    CHECK(flood.connections == 1);
    for (int i = 0; i < 200; ++i) CHECK(c.receive(patience));
  });
}

TEST_CASE("a client ends at once, whatever it waits for") {
  run_clean(with_procs(2), [] {
    client_options o;
    o.server = "127.0.0.1:" + std::to_string(leat::test::free_port());
    o.retry = 1h;
    {
      client c(o);
    }
    client c(o);
    CHECK(!c.receive(deadline(1ms)));
    CHECK(!c.wait_online(deadline(1ms)));
    CHECK(stops_while_waiting([&] {
      if (!c.receive()) throw leat::stopped{};
    }));
  });
}

TEST_CASE("addresses of brokers") {
  std::string why;
  CHECK(server_of_url("mqtt://broker", why) == "broker:1883");
  CHECK(server_of_url("mqtt://broker:1884/", why) == "broker:1884");
  CHECK(server_of_url("mqtt://[::1]", why) == "[::1]:1883");
  CHECK(server_of_url("mqtt://[::1]:7", why) == "[::1]:7");
  for (const char* bad : {"", "broker", "http://b", "mqtt://", "mqtt://:1883", "mqtt://b:0", "mqtt://b:99999",
                          "mqtt://b:x", "mqtt://u:p@b", "mqtt://b/x", "mqtt://::1", "mqtt://a b"}) {
    why.clear();
    CHECK(!server_of_url(bad, why));
    CHECK(why != "");
  }
  CHECK(!server_of_url("mqtts://b", why));
  CHECK(why == "TLS is not spoken here yet, only mqtt://host:port");
}

}  // namespace
}  // namespace leat::net::mqtt::test
