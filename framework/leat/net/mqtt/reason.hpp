// SPDX-License-Identifier: BSL-1.0
//
// The reason codes of MQTT 5 (2.4), and which packets may carry which.
#pragma once
#include <cstdint>

namespace leat::net::mqtt {

// As in the first four bits of a packet (2.1.2).
enum class packet_type : std::uint8_t {
  connect = 1,
  connack,
  publish,
  puback,
  pubrec,
  pubrel,
  pubcomp,
  subscribe,
  suback,
  unsubscribe,
  unsuback,
  pingreq,
  pingresp,
  disconnect,
  auth,
};
const char* to_string(packet_type t) noexcept;  // "PUBLISH"

enum class reason : std::uint8_t {
  success = 0x00,  // also: normal disconnection, granted QoS 0
  granted_qos_1 = 0x01,
  granted_qos_2 = 0x02,
  disconnect_with_will = 0x04,
  no_matching_subscribers = 0x10,
  no_subscription_existed = 0x11,
  continue_authentication = 0x18,
  re_authenticate = 0x19,
  unspecified_error = 0x80,
  malformed_packet = 0x81,
  protocol_error = 0x82,
  implementation_specific_error = 0x83,
  unsupported_protocol_version = 0x84,
  client_identifier_not_valid = 0x85,
  bad_user_name_or_password = 0x86,
  not_authorized = 0x87,
  server_unavailable = 0x88,
  server_busy = 0x89,
  banned = 0x8A,
  server_shutting_down = 0x8B,
  bad_authentication_method = 0x8C,
  keep_alive_timeout = 0x8D,
  session_taken_over = 0x8E,
  topic_filter_invalid = 0x8F,
  topic_name_invalid = 0x90,
  packet_identifier_in_use = 0x91,
  packet_identifier_not_found = 0x92,
  receive_maximum_exceeded = 0x93,
  topic_alias_invalid = 0x94,
  packet_too_large = 0x95,
  message_rate_too_high = 0x96,
  quota_exceeded = 0x97,
  administrative_action = 0x98,
  payload_format_invalid = 0x99,
  retain_not_supported = 0x9A,
  qos_not_supported = 0x9B,
  use_another_server = 0x9C,
  server_moved = 0x9D,
  shared_subscriptions_not_supported = 0x9E,
  connection_rate_exceeded = 0x9F,
  maximum_connect_time = 0xA0,
  subscription_identifiers_not_supported = 0xA1,
  wildcard_subscriptions_not_supported = 0xA2,
};
// "not authorized"; for a byte that is none of them "an unknown reason".
const char* to_string(reason r) noexcept;
constexpr bool is_error(reason r) noexcept { return static_cast<std::uint8_t>(r) >= 0x80; }
// Whether the standard lets this packet carry it.
bool may_carry(packet_type t, std::uint8_t reason_byte) noexcept;

}  // namespace leat::net::mqtt
