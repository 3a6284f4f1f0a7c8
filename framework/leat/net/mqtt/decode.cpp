// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/codec.hpp>

#include <utility>

#include <leat/base/utf8.hpp>
#include <leat/net/mqtt/topic.hpp>

namespace leat::net::mqtt {
namespace {

// Takes from the front. What is wrong is kept: the first thing; from then on everything is zero or empty.
class packet_reader {
 public:
  explicit packet_reader(std::string_view bytes) noexcept : rest_(bytes) {}

  bool fine() const noexcept { return code_ == reason::success; }
  reason code() const noexcept { return code_; }
  const char* why() const noexcept { return why_; }
  bool at_end() const noexcept { return rest_.empty(); }
  std::size_t left() const noexcept { return rest_.size(); }

  void fail(reason r, const char* why) noexcept {
    if (!fine()) return;
    code_ = r;
    why_ = why;
    rest_ = {};
  }
  void malformed(const char* why) noexcept { fail(reason::malformed_packet, why); }
  void require(bool holds, reason r, const char* why) noexcept {
    if (!holds) fail(r, why);
  }

  std::string_view bytes(std::size_t n) noexcept {
    if (n > rest_.size()) {
      malformed("the packet ends within a field");
      return {};
    }
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  std::uint32_t number(std::size_t size) noexcept {
    std::uint32_t n = 0;
    for (const char c : bytes(size)) n = n << 8 | static_cast<unsigned char>(c);
    return n;
  }
  std::uint32_t variable() noexcept {
    std::uint32_t n = 0;
    for (unsigned shift = 0; shift < 28; shift += 7) {
      const std::uint32_t b = number(1);
      n |= (b & 0x7F) << shift;
      if ((b & 0x80) != 0) continue;
      if (shift > 0 && b == 0) malformed("a number in more bytes than it needs");
      return n;
    }
    malformed("a number of more than four bytes");
    return 0;
  }
  std::string binary() { return std::string(bytes(number(2))); }
  std::string text() {
    std::string s = binary();
    if (s.find('\0') != s.npos || !is_utf8(s)) malformed("a text that is not UTF-8, or has a zero byte");
    return s;
  }
  std::uint16_t id() noexcept {
    const std::uint32_t n = number(2);
    require(n != 0 || !fine(), reason::protocol_error, "a packet identifier of 0");
    return static_cast<std::uint16_t>(n);
  }
  reason reason_for(packet_type t) noexcept {
    const std::uint32_t b = number(1);
    if (fine() && !may_carry(t, static_cast<std::uint8_t>(b)))
      fail(reason::protocol_error, "a reason code that this packet cannot have");
    return static_cast<reason>(b);
  }
  mqtt::qos quality(unsigned bits) noexcept {
    if (bits > 2) malformed("a QoS of 3");
    return static_cast<mqtt::qos>(bits > 2 ? 0 : bits);
  }

  properties all_properties(packet_type t, property_place where = property_place::packet) {
    properties all;
    packet_reader in(bytes(variable()));
    while (in.fine() && !in.at_end()) in.one_property(all, t, where);
    if (!in.fine()) fail(in.code_, in.why_);
    if (fine() && all.text(property_id::authentication_data) && !all.text(property_id::authentication_method))
      fail(reason::protocol_error, "authentication data without a method");
    return all;
  }

 private:
  void one_property(properties& all, packet_type t, property_place where) {
    const property_rule* const rule = rule_of(variable());
    if (!fine()) return;
    if (!rule || !may_stand(*rule, t, where)) return malformed("a property that this packet cannot have");
    // 3.8.2.1.2: a SUBSCRIBE has one subscription identifier at most.
    const bool repeats =
        rule->repeats && (rule->id == property_id::user_property || t == packet_type::publish);
    if (!repeats && all.number(rule->id)) return fail(reason::protocol_error, "a property twice");
    property p{.id = rule->id};
    switch (rule->kind) {
      case property_kind::byte: p.number = number(1); break;
      case property_kind::two_bytes: p.number = number(2); break;
      case property_kind::four_bytes: p.number = number(4); break;
      case property_kind::variable: p.number = variable(); break;
      case property_kind::text: p.text = text(); break;
      case property_kind::binary: p.text = binary(); break;
      case property_kind::pair:
        p.text = text();
        p.value = text();
        break;
    }
    if (!fine()) return;
    if (rule->most > 0 && (p.number < rule->least || p.number > rule->most))
      return rule->id == property_id::topic_alias
                 ? fail(reason::topic_alias_invalid, "a topic alias of 0")
                 : fail(reason::protocol_error, "a property with a value that it cannot have");
    if (rule->id == property_id::response_topic && !check_topic(p.text).empty())
      return fail(reason::protocol_error, "a response topic that is not a topic name");
    all.append(std::move(p));
  }

  std::string_view rest_;
  reason code_ = reason::success;
  const char* why_ = "";
};

constexpr bool has(unsigned flags, unsigned bit) noexcept { return (flags >> bit & 1) != 0; }

packet read_connect(packet_reader& in) {
  connect_packet p;
  in.require(in.text() == "MQTT" || !in.fine(), reason::unsupported_protocol_version,
             "a protocol that is not MQTT");
  in.require(in.number(1) == 5 || !in.fine(), reason::unsupported_protocol_version,
             "a version of MQTT that is not 5");
  const unsigned flags = in.number(1);
  if (has(flags, 0)) in.malformed("a reserved bit in a CONNECT");
  p.clean_start = has(flags, 1);
  p.keep_alive = static_cast<std::uint16_t>(in.number(2));
  const mqtt::qos will_qos = in.quality(flags >> 3 & 3);
  if (!has(flags, 2) && (flags & 0x38) != 0) in.malformed("properties of a will that is not there");
  p.properties = in.all_properties(packet_type::connect);
  p.client_id = in.text();
  if (has(flags, 2)) {
    will_message w;
    w.qos = will_qos;
    w.retain = has(flags, 5);
    w.properties = in.all_properties(packet_type::connect, property_place::will);
    w.topic = in.text();
    w.payload = in.binary();
    in.require(!in.fine() || check_topic(w.topic).empty(), reason::topic_name_invalid,
               "a will with a topic that is none");
    p.will = std::move(w);
  }
  if (has(flags, 7)) p.user_name = in.text();
  if (has(flags, 6)) p.password = in.binary();
  return p;
}

packet read_connack(packet_reader& in) {
  connack_packet p;
  if (in.left() == 2) in.malformed("a CONNACK without properties, which is of MQTT 3.1.1 or older");
  const unsigned flags = in.number(1);
  if (flags > 1) in.malformed("a reserved bit in a CONNACK");
  p.session_present = flags == 1;
  p.reason = in.reason_for(packet_type::connack);
  p.properties = in.all_properties(packet_type::connack);
  in.require(!p.session_present || !is_error(p.reason), reason::protocol_error,
             "a CONNACK that refuses and has a session");
  return p;
}

packet read_publish(packet_reader& in, unsigned flags) {
  publish_packet p;
  p.retain = has(flags, 0);
  p.qos = in.quality(flags >> 1 & 3);
  p.duplicate = has(flags, 3);
  if (p.duplicate && p.qos == qos::at_most_once) in.malformed("a duplicate with QoS 0");
  p.topic = in.text();
  if (p.qos != qos::at_most_once) p.id = in.id();
  p.properties = in.all_properties(packet_type::publish);
  if (!in.fine()) return p;
  if (p.topic.empty())
    in.require(p.properties.number(property_id::topic_alias).has_value(), reason::protocol_error,
               "a PUBLISH with neither topic nor alias");
  else
    in.require(check_topic(p.topic).empty(), reason::topic_name_invalid,
               "a PUBLISH to something that is not a topic name");
  p.payload = in.bytes(in.left());
  return p;
}

packet read_ack(packet_reader& in, packet_type t) {
  ack_packet p;
  p.type = t;
  p.id = in.id();
  if (!in.at_end()) p.reason = in.reason_for(t);
  if (!in.at_end()) p.properties = in.all_properties(t);
  return p;
}

packet read_subscribe(packet_reader& in) {
  subscribe_packet p;
  p.id = in.id();
  p.properties = in.all_properties(packet_type::subscribe);
  while (in.fine() && !in.at_end()) {
    subscription s;
    s.filter = in.text();
    const unsigned o = in.number(1);
    s.qos = in.quality(o & 3);
    s.no_local = has(o, 2);
    s.retain_as_published = has(o, 3);
    const unsigned handling = o >> 4 & 3;
    if ((o & 0xC0) != 0) in.malformed("a reserved bit in the options of a subscription");
    in.require(handling != 3, reason::protocol_error, "a retain handling of 3");
    s.retain_handling = static_cast<retained>(handling == 3 ? 0 : handling);
    in.require(!in.fine() || check_filter(s.filter).empty(), reason::topic_filter_invalid,
               "a subscription to something that is not a topic filter");
    in.require(!s.no_local || !is_shared(s.filter), reason::protocol_error,
               "a shared subscription with no-local");
    p.subscriptions.push_back(std::move(s));
  }
  in.require(!p.subscriptions.empty(), reason::protocol_error, "a SUBSCRIBE without a filter");
  return p;
}

packet read_unsubscribe(packet_reader& in) {
  unsubscribe_packet p;
  p.id = in.id();
  p.properties = in.all_properties(packet_type::unsubscribe);
  while (in.fine() && !in.at_end()) {
    p.filters.push_back(in.text());
    in.require(!in.fine() || check_filter(p.filters.back()).empty(), reason::topic_filter_invalid,
               "an UNSUBSCRIBE of something that is not a topic filter");
  }
  in.require(!p.filters.empty(), reason::protocol_error, "an UNSUBSCRIBE without a filter");
  return p;
}

packet read_suback(packet_reader& in, packet_type t) {
  suback_packet p;
  p.type = t;
  p.id = in.id();
  p.properties = in.all_properties(t);
  p.reasons.reserve(in.left());
  while (in.fine() && !in.at_end()) p.reasons.push_back(in.reason_for(t));
  in.require(!p.reasons.empty(), reason::protocol_error, "an answer without a reason code");
  return p;
}

packet read_disconnect(packet_reader& in, packet_type t) {
  disconnect_packet p;
  p.type = t;
  if (!in.at_end()) p.reason = in.reason_for(t);
  if (!in.at_end()) p.properties = in.all_properties(t);
  return p;
}

packet read_body(packet_reader& in, packet_type t, unsigned flags) {
  switch (t) {
    case packet_type::connect: return read_connect(in);
    case packet_type::connack: return read_connack(in);
    case packet_type::publish: return read_publish(in, flags);
    case packet_type::puback:
    case packet_type::pubrec:
    case packet_type::pubrel:
    case packet_type::pubcomp: return read_ack(in, t);
    case packet_type::subscribe: return read_subscribe(in);
    case packet_type::suback:
    case packet_type::unsuback: return read_suback(in, t);
    case packet_type::unsubscribe: return read_unsubscribe(in);
    case packet_type::pingreq: return pingreq_packet{};
    case packet_type::pingresp: return pingresp_packet{};
    case packet_type::disconnect:
    case packet_type::auth: return read_disconnect(in, t);
  }
  in.malformed("a packet of type 0");
  return pingreq_packet{};
}

decoded refused(reason r, const char* why) { return {decode_status::malformed, 0, pingreq_packet{}, r, why}; }

}  // namespace

decoded decode(std::string_view bytes, std::uint32_t most) {
  if (bytes.empty()) return {.size = 2};
  const auto first = static_cast<unsigned char>(bytes[0]);
  const unsigned flags = first & 0xFu;
  const auto type = static_cast<packet_type>(first >> 4);
  if (first >> 4 == 0) return refused(reason::malformed_packet, "a packet of type 0");
  const bool fixed2 =
      type == packet_type::pubrel || type == packet_type::subscribe || type == packet_type::unsubscribe;
  if (type != packet_type::publish && flags != (fixed2 ? 2u : 0u))
    return refused(reason::malformed_packet, "reserved bits in the header of a packet");

  std::size_t head = 1;
  std::uint32_t remaining = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (head == bytes.size()) return {.size = head + 1};
    const auto b = static_cast<unsigned char>(bytes[head++]);
    remaining |= (b & 0x7Fu) << shift;
    if ((b & 0x80) == 0) {
      if (shift > 0 && b == 0)
        return refused(reason::malformed_packet, "a length in more bytes than it needs");
      break;
    }
    if (shift == 21) return refused(reason::malformed_packet, "a length of more than four bytes");
  }
  const std::size_t size = head + remaining;
  if (size > most) return refused(reason::packet_too_large, "a packet that is larger than was agreed on");
  if (bytes.size() < size) return {.size = size};

  packet_reader in(bytes.substr(head, remaining));
  decoded d{.status = decode_status::complete, .size = size};
  d.packet = read_body(in, type, flags);
  if (!in.at_end()) in.malformed("bytes behind the end of a packet");
  return in.fine() ? std::move(d) : refused(in.code(), in.why());
}

}  // namespace leat::net::mqtt
