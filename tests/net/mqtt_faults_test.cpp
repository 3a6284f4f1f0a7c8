// SPDX-License-Identifier: BSL-1.0
//
// The client over transports that fail, and servers that go away.
#include <leat/net/mqtt/client.hpp>

#include "net/told_server.hpp"

namespace leat::net::mqtt::test {
namespace {

using namespace std::chrono_literals;

void welcome(stream& peer, const packet& p) {
  if (std::holds_alternative<connect_packet>(p)) told_server::say(peer, connack_packet{});
}
client_options options_for(const told_server& s) {
  client_options o;
  o.server = s.where();
  o.session.client_id = "c";
  o.retry = 1ms;
  return o;
}

// What is written to it, and whether it can be.
struct writing {
  std::atomic<std::size_t> largest{0};
  std::atomic<bool> fails{false};
};
class watched_transport final : public transport {
 public:
  watched_transport(std::unique_ptr<transport> t, writing& w) : inner_(std::move(t)), writing_(w) {}
  std::size_t read_some(mutable_bytes into, std::error_code& ec) override {
    return inner_->read_some(into, ec);
  }
  void write(const_bytes from, std::error_code& ec, deadline until) override {
    if (from.size > writing_.largest) writing_.largest = from.size;
    if (writing_.fails) {
      ec = std::make_error_code(std::errc::timed_out);
      return;
    }
    inner_->write(from, ec, until);
  }
  void shutdown() noexcept override { inner_->shutdown(); }

 private:
  std::unique_ptr<transport> inner_;
  writing& writing_;
};
connector watched_by(writing& w) {
  return [&w](const std::string& server, deadline until) -> std::unique_ptr<transport> {
    return std::make_unique<watched_transport>(connect_tcp(server, until), w);
  };
}

TEST_CASE("a large message goes out in pieces, each with a time of its own") {
  run_clean(with_procs(2), [] {
    told_server server([](stream& peer, const packet& p) {
      welcome(peer, p);
      if (const auto* const m = std::get_if<publish_packet>(&p)) {
        CHECK(m->payload == std::string(300'000, 'x'));
        told_server::say(peer, ack_packet{.id = m->id});
      }
    });
    writing seen;
    client_options o = options_for(server);
    o.connect = watched_by(seen);
    client c(o);
    CHECK(c.publish({.topic = "t", .payload = std::string(300'000, 'x'), .qos = qos::at_least_once},
                    patience) != 0);
    const auto r = c.next_result(patience);
    REQUIRE(r);
    CHECK(r->outcome == publish_outcome::acknowledged);
    CHECK(seen.largest <= 16u << 10);
  });
}

TEST_CASE("a write that fails ends a connection on which nothing is read") {
  run_clean(with_procs(2), [] {
    told_server flood([](stream& peer, const packet& p) {
      welcome(peer, p);
      if (!std::holds_alternative<connect_packet>(p)) return;
      std::string bytes;
      for (int i = 0; i < 20; ++i)
        REQUIRE(encode(publish_packet{.topic = "t", .payload = "x"}, bytes) == nullptr);
      std::error_code gone;
      peer.write(bytes, gone, patience);
    });
    writing seen;
    client_options o = options_for(flood);
    o.session.most_waiting = 2;
    o.connect = watched_by(seen);
    client c(o);
    CHECK(c.receive(patience));
    seen.fails = true;
    CHECK(c.publish({.topic = "t"}, patience) != 0);
    CHECK(eventually([&] {
      seen.fails = flood.connections < 2;
      return flood.connections >= 2;
    }));
  });
}

TEST_CASE("what throws within it is its failure, not silence") {
  run_clean(with_procs(2), [] {
    client_options o;
    o.server = "here:1";
    o.connect = [](const std::string&, deadline) -> std::unique_ptr<transport> {
      throw std::runtime_error("no more of these");
    };
    client c(o);
    CHECK(!c.receive(patience));
    CHECK(c.failure() == "no more of these");
    told_server server(welcome);
    client_options p = options_for(server);
    p.tell = [](const client_news&) { throw std::runtime_error("not now"); };
    client d(p);
    CHECK(!d.receive(patience));
    CHECK(d.failure() == "not now");
    CHECK(!d.online());
  });
}

TEST_CASE("a server that has moved is gone to at once the next time, and left when it is gone") {
  run_clean(with_procs(2), [] {
    // Leaves on a message, and after its first CONNECT.
    std::atomic<int> seen{0};
    told_server there([&seen](stream& peer, const packet& p) {
      welcome(peer, p);
      if (++seen == 1 || std::holds_alternative<publish_packet>(p)) peer.shutdown();
    });
    std::atomic<bool> moved{true};
    const std::string elsewhere = there.where();
    told_server here([&](stream& peer, const packet& p) {
      if (!std::holds_alternative<connect_packet>(p)) return;
      connack_packet go;
      go.reason = reason::server_moved;
      go.properties.set(property_id::server_reference, elsewhere);
      told_server::say(peer, moved ? go : connack_packet{});
    });
    client_options o = options_for(here);
    std::atomic<bool> forbidden{false};
    o.connect = [&](const std::string& server, deadline until) {
      if (forbidden && server == elsewhere)
        throw std::system_error(std::make_error_code(std::errc::host_unreachable), "gone");
      return connect_tcp(server, until);
    };
    client c(o);
    CHECK(eventually([&] { return there.connections == 2 && c.online(); }));
    CHECK(here.connections == 1);
    moved = false;
    forbidden = true;
    CHECK(c.publish({.topic = "t"}, patience) != 0);
    CHECK(eventually([&] { return here.connections == 2 && c.online(); }));
  });
}

TEST_CASE("a subscription that cannot be asked for ends a client that cannot do without, online or not") {
  run_clean(with_procs(2), [] {
    told_server server(welcome);
    client_options o = options_for(server);
    o.give_up_unless_subscribed = true;
    client c(o);
    REQUIRE(c.wait_online(patience));
    c.subscribe({.filter = "a#"});
    CHECK(!c.receive(patience));
    CHECK(c.failure().starts_with("'a#': "));
  });
}

TEST_CASE("a server that is busy is tried again, though one that refuses is not") {
  run_clean(with_procs(2), [] {
    std::atomic<int> tries{0};
    told_server busy([&tries](stream& peer, const packet& p) {
      if (!std::holds_alternative<connect_packet>(p)) return;
      connack_packet no;
      no.reason = ++tries < 3 ? reason::server_busy : reason::banned;
      told_server::say(peer, no);
    });
    client_options o = options_for(busy);
    o.give_up_when_refused = true;
    client c(o);
    CHECK(!c.receive(patience));
    CHECK(c.failure() == "the server refuses: banned");
    CHECK(tries == 3);
  });
}

}  // namespace
}  // namespace leat::net::mqtt::test
