// SPDX-License-Identifier: BSL-1.0
//
// A session of the client and the packets that a server would see and send: no network, no time of its own.
#pragma once
#include <doctest/doctest.h>

#include <leat/net/mqtt/codec.hpp>
#include <leat/net/mqtt/session.hpp>

namespace leat::net::mqtt::test {

using namespace std::chrono_literals;

// Takes whole packets off the front of the bytes.
inline std::vector<packet> packets_in(std::string& bytes) {
  std::vector<packet> all;
  for (;;) {
    decoded d = decode(bytes);
    REQUIRE(d.status != decode_status::malformed);
    if (d.status == decode_status::incomplete) return all;
    bytes.erase(0, d.size);
    all.push_back(std::move(d.packet));
  }
}

struct peer {
  time_point now = from_ns(1'000'000'000'000);
  session s;

  explicit peer(session_options o = {.client_id = "me"}) : s(std::move(o)) {}

  std::vector<packet> sent(std::size_t most = 1 << 20) {
    std::string out;
    (void)s.take_output(out, most, now);
    return packets_in(out);
  }
  template <class P>
  P sent_one() {
    const std::vector<packet> all = sent();
    REQUIRE(all.size() == 1);
    REQUIRE(std::holds_alternative<P>(all.front()));
    return std::get<P>(all.front());
  }
  void give(const packet& p) {
    std::string bytes;
    REQUIRE(encode(p, bytes) == nullptr);
    s.receive(bytes, now);
  }
  connect_packet open(const connack_packet& answer = {}) {
    s.open(now);
    auto c = sent_one<connect_packet>();
    give(answer);
    return c;
  }
  void publish(std::uint16_t id, qos q, const std::string& payload = "x", bool duplicate = false) {
    publish_packet p;
    p.topic = "t";
    p.payload = payload;
    p.id = id;
    p.qos = q;
    p.duplicate = duplicate;
    give(p);
  }
  delivery delivered() {
    auto d = s.next_delivery();
    REQUIRE(d);
    return *d;
  }
};

inline message at_least_once(std::string topic, std::string payload = "x") {
  return {.topic = std::move(topic), .payload = std::move(payload), .qos = qos::at_least_once};
}

}  // namespace leat::net::mqtt::test
