// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/codec.hpp>

#include <type_traits>

namespace leat::net::mqtt {
namespace {

constexpr std::size_t most_text = 65535;

// Appends; the first thing that does not fit is kept in `why`.
class packet_writer {
 public:
  const char* why = nullptr;
  std::string body = {};

  void byte(unsigned v) { body += static_cast<char>(v); }
  void two(std::uint32_t v) {
    byte(v >> 8 & 0xFF);
    byte(v & 0xFF);
  }
  void four(std::uint32_t v) {
    two(v >> 16);
    two(v & 0xFFFF);
  }
  void text(const std::string& s) {
    if (s.size() > most_text) {
      why = "a text of more than 65535 bytes";
      return;
    }
    two(static_cast<std::uint32_t>(s.size()));
    body += s;
  }
  static void variable(std::uint32_t v, std::string& to) {
    do {
      const std::uint32_t low = v & 0x7F;
      v >>= 7;
      to += static_cast<char>(v == 0 ? low : low | 0x80);
    } while (v != 0);
  }

  void add(const property& p) {
    const property_rule* const rule = rule_of(static_cast<std::uint32_t>(p.id));
    if (!rule) {
      why = "a property that does not exist";
      return;
    }
    byte(static_cast<unsigned>(p.id));
    switch (rule->kind) {
      case property_kind::byte: return byte(p.number & 0xFF);
      case property_kind::two_bytes: return two(p.number & 0xFFFF);
      case property_kind::four_bytes: return four(p.number);
      case property_kind::variable:
        if (p.number > most_remaining) why = "a number of more than 28 bits";
        return variable(p.number & most_remaining, body);
      case property_kind::text:
      case property_kind::binary: return text(p.text);
      case property_kind::pair: text(p.text); return text(p.value);
    }
  }
  void add(const properties& all) {
    if (all.empty()) return byte(0);
    packet_writer inner;
    for (const property& p : all.all()) inner.add(p);
    if (inner.why) why = inner.why;
    if (inner.body.size() > most_remaining) {
      why = "more properties than fit a packet";
      return;
    }
    variable(static_cast<std::uint32_t>(inner.body.size()), body);
    body += inner.body;
  }
  // A reason and properties that may be left out.
  void add_short(reason r, const properties& p) {
    if (p.empty() && r == reason::success) return;
    byte(static_cast<unsigned>(r));
    if (!p.empty()) add(p);
  }
};

constexpr unsigned flag(bool on, unsigned bit) noexcept { return on ? 1u << bit : 0u; }

// Each writes what is behind the fixed header, and returns the four bits beside the type.
unsigned write(packet_writer& w, const connect_packet& p) {
  w.body.append("\0\4MQTT\5", 7);
  unsigned flags =
      flag(p.clean_start, 1) | flag(p.password.has_value(), 6) | flag(p.user_name.has_value(), 7);
  if (p.will) flags |= flag(true, 2) | static_cast<unsigned>(p.will->qos) << 3 | flag(p.will->retain, 5);
  w.byte(flags);
  w.two(p.keep_alive);
  w.add(p.properties);
  w.text(p.client_id);
  if (p.will) {
    w.add(p.will->properties);
    w.text(p.will->topic);
    w.text(p.will->payload);
  }
  if (p.user_name) w.text(*p.user_name);
  if (p.password) w.text(*p.password);
  return 0;
}
unsigned write(packet_writer& w, const connack_packet& p) {
  w.byte(p.session_present ? 1 : 0);
  w.byte(static_cast<unsigned>(p.reason));
  w.add(p.properties);
  return 0;
}
unsigned write(packet_writer& w, const publish_packet& p) {
  w.text(p.topic);
  if (p.qos != qos::at_most_once) w.two(p.id);
  w.add(p.properties);
  w.body += p.payload;
  return flag(p.retain, 0) | static_cast<unsigned>(p.qos) << 1 | flag(p.duplicate, 3);
}
unsigned write(packet_writer& w, const ack_packet& p) {
  w.two(p.id);
  w.add_short(p.reason, p.properties);
  return p.type == packet_type::pubrel ? 2 : 0;
}
unsigned write(packet_writer& w, const subscribe_packet& p) {
  w.two(p.id);
  w.add(p.properties);
  for (const subscription& s : p.subscriptions) {
    w.text(s.filter);
    w.byte(static_cast<unsigned>(s.qos) | flag(s.no_local, 2) | flag(s.retain_as_published, 3) |
           static_cast<unsigned>(s.retain_handling) << 4);
  }
  return 2;
}
unsigned write(packet_writer& w, const suback_packet& p) {
  w.two(p.id);
  w.add(p.properties);
  for (const reason r : p.reasons) w.byte(static_cast<unsigned>(r));
  return 0;
}
unsigned write(packet_writer& w, const unsubscribe_packet& p) {
  w.two(p.id);
  w.add(p.properties);
  for (const std::string& f : p.filters) w.text(f);
  return 2;
}
unsigned write(packet_writer&, const pingreq_packet&) { return 0; }
unsigned write(packet_writer&, const pingresp_packet&) { return 0; }
unsigned write(packet_writer& w, const disconnect_packet& p) {
  w.add_short(p.reason, p.properties);
  return 0;
}

}  // namespace

packet_type type_of(const packet& p) noexcept {
  struct {
    packet_type operator()(const connect_packet&) const noexcept { return packet_type::connect; }
    packet_type operator()(const connack_packet&) const noexcept { return packet_type::connack; }
    packet_type operator()(const publish_packet&) const noexcept { return packet_type::publish; }
    packet_type operator()(const ack_packet& a) const noexcept { return a.type; }
    packet_type operator()(const subscribe_packet&) const noexcept { return packet_type::subscribe; }
    packet_type operator()(const suback_packet& a) const noexcept { return a.type; }
    packet_type operator()(const unsubscribe_packet&) const noexcept { return packet_type::unsubscribe; }
    packet_type operator()(const pingreq_packet&) const noexcept { return packet_type::pingreq; }
    packet_type operator()(const pingresp_packet&) const noexcept { return packet_type::pingresp; }
    packet_type operator()(const disconnect_packet& d) const noexcept { return d.type; }
  } const type;
  return std::visit(type, p);
}

const char* encode(const packet& p, std::string& out) {
  packet_writer w;
  const unsigned flags = std::visit([&w](const auto& x) { return write(w, x); }, p);
  if (w.body.size() > most_remaining && !w.why) w.why = "more than fits a packet";
  if (w.why) return w.why;
  out += static_cast<char>(static_cast<unsigned>(type_of(p)) << 4 | flags);
  packet_writer::variable(static_cast<std::uint32_t>(w.body.size()), out);
  out += w.body;
  return nullptr;
}

}  // namespace leat::net::mqtt
