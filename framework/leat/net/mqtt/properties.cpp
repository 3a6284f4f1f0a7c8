// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/properties.hpp>

#include <algorithm>
#include <utility>

namespace leat::net::mqtt {
namespace {

constexpr std::uint32_t in(packet_type t) noexcept { return 1u << static_cast<unsigned>(t); }

constexpr std::uint32_t will = 1u, connect = in(packet_type::connect), connack = in(packet_type::connack),
                        publish = in(packet_type::publish), subscribe = in(packet_type::subscribe),
                        disconnect = in(packet_type::disconnect), auth = in(packet_type::auth);
constexpr std::uint32_t acks = in(packet_type::puback) | in(packet_type::pubrec) | in(packet_type::pubrel) |
                               in(packet_type::pubcomp) | in(packet_type::suback) | in(packet_type::unsuback);
constexpr std::uint32_t everywhere =
    will | connect | connack | publish | acks | subscribe | in(packet_type::unsubscribe) | disconnect | auth;
constexpr std::uint32_t any16 = 0xFFFF, any32 = 0xFFFF'FFFF, most_variable = 268'435'455;

// 2.2.2.2, table 2-4; the limits are those of the packets' own sections.
constexpr property_rule rules[] = {
    {property_id::payload_format_indicator, property_kind::byte, publish | will, 0, 1, false},
    {property_id::message_expiry_interval, property_kind::four_bytes, publish | will, 0, any32, false},
    {property_id::content_type, property_kind::text, publish | will, 0, 0, false},
    {property_id::response_topic, property_kind::text, publish | will, 0, 0, false},
    {property_id::correlation_data, property_kind::binary, publish | will, 0, 0, false},
    {property_id::subscription_identifier, property_kind::variable, publish | subscribe, 1, most_variable,
     true},
    {property_id::session_expiry_interval, property_kind::four_bytes, connect | connack | disconnect, 0,
     any32, false},
    {property_id::assigned_client_identifier, property_kind::text, connack, 0, 0, false},
    {property_id::server_keep_alive, property_kind::two_bytes, connack, 0, any16, false},
    {property_id::authentication_method, property_kind::text, connect | connack | auth, 0, 0, false},
    {property_id::authentication_data, property_kind::binary, connect | connack | auth, 0, 0, false},
    {property_id::request_problem_information, property_kind::byte, connect, 0, 1, false},
    {property_id::will_delay_interval, property_kind::four_bytes, will, 0, any32, false},
    {property_id::request_response_information, property_kind::byte, connect, 0, 1, false},
    {property_id::response_information, property_kind::text, connack, 0, 0, false},
    {property_id::server_reference, property_kind::text, connack | disconnect, 0, 0, false},
    {property_id::reason_string, property_kind::text, connack | acks | disconnect | auth, 0, 0, false},
    {property_id::receive_maximum, property_kind::two_bytes, connect | connack, 1, any16, false},
    {property_id::topic_alias_maximum, property_kind::two_bytes, connect | connack, 0, any16, false},
    {property_id::topic_alias, property_kind::two_bytes, publish, 1, any16, false},
    {property_id::maximum_qos, property_kind::byte, connack, 0, 1, false},
    {property_id::retain_available, property_kind::byte, connack, 0, 1, false},
    {property_id::user_property, property_kind::pair, everywhere, 0, 0, true},
    {property_id::maximum_packet_size, property_kind::four_bytes, connect | connack, 1, any32, false},
    {property_id::wildcard_subscription_available, property_kind::byte, connack, 0, 1, false},
    {property_id::subscription_identifier_available, property_kind::byte, connack, 0, 1, false},
    {property_id::shared_subscription_available, property_kind::byte, connack, 0, 1, false},
};

}  // namespace

const property_rule* rule_of(std::uint32_t id) noexcept {
  for (const property_rule& r : rules)
    if (static_cast<std::uint32_t>(r.id) == id) return &r;
  return nullptr;
}

bool may_stand(const property_rule& r, packet_type t, property_place where) noexcept {
  return (r.packets & (where == property_place::will ? will : in(t))) != 0;
}

std::optional<std::uint32_t> properties::number(property_id id) const noexcept {
  for (const property& p : all_)
    if (p.id == id) return p.number;
  return {};
}

const std::string* properties::text(property_id id) const noexcept {
  for (const property& p : all_)
    if (p.id == id) return &p.text;
  return nullptr;
}

property& properties::place(property_id id) {
  const property_rule* const rule = rule_of(static_cast<std::uint32_t>(id));
  if (!rule || !rule->repeats)
    for (property& p : all_)
      if (p.id == id) return p;
  all_.push_back({.id = id});
  return all_.back();
}

properties& properties::set(property_id id, std::uint32_t n) {
  place(id).number = n;
  return *this;
}
properties& properties::set(property_id id, std::string text) {
  place(id).text = std::move(text);
  return *this;
}
properties& properties::add_user(std::string name, std::string value) {
  property& p = place(property_id::user_property);
  p.text = std::move(name);
  p.value = std::move(value);
  return *this;
}
void properties::erase(property_id id) noexcept {
  std::erase_if(all_, [id](const property& p) { return p.id == id; });
}

}  // namespace leat::net::mqtt
