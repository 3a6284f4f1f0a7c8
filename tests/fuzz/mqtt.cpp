// SPDX-License-Identifier: BSL-1.0
//
// Any bytes read as a packet of MQTT: what is accepted is written, and read back as the same packet; no piece of it is
// taken for all of it. And any bytes given to a session, in pieces: it ends the connection or goes on, and never holds
// more than was agreed on. Or to one that waits for its CONNACK, and half of them on the next connection.
#include <leat/net/mqtt/codec.hpp>
#include <leat/net/mqtt/session.hpp>

#include "fuzz/fuzz.hpp"
#include "net/mqtt_cases.hpp"

#include <algorithm>

namespace leat::fuzz {
namespace {

namespace mqtt = net::mqtt;

void read_packet(std::string_view input) {
  const mqtt::decoded d = mqtt::decode(input, 1 << 20);
  if (d.status == mqtt::decode_status::malformed)
    return require(*d.why != 0 && mqtt::is_error(d.code), "a refusal has a reason");
  if (d.status == mqtt::decode_status::incomplete)
    return require(d.size > input.size() && d.size <= (1 << 20), "what is waited for is more than is there");
  require(d.size <= input.size(), "a packet ends within what was given");
  for (const std::size_t n : {std::size_t{0}, d.size / 2, d.size - 1})
    require(mqtt::decode(input.substr(0, n), 1 << 20).status == mqtt::decode_status::incomplete,
            "a piece of a packet is not a packet");
  std::string written;
  require(mqtt::encode(d.packet, written) == nullptr, "what was read can be written");
  const mqtt::decoded again = mqtt::decode(written);
  require(again.status == mqtt::decode_status::complete && again.size == written.size(),
          "what was written is a packet");
  require(again.packet == d.packet, "and the same one");
}

void drive_session(std::string_view input) {
  mqtt::session s({.receive_maximum = 3, .maximum_packet_size = 200, .topic_aliases = 2});
  time_point now = from_ns(1'000'000'000);
  s.open(now);
  s.subscribe({.filter = "a/#"});
  (void)s.publish({.topic = "t", .payload = "x", .qos = mqtt::qos::at_least_once}, now);
  s.receive(net::mqtt::test::bytes_of("20 06 00 00 03 12 0000"), now);
  const std::size_t step = 1 + input.size() / 7;
  for (; !input.empty() && s.at() == mqtt::session::phase::online;
       input.remove_prefix(std::min(step, input.size()))) {
    now += std::chrono::seconds(1);
    s.receive(input.substr(0, step), now);
    std::string out;
    (void)s.take_output(out, 100, now);
    require(s.unacknowledged() <= 3, "what is in flight is bounded");
    while (auto d = s.next_delivery())
      if (d->message.payload.size() % 2 == 0) s.acknowledge(d->token);
    s.tick(now);
  }
  s.lost();
}

void drive_connections(std::string_view input) {
  mqtt::session s({.client_id = "me", .receive_maximum = 3, .maximum_packet_size = 200, .queue = 4});
  time_point now = from_ns(1'000'000'000);
  s.subscribe({.filter = "a/#"});
  std::string out;
  for (const std::string_view part : {input.substr(0, input.size() / 2), input.substr(input.size() / 2)}) {
    const bool first = part.data() == input.data();
    s.open(now);
    (void)s.take_output(out, 1000, now);
    if (!first) s.receive(mqtt::test::bytes_of("20 03 01 00 00"), now);
    for (int i = 0; i < 3; ++i)
      (void)s.publish({.topic = "topic", .payload = "x", .qos = mqtt::qos::at_least_once}, now);
    s.receive(part, now);
    s.unsubscribe("a/#");
    if (!first) s.subscribe({.filter = "a/#"});
    (void)s.take_output(out, 1000, now);
    while (auto d = s.next_delivery()) {
      if (d->message.payload.size() % 2 == 0) s.acknowledge(d->token);
      s.receive({}, now);
      require(s.unacknowledged() <= 3, "what is in flight is bounded");
    }
    now += std::chrono::seconds(1);
    s.tick(now);
    s.lost();
  }
  require(s.unpublished() <= 4, "what waits is bounded");
}

void run_mqtt(std::string_view input) {
  const unsigned which = choice(input, 3);
  if (which == 1) return drive_session(input);
  if (which == 2) return drive_connections(input);
  read_packet(input);
}

inputs mqtt_seeds() {
  inputs all;
  for (const std::string_view hex : mqtt::test::good_packets) {
    all.push_back(chosen(0, mqtt::test::bytes_of(hex)));
    all.push_back(chosen(1, mqtt::test::bytes_of(hex)));
    all.push_back(chosen(2, mqtt::test::bytes_of(hex)));
  }
  for (const mqtt::test::bad_packet& b : mqtt::test::bad_packets)
    all.push_back(chosen(0, mqtt::test::bytes_of(b.hex)));
  all.push_back(
      chosen(1, mqtt::test::bytes_of("32 08 0003 612F62 000A 00 34 08 0003 612F62 000B 00 62 02 000B")));
  // A CONNACK and two messages; both again, and the answers to what is published.
  all.push_back(chosen(
      2, mqtt::test::bytes_of("20 06 00 00 03 21 0002 32 08 0003 612F62 000A 00 32 08 0003 612F62 000B 00"
                              "3A 08 0003 612F62 000A 00 3A 08 0003 612F62 000B 00 40 02 0001")));
  return all;
}

LEAT_FUZZ_TARGET("mqtt", run_mqtt, mqtt_seeds);

}  // namespace
}  // namespace leat::fuzz
