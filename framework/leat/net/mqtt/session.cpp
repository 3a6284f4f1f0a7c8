// SPDX-License-Identifier: BSL-1.0
//
// The life of a connection: opening it, bytes, time, its end. What packets do is in session_packets.cpp, what users
// ask for in session_calls.cpp.
#include <leat/net/mqtt/session.hpp>

#include <algorithm>
#include <stdexcept>

#include <leat/net/mqtt/check.hpp>
#include <leat/net/mqtt/codec.hpp>

namespace leat::net::mqtt {
namespace {

constexpr std::size_t most_orphans = 4;  // times the Receive Maximum
constexpr std::size_t most_control = std::size_t{64} << 10;

// What a client may say in a DISCONNECT (3.14.2.1): some codes are a server's.
reason said_by_client(reason r) noexcept {
  switch (r) {
    case reason::keep_alive_timeout: return reason::unspecified_error;
    case reason::unsupported_protocol_version:
    case reason::topic_filter_invalid: return reason::protocol_error;
    default: return r;
  }
}

}  // namespace

session::session(session_options o) : o_(std::move(o)) {
  o_.receive_maximum = std::max<std::uint16_t>(o_.receive_maximum, 1);
  o_.most_waiting = std::max<std::size_t>(o_.most_waiting, 1);
  const auto need = [](const std::string& why) {
    if (!why.empty()) throw std::invalid_argument("MQTT: " + why);
  };
  need(check_utf8("the client identifier", o_.client_id));
  if (o_.user_name) need(check_utf8("the user name", *o_.user_name));
  if (o_.password && o_.password->size() > 65535) need("the password has more than 65535 bytes");
  need(check_properties(o_.connect_properties, packet_type::connect));
  if (o_.connect_properties.text(property_id::authentication_method))
    need("enhanced authentication is not spoken here");
  if (o_.will) need(check_will(*o_.will));
}

void session::open(time_point now) {
  if (phase_ != phase::offline) lost();
  phase_ = phase::connecting;
  server_ = {};
  end_.reset();
  kept_.answered = false;
  kept_.present = false;
  opened_ = now;
  alive_.begin(o_.keep_alive, now);
  aliases_in_.assign(std::size_t{o_.topic_aliases} + 1, std::string());

  connect_packet c;
  c.client_id = o_.client_id;
  c.clean_start = o_.clean_start && !kept_.ever_online;
  c.keep_alive = o_.keep_alive;
  c.will = o_.will;
  c.user_name = o_.user_name;
  c.password = o_.password;
  c.properties = o_.connect_properties;
  if (o_.session_expiry > 0) c.properties.set(property_id::session_expiry_interval, o_.session_expiry);
  c.properties.set(property_id::receive_maximum, o_.receive_maximum);
  c.properties.set(property_id::maximum_packet_size, o_.maximum_packet_size);
  if (o_.topic_aliases > 0) c.properties.set(property_id::topic_alias_maximum, o_.topic_aliases);
  write(c);
}

void session::lost() {
  if (phase_ == phase::offline) return;
  kept_.doubtful |= !kept_.answered;
  phase_ = phase::offline;
  unread_.clear();
  control_.clear();
  aliases_out_.clear();
  in_flight_now_ = 0;
  alive_.end();
  for (outgoing& m : in_flight_) {
    m.before |= m.sent;
    m.sent = false;
  }
  for (incoming& m : inbound_) orphans_.push_back(m);
  inbound_.clear();
  while (orphans_.size() > most_orphans * o_.receive_maximum) orphans_.pop_front();
  subscriptions_.connection_lost(ids_);
}

void session::write(const packet& p) {
  std::string bytes;
  if (const char* const why = encode(p, bytes)) return fail(reason::packet_too_large, why);
  if (bytes.size() > server_.packet_size)
    return fail(reason::packet_too_large, std::string("the server takes no ") + to_string(type_of(p)) +
                                              " of " + std::to_string(bytes.size()) + " bytes");
  control_ += bytes;
}

void session::fail(reason code, std::string why) {
  if (phase_ == phase::offline || phase_ == phase::closing) return;
  const bool was_online = phase_ == phase::online;
  phase_ = phase::closing;
  end_ = connection_end{.code = code, .why = std::move(why)};
  control_.clear();
  if (was_online) {
    disconnect_packet d;
    d.reason = said_by_client(code);
    (void)encode(d, control_);
  }
}

void session::receive(std::string_view bytes, time_point now) {
  if (phase_ == phase::offline) return;
  if (!bytes.empty()) alive_.heard(now);
  const bool joined = !unread_.empty();
  if (joined) unread_ += bytes;
  std::string_view rest = joined ? std::string_view(unread_) : bytes;
  while (phase_ != phase::closing && !rest.empty() &&
         !has_no_room_for(static_cast<unsigned char>(rest.front()))) {
    decoded d = decode(rest, o_.maximum_packet_size);
    if (d.status == decode_status::incomplete) break;
    if (d.status == decode_status::malformed) {
      fail(d.code, d.why);
      break;
    }
    rest.remove_prefix(d.size);
    handle(d.packet, now);
  }
  if (phase_ == phase::closing) rest = {};
  if (joined)
    unread_.erase(0, unread_.size() - rest.size());
  else
    unread_ = rest;
}

// For the packet that begins so. Answers to what was published and PINGRESPs pass where a PUBLISH does not.
bool session::has_no_room_for(unsigned char header) const noexcept {
  if (phase_ != phase::online) return false;
  if (control_.size() >= most_control) return true;
  if (header >> 4 != static_cast<unsigned>(packet_type::publish)) return false;
  if ((header & 6u) != 0 && inbound_.size() >= o_.receive_maximum) return true;
  return deliveries_.is_full(o_);
}

bool session::stalled() const noexcept {
  return !unread_.empty() && has_no_room_for(static_cast<unsigned char>(unread_.front()));
}

void session::pause_reading(bool paused, time_point now) noexcept { alive_.pause(paused, now); }

time_point session::due() const noexcept {
  switch (phase_) {
    case phase::connecting: return opened_ + o_.connect_time;
    case phase::online: return alive_.due();
    default: return time_point::max();
  }
}

void session::tick(time_point now) {
  if (now < due()) return;
  if (phase_ == phase::connecting)
    return fail(reason::unspecified_error, "the server does not answer the CONNECT");
  if (alive_.ping_waits())
    return fail(reason::keep_alive_timeout,
                "nothing was heard for " + std::to_string(alive_.seconds()) + " s after a PINGREQ");
  std::string ping;
  (void)encode(pingreq_packet{}, ping);
  control_.insert(0, ping);
  alive_.pinged(now);
}

bool session::has_output() const noexcept {
  if (!control_.empty()) return true;
  if (phase_ != phase::online) return false;
  if (quota() > 0 && in_flight_now_ < in_flight_.size()) return true;
  return !queue_.empty() && (quota() > 0 || queue_.front().message.qos == qos::at_most_once);
}

bool session::take_output(std::string& to, std::size_t most, time_point now) {
  const std::size_t before = to.size();
  to += control_;
  control_.clear();
  while (phase_ == phase::online && to.size() < most && send_next(to, now)) {
  }
  if (to.size() == before) return false;
  alive_.sent(now);
  return true;
}

}  // namespace leat::net::mqtt
