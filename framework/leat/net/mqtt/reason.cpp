// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/reason.hpp>

namespace leat::net::mqtt {
namespace {

constexpr unsigned bit(packet_type t) noexcept { return 1u << static_cast<unsigned>(t); }

constexpr unsigned conn = bit(packet_type::connack), puback = bit(packet_type::puback),
                   pubrec = bit(packet_type::pubrec), pubrel = bit(packet_type::pubrel),
                   pubcomp = bit(packet_type::pubcomp), sub = bit(packet_type::suback),
                   unsub = bit(packet_type::unsuback), disc = bit(packet_type::disconnect),
                   auth = bit(packet_type::auth);
constexpr unsigned received = puback | pubrec;

struct known_reason {
  reason code;
  unsigned in;
  const char* text;
};

// 2.4, table 2-6.
constexpr known_reason all_reasons[] = {
    {reason::success, conn | received | pubrel | pubcomp | sub | unsub | disc | auth, "success"},
    {reason::granted_qos_1, sub, "granted QoS 1"},
    {reason::granted_qos_2, sub, "granted QoS 2"},
    {reason::disconnect_with_will, disc, "disconnect with will message"},
    {reason::no_matching_subscribers, received, "no matching subscribers"},
    {reason::no_subscription_existed, unsub, "no subscription existed"},
    {reason::continue_authentication, auth, "continue authentication"},
    {reason::re_authenticate, auth, "re-authenticate"},
    {reason::unspecified_error, conn | received | sub | unsub | disc, "unspecified error"},
    {reason::malformed_packet, conn | disc, "malformed packet"},
    {reason::protocol_error, conn | disc, "protocol error"},
    {reason::implementation_specific_error, conn | received | sub | unsub | disc,
     "implementation specific error"},
    {reason::unsupported_protocol_version, conn, "unsupported protocol version"},
    {reason::client_identifier_not_valid, conn, "client identifier not valid"},
    {reason::bad_user_name_or_password, conn, "bad user name or password"},
    {reason::not_authorized, conn | received | sub | unsub | disc, "not authorized"},
    {reason::server_unavailable, conn, "server unavailable"},
    {reason::server_busy, conn | disc, "server busy"},
    {reason::banned, conn, "banned"},
    {reason::server_shutting_down, disc, "server shutting down"},
    {reason::bad_authentication_method, conn | disc, "bad authentication method"},
    {reason::keep_alive_timeout, disc, "keep alive timeout"},
    {reason::session_taken_over, disc, "session taken over"},
    {reason::topic_filter_invalid, sub | unsub | disc, "topic filter invalid"},
    {reason::topic_name_invalid, conn | received | disc, "topic name invalid"},
    {reason::packet_identifier_in_use, received | sub | unsub, "packet identifier in use"},
    {reason::packet_identifier_not_found, pubrel | pubcomp, "packet identifier not found"},
    {reason::receive_maximum_exceeded, disc, "receive maximum exceeded"},
    {reason::topic_alias_invalid, disc, "topic alias invalid"},
    {reason::packet_too_large, conn | disc, "packet too large"},
    {reason::message_rate_too_high, disc, "message rate too high"},
    {reason::quota_exceeded, conn | received | sub | disc, "quota exceeded"},
    {reason::administrative_action, disc, "administrative action"},
    {reason::payload_format_invalid, conn | received | disc, "payload format invalid"},
    {reason::retain_not_supported, conn | disc, "retain not supported"},
    {reason::qos_not_supported, conn | disc, "QoS not supported"},
    {reason::use_another_server, conn | disc, "use another server"},
    {reason::server_moved, conn | disc, "server moved"},
    {reason::shared_subscriptions_not_supported, sub | disc, "shared subscriptions not supported"},
    {reason::connection_rate_exceeded, conn | disc, "connection rate exceeded"},
    {reason::maximum_connect_time, disc, "maximum connect time"},
    {reason::subscription_identifiers_not_supported, sub | disc, "subscription identifiers not supported"},
    {reason::wildcard_subscriptions_not_supported, sub | disc, "wildcard subscriptions not supported"},
};

const known_reason* find_reason(std::uint8_t byte) noexcept {
  for (const known_reason& r : all_reasons)
    if (static_cast<std::uint8_t>(r.code) == byte) return &r;
  return nullptr;
}

}  // namespace

const char* to_string(reason r) noexcept {
  const known_reason* const known = find_reason(static_cast<std::uint8_t>(r));
  return known ? known->text : "an unknown reason";
}

bool may_carry(packet_type t, std::uint8_t reason_byte) noexcept {
  const known_reason* const known = find_reason(reason_byte);
  return known && (known->in & bit(t)) != 0;
}

const char* to_string(packet_type t) noexcept {
  constexpr const char* names[] = {"?",       "CONNECT",  "CONNACK",    "PUBLISH", "PUBACK",      "PUBREC",
                                   "PUBREL",  "PUBCOMP",  "SUBSCRIBE",  "SUBACK",  "UNSUBSCRIBE", "UNSUBACK",
                                   "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH"};
  const auto i = static_cast<unsigned>(t);
  return i < 16 ? names[i] : "?";
}

}  // namespace leat::net::mqtt
