// SPDX-License-Identifier: BSL-1.0
//
// What a session holds has an end, whatever its server and its user do; and what no server takes is not sent.
#include <algorithm>
#include <stdexcept>

#include "net/mqtt_peer.hpp"

namespace leat::net::mqtt::test {
namespace {

using phase = session::phase;

connack_packet present() { return {.session_present = true}; }

std::string publish_bytes(const publish_packet& p, int times) {
  std::string one, all;
  REQUIRE(encode(p, one) == nullptr);
  for (int i = 0; i < times; ++i) all += one;
  return all;
}

TEST_CASE("a server that oversteps the Receive Maximum is slowed down, not left") {
  peer p({.client_id = "me", .receive_maximum = 3});
  p.open();
  std::string bytes;
  for (std::uint16_t id = 1; id <= 40; ++id)
    REQUIRE(encode(publish_packet{.topic = "t",
                                  .payload = std::to_string(id),
                                  .id = id,
                                  .qos = id % 2 == 0 ? qos::at_least_once : qos::exactly_once},
                   bytes) == nullptr);
  p.s.receive(bytes, p.now);
  for (int id = 1; id <= 40; ++id) {
    CHECK(p.s.unacknowledged() == std::min<std::size_t>(3, static_cast<std::size_t>(41 - id)));
    CHECK(p.s.stalled() == (id <= 37));
    const delivery d = p.delivered();
    CHECK(d.message.payload == std::to_string(id));
    p.s.acknowledge(d.token);
    CHECK(!p.s.stalled());
    p.s.receive({}, p.now);
    CHECK(p.sent().size() == 1);
  }
  CHECK(p.s.at() == phase::online);
}

TEST_CASE("answers pass while the reader has all that it may have") {
  peer p({.client_id = "me", .receive_maximum = 1});
  p.open();
  p.s.publish(at_least_once("t"), p.now);
  const auto out = p.sent_one<publish_packet>();
  p.publish(1, qos::at_least_once);
  p.give(ack_packet{.id = out.id});
  CHECK(p.s.next_result());
  CHECK(!p.s.stalled());
}

TEST_CASE("what waits for the reader is bounded by number, and by the bytes that it takes") {
  peer few({.client_id = "me", .most_waiting = 4});
  few.open();
  few.s.receive(publish_bytes({.topic = "t"}, 100), few.now);
  CHECK(few.s.deliveries() == 4);
  int n = 0;
  for (; few.s.next_delivery(); ++n) few.s.receive({}, few.now);
  CHECK(n == 100);

  // Each packet has a few bytes, and what it stands for many.
  peer p;
  p.open();
  publish_packet m{.topic = std::string(60'000, 't')};
  m.properties.set(property_id::topic_alias, 1);
  p.give(m);
  m.topic.clear();
  p.s.receive(publish_bytes(m, 500), p.now);
  CHECK(p.s.stalled());
  CHECK(p.s.deliveries() <= (4u << 20) / 60'000 + 1);
  for (n = 0; p.s.next_delivery(); ++n) p.s.receive({}, p.now);
  CHECK(n == 501);

  publish_packet fat{.topic = "t"};
  for (int i = 0; i < 10'000; ++i) fat.properties.add_user("", "");
  peer q;
  q.open();
  q.s.receive(publish_bytes(fat, 100), q.now);
  CHECK(q.s.deliveries() <= (4u << 20) / (10'000 * sizeof(property)) + 1);
}

TEST_CASE("one message is taken, however large it is") {
  peer p({.client_id = "me", .most_waiting_bytes = 10});
  p.open();
  for (std::uint16_t id = 1; id <= 2; ++id) p.publish(id, qos::at_least_once, std::string(1000, 'x'));
  CHECK(p.s.deliveries() == 1);
  CHECK(p.delivered().message.payload.size() == 1000);
  p.s.receive({}, p.now);
  CHECK(p.delivered().message.payload.size() == 1000);
}

TEST_CASE("a server that reads no answers is not read either") {
  peer p;
  p.open();
  std::string bytes;
  for (int i = 0; i < 100'000; ++i)
    REQUIRE(encode(ack_packet{.type = packet_type::pubrel, .id = 1}, bytes) == nullptr);
  p.s.receive(bytes, p.now);
  std::size_t answers = 0;
  int rounds = 0;
  for (;; ++rounds) {
    std::string out;
    const bool stalled = p.s.stalled();
    if (!p.s.take_output(out, 0, p.now)) break;
    CHECK(out.size() < 70'000);
    answers += packets_in(out).size();
    CHECK(!p.s.stalled());
    if (stalled) p.s.receive({}, p.now);
  }
  CHECK(rounds > 5);
  CHECK(answers == 100'000);
}

TEST_CASE("an identifier that the server gave to another message answers for that one alone") {
  // It dropped "old" while we were away, and "new" has come on this connection.
  peer p;
  p.open();
  p.publish(4, qos::at_least_once, "old");
  p.s.acknowledge(p.delivered().token);
  p.s.lost();
  p.open(present());
  p.publish(4, qos::at_least_once, "new");
  const delivery fresh = p.delivered();
  p.s.lost();
  p.open(present());
  p.publish(4, qos::at_least_once, "new", true);
  CHECK(!p.s.next_delivery());
  CHECK(p.sent().empty());
  p.s.acknowledge(fresh.token);
  CHECK(p.sent_one<ack_packet>().id == 4);

  // The same, and the first sending of "new" was lost.
  peer q;
  q.open();
  q.publish(4, qos::at_least_once, "old");
  const delivery old = q.delivered();
  q.s.lost();
  q.s.acknowledge(old.token);
  q.open(present());
  q.publish(4, qos::at_least_once, "new", true);
  CHECK(q.sent().empty());
  CHECK(q.delivered().message.payload == "new");
}

TEST_CASE("an UNSUBSCRIBE is kept until it is answered") {
  peer p;
  p.s.subscribe({.filter = "a"});
  p.open();
  p.give(suback_packet{.id = p.sent_one<subscribe_packet>().id, .reasons = {reason::success}});
  p.s.unsubscribe("a");
  (void)p.sent_one<unsubscribe_packet>();
  p.s.lost();
  p.open(present());
  const auto again = p.sent_one<unsubscribe_packet>();
  CHECK(again.filters == std::vector<std::string>{"a"});
  const auto done = [](std::uint16_t id) {
    return suback_packet{.type = packet_type::unsuback, .id = id, .reasons = {reason::success}};
  };
  p.give(done(again.id));
  p.s.lost();
  p.open(present());
  CHECK(p.sent().empty());

  // An answer to nothing frees no identifier that somebody has.
  p.s.publish(at_least_once("t"), p.now);
  const auto m = p.sent_one<publish_packet>();
  p.give(done(m.id));
  for (int i = 0; i < 70'000; ++i) {
    p.s.unsubscribe("x");
    const auto u = p.sent_one<unsubscribe_packet>();
    if (u.id == m.id) FAIL("an identifier that is in use was given again");
    p.give(done(u.id));
  }

  // Subscribed to again: what is sent on the next connection is that alone.
  p.s.unsubscribe("b");
  p.s.subscribe({.filter = "b"});
  CHECK(p.sent().size() == 2);
  p.s.lost();
  p.open(present());
  const auto sent = p.sent();
  REQUIRE(sent.size() == 2);
  CHECK(std::get<subscribe_packet>(sent[0]).subscriptions.at(0).filter == "b");
  CHECK(std::get<publish_packet>(sent[1]).duplicate);

  p.s.unsubscribe("no#filter");
  CHECK(p.sent().empty());
}

TEST_CASE("a message that no server takes is refused here, and not sent again and again") {
  std::vector<message> bad(8, at_least_once("t"));
  bad[0].properties.set(property_id::receive_maximum, 3);
  bad[1].properties.set(property_id::content_type, "\xff");
  bad[2].properties.set(property_id::response_topic, "a/+");
  bad[3].properties.add_user("k", std::string("a\0b", 3));
  bad[4].properties.set(property_id::payload_format_indicator, 2);
  bad[5].properties.set(property_id::topic_alias, 1);
  bad[6].properties.set(property_id::subscription_identifier, 1);
  bad[7].properties.set(property_id::payload_format_indicator, 1);
  bad[7].payload = "\xff";
  peer p;
  p.open();
  for (const message& m : bad) {
    CHECK(p.s.publish(m, p.now) != 0);
    const auto r = p.s.next_result();
    REQUIRE(r);
    CHECK(r->outcome == publish_outcome::refused);
    CHECK(r->why != "");
  }
  CHECK(p.sent().empty());
}

TEST_CASE("options that no CONNECT can say are refused at once") {
  const auto with = [](auto change) {
    session_options o{.client_id = "me"};
    o.will = will_message{.topic = "gone"};
    change(o);
    return o;
  };
  CHECK_NOTHROW(session(with([](session_options&) {})));
  const session_options bad[] = {
      with([](session_options& o) { o.client_id = "\xff"; }),
      with([](session_options& o) { o.user_name = std::string(1, '\0'); }),
      with([](session_options& o) { o.will->topic = "a/#"; }),
      with([](session_options& o) { o.will->payload.resize(70'000); }),
      with([](session_options& o) { o.will->properties.set(property_id::topic_alias, 1); }),
      with([](session_options& o) { o.connect_properties.set(property_id::topic_alias, 1); }),
      with([](session_options& o) { o.connect_properties.set(property_id::authentication_method, "x"); }),
  };
  for (const session_options& o : bad) CHECK_THROWS_AS(session{o}, std::invalid_argument);
}

TEST_CASE("a subscription that is too large for the server is refused, and the connection stays") {
  peer p;
  p.s.subscribe({.filter = std::string(100, 'x')});
  connack_packet small;
  small.properties.set(property_id::maximum_packet_size, 50);
  p.open(small);
  p.s.unsubscribe(std::string(100, 'y'));
  CHECK(p.s.at() == phase::online);
  CHECK(p.sent().empty());
  CHECK(p.s.next_subscribed()->code == reason::packet_too_large);
}

TEST_CASE("answers that nobody takes do not pile up") {
  peer p({.client_id = "me", .queue = 2});
  p.open();
  for (int i = 0; i < 100; ++i) {
    CHECK(p.s.publish({.topic = "t"}, p.now) != 0);
    (void)p.sent();
    p.s.subscribe({.filter = "f"});
    p.give(suback_packet{.id = p.sent_one<subscribe_packet>().id, .reasons = {reason::success}});
  }
  int results = 0, subscribed = 0;
  while (p.s.next_result()) ++results;
  while (p.s.next_subscribed()) ++subscribed;
  CHECK(results == 4);
  CHECK(subscribed == 1);
}

TEST_CASE("only refusals that last are told as such") {
  for (const reason r : {reason::unsupported_protocol_version, reason::client_identifier_not_valid,
                         reason::bad_user_name_or_password, reason::not_authorized, reason::banned,
                         reason::bad_authentication_method, reason::server_busy, reason::server_unavailable,
                         reason::quota_exceeded, reason::connection_rate_exceeded}) {
    peer p;
    p.open({.reason = r});
    REQUIRE(p.s.end());
    CHECK(p.s.end()->by_server);
    CHECK(p.s.end()->refused == (r <= reason::bad_authentication_method && r != reason::server_busy &&
                                 r != reason::server_unavailable));
  }
}

TEST_CASE("a DISCONNECT has no reason that is a server's") {
  peer p;
  p.open();
  p.s.receive(std::string("\x82\x08\x00\x01\x00\x00\x02"
                          "a#\x00",
                          10),
              p.now);
  CHECK(p.s.end()->code == reason::topic_filter_invalid);
  CHECK(p.sent_one<disconnect_packet>().reason == reason::protocol_error);
}

}  // namespace
}  // namespace leat::net::mqtt::test
