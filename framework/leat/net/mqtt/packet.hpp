// SPDX-License-Identifier: BSL-1.0
//
// The packets of MQTT 5 as plain data, both directions. codec.hpp turns them into bytes and back.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <leat/net/mqtt/properties.hpp>
#include <leat/net/mqtt/reason.hpp>

namespace leat::net::mqtt {

enum class qos : std::uint8_t { at_most_once = 0, at_least_once = 1, exactly_once = 2 };

struct will_message {
  std::string topic = {};
  std::string payload = {};
  mqtt::qos qos = mqtt::qos::at_most_once;
  bool retain = false;
  mqtt::properties properties = {};
  friend bool operator==(const will_message&, const will_message&) = default;
};

struct connect_packet {
  std::string client_id = {};
  bool clean_start = true;
  std::uint16_t keep_alive = 0;  // seconds
  std::optional<will_message> will = {};
  std::optional<std::string> user_name = {};
  std::optional<std::string> password = {};
  mqtt::properties properties = {};
  friend bool operator==(const connect_packet&, const connect_packet&) = default;
};
struct connack_packet {
  bool session_present = false;
  mqtt::reason reason = mqtt::reason::success;
  mqtt::properties properties = {};
  friend bool operator==(const connack_packet&, const connack_packet&) = default;
};
struct publish_packet {
  std::string topic = {};  // empty: the alias says it
  std::string payload = {};
  std::uint16_t id = 0;  // with QoS 1 and 2
  mqtt::qos qos = mqtt::qos::at_most_once;
  bool retain = false;
  bool duplicate = false;
  mqtt::properties properties = {};
  friend bool operator==(const publish_packet&, const publish_packet&) = default;
};
// PUBACK, PUBREC, PUBREL, PUBCOMP.
struct ack_packet {
  packet_type type = packet_type::puback;
  std::uint16_t id = 0;
  mqtt::reason reason = mqtt::reason::success;
  mqtt::properties properties = {};
  friend bool operator==(const ack_packet&, const ack_packet&) = default;
};
enum class retained : std::uint8_t { always = 0, if_new = 1, never = 2 };
struct subscription {
  std::string filter = {};
  mqtt::qos qos = mqtt::qos::at_most_once;
  bool no_local = false;
  bool retain_as_published = false;
  retained retain_handling = retained::always;
  friend bool operator==(const subscription&, const subscription&) = default;
};
struct subscribe_packet {
  std::uint16_t id = 0;
  std::vector<subscription> subscriptions = {};
  mqtt::properties properties = {};
  friend bool operator==(const subscribe_packet&, const subscribe_packet&) = default;
};
struct unsubscribe_packet {
  std::uint16_t id = 0;
  std::vector<std::string> filters = {};
  mqtt::properties properties = {};
  friend bool operator==(const unsubscribe_packet&, const unsubscribe_packet&) = default;
};
// SUBACK and UNSUBACK: one reason for each filter, in their order.
struct suback_packet {
  packet_type type = packet_type::suback;
  std::uint16_t id = 0;
  std::vector<mqtt::reason> reasons = {};
  mqtt::properties properties = {};
  friend bool operator==(const suback_packet&, const suback_packet&) = default;
};
struct pingreq_packet {
  friend bool operator==(const pingreq_packet&, const pingreq_packet&) = default;
};
struct pingresp_packet {
  friend bool operator==(const pingresp_packet&, const pingresp_packet&) = default;
};
// DISCONNECT and AUTH.
struct disconnect_packet {
  packet_type type = packet_type::disconnect;
  mqtt::reason reason = mqtt::reason::success;
  mqtt::properties properties = {};
  friend bool operator==(const disconnect_packet&, const disconnect_packet&) = default;
};

using packet =
    std::variant<connect_packet, connack_packet, publish_packet, ack_packet, subscribe_packet, suback_packet,
                 unsubscribe_packet, pingreq_packet, pingresp_packet, disconnect_packet>;
packet_type type_of(const packet& p) noexcept;

}  // namespace leat::net::mqtt
