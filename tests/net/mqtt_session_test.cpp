// SPDX-License-Identifier: BSL-1.0
#include "net/mqtt_peer.hpp"

namespace leat::net::mqtt::test {
namespace {

using phase = session::phase;

connack_packet connack(const properties& p, bool present = false) {
  return {.session_present = present, .properties = p};
}

TEST_CASE("a connection begins with a CONNECT that says what was asked for") {
  peer p({.client_id = "gateway",
          .clean_start = true,
          .session_expiry = 3600,
          .keep_alive = 20,
          .user_name = "u",
          .password = "secret",
          .will = will_message{.topic = "gone", .payload = "bye"},
          .receive_maximum = 7,
          .maximum_packet_size = 5000,
          .topic_aliases = 3});
  const connect_packet c = p.open();
  CHECK(p.s.at() == phase::online);
  CHECK(c.client_id == "gateway");
  CHECK(c.clean_start);
  CHECK(c.keep_alive == 20);
  CHECK(c.user_name == "u");
  CHECK(c.password == "secret");
  CHECK(c.will->topic == "gone");
  CHECK(c.properties.number(property_id::session_expiry_interval) == 3600u);
  CHECK(c.properties.number(property_id::receive_maximum) == 7u);
  CHECK(c.properties.number(property_id::maximum_packet_size) == 5000u);
  CHECK(c.properties.number(property_id::topic_alias_maximum) == 3u);
  // What the server has kept is asked for from then on.
  p.s.lost();
  CHECK(!p.open().clean_start);
}

TEST_CASE("the server's client identifier and keep-alive are taken") {
  peer p(session_options{});
  p.open(connack(properties()
                     .set(property_id::assigned_client_identifier, "auto-1")
                     .set(property_id::server_keep_alive, 5)));
  CHECK(p.s.client_id() == "auto-1");
  CHECK(p.s.keep_alive() == 5);
  p.s.lost();
  CHECK(p.open().client_id == "auto-1");
}

TEST_CASE("a refusal tells why, and where to go") {
  peer p;
  connack_packet no;
  no.reason = reason::use_another_server;
  no.properties.set(property_id::server_reference, "other:1883").set(property_id::reason_string, "full");
  p.open(no);
  CHECK(p.s.wants_close());
  REQUIRE(p.s.end());
  CHECK(!p.s.end()->refused);
  CHECK(p.s.end()->why == "the server refuses: use another server (full)");
  CHECK(p.s.end()->server_reference == "other:1883");
  CHECK(p.sent().empty());
}

TEST_CASE("a PUBACK is sent when the reader has acknowledged, in the order of receipt") {
  peer p;
  p.open();
  for (std::uint16_t id = 1; id <= 3; ++id) p.publish(id, qos::at_least_once, std::to_string(id));
  const delivery a = p.delivered(), b = p.delivered(), c = p.delivered();
  CHECK(a.message.payload == "1");
  CHECK(p.sent().empty());
  p.s.acknowledge(b.token);
  p.s.acknowledge(c.token);
  CHECK(p.sent().empty());
  p.s.acknowledge(a.token);
  p.s.acknowledge(a.token);
  const auto sent = p.sent();
  REQUIRE(sent.size() == 3);
  for (std::uint16_t i = 0; i < 3; ++i)
    CHECK(std::get<ack_packet>(sent[i]) ==
          ack_packet{.type = packet_type::puback, .id = std::uint16_t(i + 1)});
  CHECK(p.s.unacknowledged() == 0);
}

TEST_CASE("QoS 0 has no acknowledgement") {
  peer p;
  p.open();
  p.publish(0, qos::at_most_once);
  const delivery d = p.delivered();
  CHECK(d.token == 0);
  p.s.acknowledge(d.token);
  CHECK(p.sent().empty());
}

TEST_CASE("QoS 2 is delivered once, and answered in four steps") {
  peer p;
  p.open();
  p.publish(9, qos::exactly_once);
  CHECK(p.sent().empty());
  p.s.acknowledge(p.delivered().token);
  CHECK(p.sent_one<ack_packet>().type == packet_type::pubrec);
  // The PUBREC is lost with its connection.
  p.s.lost();
  p.open(connack({}, true));
  p.publish(9, qos::exactly_once, "x", true);
  CHECK(!p.s.next_delivery());
  CHECK(p.sent_one<ack_packet>().type == packet_type::pubrec);
  p.give(ack_packet{.type = packet_type::pubrel, .id = 9});
  CHECK(p.sent_one<ack_packet>() == ack_packet{.type = packet_type::pubcomp, .id = 9});
  p.give(ack_packet{.type = packet_type::pubrel, .id = 9});
  CHECK(p.sent_one<ack_packet>().reason == reason::packet_identifier_not_found);
  p.publish(9, qos::exactly_once);
  CHECK(p.s.next_delivery());
}

TEST_CASE("what the reader still has when the connection breaks is not delivered twice") {
  peer p;
  p.open();
  p.publish(4, qos::at_least_once, "four");
  p.publish(5, qos::at_least_once, "five");
  const delivery four = p.delivered(), five = p.delivered();
  p.s.lost();
  p.s.acknowledge(five.token);  // while there is no connection
  p.open(connack({}, true));
  CHECK(p.sent().empty());
  p.publish(4, qos::at_least_once, "four", true);
  p.publish(5, qos::at_least_once, "five", true);
  CHECK(!p.s.next_delivery());
  CHECK(p.sent().empty());
  p.s.acknowledge(four.token);
  const auto sent = p.sent();
  REQUIRE(sent.size() == 2);
  CHECK(std::get<ack_packet>(sent[0]).id == 4);
  CHECK(std::get<ack_packet>(sent[1]).id == 5);
}

TEST_CASE("in another session of the server the same identifier is another message") {
  peer p;
  p.open();
  p.publish(4, qos::at_least_once, "old");
  const delivery old = p.delivered();
  p.s.lost();
  p.open(connack({}, false));
  p.publish(4, qos::at_least_once, "new");
  const delivery fresh = p.delivered();
  CHECK(fresh.message.payload == "new");
  p.s.acknowledge(old.token);
  CHECK(p.sent().empty());
  p.s.acknowledge(fresh.token);
  CHECK(p.sent_one<ack_packet>().id == 4);
}

TEST_CASE("no more is published at once than the server's Receive Maximum") {
  peer p;
  p.open(connack(properties().set(property_id::receive_maximum, 2)));
  for (int i = 0; i < 4; ++i) CHECK(p.s.publish(at_least_once("t"), p.now) != 0);
  CHECK(p.s.publish({.topic = "t"}, p.now) != 0);
  auto sent = p.sent();
  REQUIRE(sent.size() == 2);
  CHECK(!p.s.has_output());
  p.give(ack_packet{.id = std::get<publish_packet>(sent[0]).id});
  CHECK(p.s.next_result()->outcome == publish_outcome::acknowledged);
  CHECK(p.sent().size() == 1);
  p.give(ack_packet{.id = std::get<publish_packet>(sent[1]).id, .reason = reason::not_authorized});
  const auto refused = p.s.next_result();
  CHECK(refused->outcome == publish_outcome::refused);
  CHECK(refused->why == "the server refuses the message: not authorized");
  CHECK(p.sent().size() == 2);  // the fourth, and the one without an answer
  CHECK(p.s.next_result()->outcome == publish_outcome::sent);
  CHECK(p.s.unpublished() == 2);
}

TEST_CASE("the queue has an end") {
  peer p({.client_id = "me", .queue = 2});
  CHECK(p.s.publish(at_least_once("a"), p.now) != 0);
  CHECK(p.s.publish(at_least_once("a"), p.now) != 0);
  CHECK(p.s.publish(at_least_once("a"), p.now) == 0);
}

TEST_CASE("what has no answer is sent again: as a duplicate in the same session, anew in another") {
  for (const bool kept : {true, false}) {
    peer p;
    p.open();
    p.s.publish(at_least_once("a"), p.now);
    p.s.publish(at_least_once("b"), p.now);
    const auto first = p.sent();
    REQUIRE(first.size() == 2);
    p.s.publish(at_least_once("c"), p.now);
    p.s.lost();
    p.open(connack({}, kept));
    const auto again = p.sent();
    REQUIRE(again.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& m = std::get<publish_packet>(again[i]);
      CHECK(m.topic == std::string(1, static_cast<char>('a' + i)));
      CHECK(m.duplicate == (kept && i < 2));
      if (i < 2) CHECK(m.id == std::get<publish_packet>(first[i]).id);
      p.give(ack_packet{.id = m.id});
      p.give(ack_packet{.id = m.id});  // a second answer says nothing
    }
    CHECK(p.s.unpublished() == 0);
    CHECK(p.s.at() == phase::online);
  }
}

TEST_CASE("a PINGREQ is due by time and stands before what is queued") {
  peer p({.client_id = "me", .keep_alive = 20});
  p.open();
  for (int i = 0; i < 100; ++i) p.s.publish({.topic = "t", .payload = std::string(1000, 'x')}, p.now);
  CHECK(p.s.due() == p.now + 15s);
  for (int i = 0; i < 14; ++i) {
    p.now += 1s;
    CHECK(p.sent(1).size() == 1);
    p.s.tick(p.now);
  }
  p.now += 1s;  // nothing was heard for that long, though much was sent
  p.s.tick(p.now);
  const auto sent = p.sent(1);
  REQUIRE(!sent.empty());
  CHECK(std::holds_alternative<pingreq_packet>(sent.front()));
  p.give(pingresp_packet{});
  CHECK(p.s.due() == p.now + 15s);
  peer short_one({.client_id = "me", .keep_alive = 1});
  short_one.open();
  CHECK(short_one.s.due() == short_one.now + 750ms);
}

TEST_CASE("a connection on which nothing answers is given up, but not while nothing is read") {
  peer p({.client_id = "me", .keep_alive = 20});
  p.open();
  p.s.pause_reading(true, p.now);
  for (int i = 0; i < 10; ++i) {
    p.now = p.s.due();
    p.s.tick(p.now);
    CHECK(std::holds_alternative<pingreq_packet>(p.sent().at(0)));
  }
  p.s.pause_reading(false, p.now);
  p.now = p.s.due();
  p.s.tick(p.now);
  CHECK(p.sent().size() == 1);
  p.now = p.s.due();
  p.s.tick(p.now);
  CHECK(p.s.end()->code == reason::keep_alive_timeout);
  CHECK(p.sent_one<disconnect_packet>().reason == reason::unspecified_error);  // the other one is a server's
  CHECK(p.s.end()->why == "nothing was heard for 20 s after a PINGREQ");
}

TEST_CASE("a server that does not answer the CONNECT is given up") {
  peer p;
  p.s.open(p.now);
  (void)p.sent();
  p.now += 10s;
  p.s.tick(p.now);
  CHECK(p.s.wants_close());
  CHECK(p.sent().empty());
}

TEST_CASE("topic aliases, both ways") {
  peer p({.client_id = "me", .topic_aliases = 2});
  p.open(connack(properties().set(property_id::topic_alias_maximum, 1)));
  for (int i = 0; i < 2; ++i) p.s.publish({.topic = "long/topic"}, p.now);
  p.s.publish({.topic = "other/topic"}, p.now);
  const auto sent = p.sent();
  REQUIRE(sent.size() == 3);
  CHECK(std::get<publish_packet>(sent[0]).topic == "long/topic");
  CHECK(std::get<publish_packet>(sent[1]).topic.empty());
  CHECK(std::get<publish_packet>(sent[1]).properties.number(property_id::topic_alias) == 1u);
  CHECK(std::get<publish_packet>(sent[2]).topic == "other/topic");

  publish_packet in;
  in.topic = "a";
  in.properties.set(property_id::topic_alias, 2);
  p.give(in);
  in.topic.clear();
  p.give(in);
  CHECK(p.delivered().message.topic == "a");
  CHECK(p.delivered().message.topic == "a");
  in.properties.set(property_id::topic_alias, 3);
  p.give(in);
  CHECK(p.sent_one<disconnect_packet>().reason == reason::topic_alias_invalid);
  // They are gone with the connection.
  p.s.lost();
  p.open();
  in.properties.set(property_id::topic_alias, 2);
  p.give(in);
  CHECK(p.sent_one<disconnect_packet>().reason == reason::protocol_error);
}

TEST_CASE("a message that waited takes what is left of its time along, or is dropped") {
  peer p;
  message m = at_least_once("t");
  m.properties.set(property_id::message_expiry_interval, 10);
  p.s.publish(m, p.now);
  p.now += 4s;
  p.s.publish(m, p.now);
  p.now += 7s;
  p.open();
  const auto sent = p.sent_one<publish_packet>();
  CHECK(sent.properties.number(property_id::message_expiry_interval) == 3u);
  CHECK(p.s.next_result()->outcome == publish_outcome::expired);
}

TEST_CASE("what the server does not take is told, and the rest goes on") {
  peer p;
  p.open(connack(properties()
                     .set(property_id::maximum_packet_size, 50)
                     .set(property_id::maximum_qos, 0)
                     .set(property_id::retain_available, 0)
                     .set(property_id::shared_subscription_available, 0)
                     .set(property_id::wildcard_subscription_available, 0)));
  p.s.publish({.topic = "t", .payload = std::string(100, 'x')}, p.now);
  p.s.publish(at_least_once("t"), p.now);
  p.s.publish({.topic = "t", .retain = true}, p.now);
  p.s.publish({.topic = "t/#"}, p.now);
  p.s.publish({.topic = "t"}, p.now);
  CHECK(p.sent().size() == 1);
  std::vector<reason> codes;
  while (auto r = p.s.next_result()) codes.push_back(r->code);
  CHECK(codes == std::vector<reason>{reason::topic_name_invalid, reason::packet_too_large,
                                     reason::qos_not_supported, reason::retain_not_supported,
                                     reason::success});
  p.s.subscribe({.filter = "$share/g/t"});
  p.s.subscribe({.filter = "t/+"});
  p.s.subscribe({.filter = "t+"});
  CHECK(p.sent().empty());
  CHECK(p.s.next_subscribed()->code == reason::shared_subscriptions_not_supported);
  CHECK(p.s.next_subscribed()->code == reason::wildcard_subscriptions_not_supported);
  CHECK(p.s.next_subscribed()->code == reason::topic_filter_invalid);
}

TEST_CASE("subscriptions are asked for again when the server has lost the session") {
  peer p;
  p.s.subscribe({.filter = "a/#", .qos = qos::at_least_once});
  p.open();
  auto asked = p.sent_one<subscribe_packet>();
  CHECK(asked.subscriptions.at(0).filter == "a/#");
  p.give(suback_packet{.id = asked.id, .reasons = {reason::granted_qos_1}});
  CHECK(p.s.next_subscribed()->code == reason::granted_qos_1);
  p.s.lost();
  p.open(connack({}, true));
  CHECK(p.sent().empty());
  p.s.lost();
  p.open(connack({}, false));
  asked = p.sent_one<subscribe_packet>();
  p.give(suback_packet{.id = asked.id, .reasons = {reason::not_authorized}});
  CHECK(p.s.next_subscribed()->why == "the server refuses the subscription: not authorized");
  p.s.unsubscribe("a/#");
  CHECK(p.sent_one<unsubscribe_packet>().filters == std::vector<std::string>{"a/#"});
}

TEST_CASE("after a CONNECT without an answer, a session that is present may be a new one") {
  peer p;
  p.s.subscribe({.filter = "a"});
  p.open();
  p.give(suback_packet{.id = p.sent_one<subscribe_packet>().id, .reasons = {reason::success}});
  p.publish(3, qos::at_least_once);
  const delivery old = p.delivered();
  p.s.lost();
  p.s.open(p.now);  // the server begins a new session, and its CONNACK is lost
  (void)p.sent();
  p.s.lost();
  p.open(connack({}, true));
  CHECK(p.sent_one<subscribe_packet>().subscriptions.at(0).filter == "a");
  p.s.acknowledge(old.token);
  p.publish(3, qos::at_least_once, "x", true);
  CHECK(p.s.next_delivery());
  CHECK(p.sent().empty());
}

TEST_CASE("what a server may not send ends the connection with the reason for it") {
  const packet wrong[] = {pingreq_packet{}, connack_packet{}, disconnect_packet{.type = packet_type::auth},
                          ack_packet{.type = packet_type::pubrec, .id = 1},
                          subscribe_packet{.id = 1, .subscriptions = {{.filter = "a"}}}};
  for (const packet& w : wrong) {
    peer p;
    p.open();
    p.give(w);
    CHECK(p.sent_one<disconnect_packet>().reason == reason::protocol_error);
  }
  peer p({.client_id = "me", .maximum_packet_size = 100});
  p.open();
  p.publish(0, qos::at_most_once, std::string(200, 'x'));
  CHECK(p.sent_one<disconnect_packet>().reason == reason::packet_too_large);
  peer q;
  q.s.open(q.now);
  (void)q.sent();
  q.publish(0, qos::at_most_once);
  CHECK(q.s.end()->why == "the server begins with a PUBLISH");
}

TEST_CASE("a server's DISCONNECT is told, and the session lives on") {
  peer p;
  p.open();
  p.s.publish(at_least_once("a"), p.now);
  CHECK(p.sent().size() == 1);
  p.give(disconnect_packet{.reason = reason::server_shutting_down});
  CHECK(p.s.wants_close());
  CHECK(p.s.end()->why == "the server ends the connection: server shutting down");
  p.s.lost();
  p.open(connack({}, true));
  CHECK(p.sent_one<publish_packet>().duplicate);
  p.s.disconnect();
  CHECK(p.sent_one<disconnect_packet>().reason == reason::success);
  CHECK(p.s.wants_close());
}

TEST_CASE("bytes may come in any pieces") {
  std::string bytes;
  for (std::uint16_t id = 1; id <= 5; ++id)
    REQUIRE(
        encode(
            publish_packet{.topic = "t", .payload = std::to_string(id), .id = id, .qos = qos::at_least_once},
            bytes) == nullptr);
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    peer p;
    p.open();
    for (std::size_t at = 0; at < bytes.size(); at += step)
      p.s.receive(std::string_view(bytes).substr(at, step), p.now);
    for (int id = 1; id <= 5; ++id) CHECK(p.delivered().message.payload == std::to_string(id));
  }
}

}  // namespace
}  // namespace leat::net::mqtt::test
