// SPDX-License-Identifier: BSL-1.0
//
// What packets from the server do.
#include <leat/net/mqtt/session.hpp>

#include <algorithm>
#include <functional>

namespace leat::net::mqtt {
namespace {

std::string told(const char* what, reason r, const properties& p) {
  std::string text = std::string(what) + to_string(r);
  if (const std::string* const why = p.text(property_id::reason_string))
    text.append(" (").append(*why).append(")");
  return text;
}
std::string reference_in(const properties& p) {
  const std::string* const text = p.text(property_id::server_reference);
  return text ? *text : std::string();
}
// Of those that another try does not mend. The rest passes: a server that is busy, a quota, a rate.
bool is_final(reason r) noexcept {
  switch (r) {
    case reason::unsupported_protocol_version:
    case reason::client_identifier_not_valid:
    case reason::bad_user_name_or_password:
    case reason::not_authorized:
    case reason::banned:
    case reason::bad_authentication_method: return true;
    default: return false;
  }
}
bool allowed(const properties& p, property_id id) noexcept { return p.number(id).value_or(1) != 0; }

}  // namespace

void session::handle(packet& p, time_point now) {
  const packet_type t = type_of(p);
  if ((phase_ == phase::connecting) != (t == packet_type::connack))
    return fail(reason::protocol_error, phase_ == phase::connecting
                                            ? std::string("the server begins with a ") + to_string(t)
                                            : "a second CONNACK");
  if (auto* const x = std::get_if<connack_packet>(&p)) return on(*x, now);
  if (auto* const x = std::get_if<publish_packet>(&p)) return on(*x);
  if (const auto* const x = std::get_if<ack_packet>(&p)) return on(*x);
  if (const auto* const x = std::get_if<suback_packet>(&p)) return on(*x);
  if (std::holds_alternative<pingresp_packet>(p)) return;
  if (const auto* const x = std::get_if<disconnect_packet>(&p); x && x->type == packet_type::disconnect)
    return on(*x);
  fail(reason::protocol_error, std::string("the server sends a ") + to_string(t) + ", which it may not");
}

void session::on(connack_packet& p, time_point now) {
  const properties& has = p.properties;
  kept_.answered = true;
  if (p.reason != reason::success) {
    phase_ = phase::closing;
    control_.clear();
    end_ = connection_end{.code = p.reason,
                          .why = told("the server refuses: ", p.reason, has),
                          .by_server = true,
                          .refused = is_final(p.reason),
                          .server_reference = reference_in(has)};
    return;
  }
  if (p.session_present && o_.clean_start && !kept_.ever_online)
    return fail(reason::protocol_error, "the server has a session that it was asked to forget");
  if (o_.client_id.empty()) {
    const std::string* const id = has.text(property_id::assigned_client_identifier);
    if (!id) return fail(reason::protocol_error, "the server gives no client identifier");
    o_.client_id = *id;
  }
  server_.receive_maximum = has.number(property_id::receive_maximum).value_or(65535);
  server_.packet_size = has.number(property_id::maximum_packet_size).value_or(0xFFFF'FFFF);
  server_.aliases =
      std::min<std::uint32_t>(has.number(property_id::topic_alias_maximum).value_or(0), o_.topic_aliases);
  server_.most_qos = static_cast<qos>(has.number(property_id::maximum_qos).value_or(2));
  server_.retain = allowed(has, property_id::retain_available);
  server_.wildcards = allowed(has, property_id::wildcard_subscription_available);
  server_.shared = allowed(has, property_id::shared_subscription_available);
  if (const auto n = has.number(property_id::server_keep_alive))
    alive_.set_seconds(static_cast<std::uint16_t>(*n));
  phase_ = phase::online;
  kept_.ever_online = true;
  alive_.begin(now);
  resume_or_forget(p.session_present);
  ask_for_all();
}

// What only the same session of the server gives a meaning.
void session::resume_or_forget(bool present) {
  kept_.present = present;
  if (present && !std::exchange(kept_.doubtful, false)) return;
  kept_.doubtful = false;
  orphans_.clear();
  awaits_release_.clear();
  if (!present) {
    subscriptions_.given_up.clear();
    for (outgoing& m : in_flight_) m.before = false;
  }
  for (wanted& w : subscriptions_.asked_for) w.state = asked::not_yet;
}

bool session::resolve_alias(publish_packet& p) {
  const auto alias = p.properties.number(property_id::topic_alias);
  if (!alias) return true;
  if (*alias >= aliases_in_.size()) {
    fail(reason::topic_alias_invalid, "a topic alias above what was agreed on");
    return false;
  }
  std::string& topic = aliases_in_[*alias];
  if (!p.topic.empty()) {
    topic = p.topic;
  } else if (topic.empty()) {
    fail(reason::protocol_error, "a topic alias that stands for nothing yet");
    return false;
  } else {
    p.topic = topic;
  }
  p.properties.erase(property_id::topic_alias);
  return true;
}

// True: the reader has it already, or had it. A server may drop a message that is in flight (it expires) and give its
// identifier to another one, whose first sending we may never have seen: so the same identifier is not enough.
bool session::take_again(const publish_packet& p, std::size_t print) {
  if (p.qos == qos::exactly_once && awaits_release_.contains(p.id)) {
    write(ack_packet{.type = packet_type::pubrec, .id = p.id});
    return true;
  }
  const auto same = [&](const incoming& m) { return m.id == p.id && m.qos == p.qos && m.print == print; };
  if (p.duplicate && std::any_of(inbound_.begin(), inbound_.end(), same)) return true;
  const auto at = p.duplicate ? std::find_if(orphans_.rbegin(), orphans_.rend(), same) : orphans_.rend();
  const bool found = at != orphans_.rend();
  if (found) inbound_.push_back(*at);
  // Whatever else had this identifier will not come any more.
  std::erase_if(orphans_, [&p](const incoming& m) { return m.id == p.id; });
  if (found) answer_done();
  return found;
}

void session::on(publish_packet& p) {
  if (!resolve_alias(p)) return;
  delivery d;
  if (p.qos != qos::at_most_once) {
    const std::hash<std::string> hash;
    const std::size_t print = hash(p.topic) * 31 + hash(p.payload);
    if (take_again(p, print)) return;
    d.token = next_token_++;
    inbound_.push_back({.token = d.token, .id = p.id, .qos = p.qos, .print = print});
  }
  d.duplicate = p.duplicate;
  d.message = {.topic = std::move(p.topic),
               .payload = std::move(p.payload),
               .qos = p.qos,
               .retain = p.retain,
               .properties = std::move(p.properties)};
  deliveries_.push(std::move(d));
}

// In the order of receipt: one that is done waits for those before it.
void session::answer_done() {
  while (!inbound_.empty() && inbound_.front().done) {
    const incoming m = inbound_.front();
    inbound_.pop_front();
    if (m.qos == qos::exactly_once && !is_error(m.code)) awaits_release_.insert(m.id);
    write(ack_packet{.type = m.qos == qos::at_least_once ? packet_type::puback : packet_type::pubrec,
                     .id = m.id,
                     .reason = m.code});
  }
}

void session::on(const ack_packet& p) {
  if (p.type == packet_type::puback) return on_puback(p);
  if (p.type != packet_type::pubrel)
    return fail(reason::protocol_error, "an answer of QoS 2 to a message that was not published so");
  const bool known = awaits_release_.erase(p.id) > 0;
  write(ack_packet{.type = packet_type::pubcomp,
                   .id = p.id,
                   .reason = known ? reason::success : reason::packet_identifier_not_found});
}

void session::on_puback(const ack_packet& p) {
  const auto at = std::find_if(in_flight_.begin(), in_flight_.end(),
                               [&p](const outgoing& m) { return m.id == p.id && m.sent; });
  if (at == in_flight_.end()) return;  // of a message that was answered before
  const bool refused = is_error(p.reason);
  finish(*at, refused ? publish_outcome::refused : publish_outcome::acknowledged, p.reason,
         refused ? told("the server refuses the message: ", p.reason, p.properties) : std::string());
  ids_.give_back(p.id);
  in_flight_.erase(at);
  --in_flight_now_;
}

void session::on(const suback_packet& p) {
  if (p.type == packet_type::unsuback) {
    const auto asked_for = [&p](const unwanted& u) { return u.id == p.id; };
    if (std::erase_if(subscriptions_.given_up, asked_for) > 0) ids_.give_back(p.id);
    return;
  }
  for (wanted& w : subscriptions_.asked_for) {
    if (w.state != asked::waits || w.id != p.id) continue;
    ids_.give_back(w.id);
    const reason code = p.reasons.front();
    w.state = asked::granted;
    return subscriptions_.answer(
        {.filter = w.subscription.filter,
         .code = code,
         .why = is_error(code) ? told("the server refuses the subscription: ", code, p.properties)
                               : std::string()});
  }
}

void session::on(const disconnect_packet& p) {
  phase_ = phase::closing;
  control_.clear();
  end_ = connection_end{.code = p.reason,
                        .why = told("the server ends the connection: ", p.reason, p.properties),
                        .by_server = true,
                        .server_reference = reference_in(p.properties)};
}

}  // namespace leat::net::mqtt
