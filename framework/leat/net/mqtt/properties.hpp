// SPDX-License-Identifier: BSL-1.0
//
// The properties of MQTT 5 packets (2.2.2). What each is, where it may stand and which values it takes is one
// table, in properties.cpp; the codec has no other knowledge of them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/net/mqtt/reason.hpp>

namespace leat::net::mqtt {

enum class property_id : std::uint8_t {
  payload_format_indicator = 0x01,
  message_expiry_interval = 0x02,
  content_type = 0x03,
  response_topic = 0x08,
  correlation_data = 0x09,
  subscription_identifier = 0x0B,
  session_expiry_interval = 0x11,
  assigned_client_identifier = 0x12,
  server_keep_alive = 0x13,
  authentication_method = 0x15,
  authentication_data = 0x16,
  request_problem_information = 0x17,
  will_delay_interval = 0x18,
  request_response_information = 0x19,
  response_information = 0x1A,
  server_reference = 0x1C,
  reason_string = 0x1F,
  receive_maximum = 0x21,
  topic_alias_maximum = 0x22,
  topic_alias = 0x23,
  maximum_qos = 0x24,
  retain_available = 0x25,
  user_property = 0x26,
  maximum_packet_size = 0x27,
  wildcard_subscription_available = 0x28,
  subscription_identifier_available = 0x29,
  shared_subscription_available = 0x2A,
};

// Which of the members counts is said by the table.
struct property {
  property_id id = property_id::user_property;
  std::uint32_t number = 0;
  std::string text = {};   // a text, bytes, or the name of a user property
  std::string value = {};  // of a user property

  friend bool operator==(const property&, const property&) = default;
};

// In the order of the packet.
class properties {
 public:
  std::optional<std::uint32_t> number(property_id id) const noexcept;
  const std::string* text(property_id id) const noexcept;  // null: not there

  // Replaces one that is there, but for user properties and subscription identifiers.
  properties& set(property_id id, std::uint32_t n);
  properties& set(property_id id, std::string text);
  properties& add_user(std::string name, std::string value);
  void erase(property_id id) noexcept;

  bool empty() const noexcept { return all_.empty(); }
  const std::vector<property>& all() const noexcept { return all_; }
  // As read: nothing is looked at.
  void append(property p) { all_.push_back(std::move(p)); }

  friend bool operator==(const properties&, const properties&) = default;

 private:
  property& place(property_id id);
  std::vector<property> all_;
};

// Where properties stand. A will's are in a CONNECT, apart from the packet's own.
enum class property_place : std::uint8_t { packet, will };

enum class property_kind : std::uint8_t { byte, two_bytes, four_bytes, variable, text, binary, pair };

struct property_rule {
  property_id id;
  property_kind kind;
  std::uint32_t packets;  // bit packet_type; bit 0: a will
  std::uint32_t least, most;
  bool repeats;
};
// Null: there is no such property.
const property_rule* rule_of(std::uint32_t id) noexcept;
bool may_stand(const property_rule& r, packet_type t, property_place where) noexcept;

}  // namespace leat::net::mqtt
