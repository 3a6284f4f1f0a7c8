// SPDX-License-Identifier: BSL-1.0
//
// What users ask for, and how messages go out.
#include <leat/net/mqtt/session.hpp>

#include <algorithm>

#include <leat/net/mqtt/check.hpp>
#include <leat/net/mqtt/codec.hpp>
#include <leat/net/mqtt/topic.hpp>

namespace leat::net::mqtt {
namespace {

using std::chrono::seconds;

template <class T>
std::optional<T> take_front(std::deque<T>& from) {
  if (from.empty()) return {};
  std::optional<T> first(std::move(from.front()));
  from.pop_front();
  return first;
}

constexpr std::size_t alias_bytes = 3;  // a topic that is no longer gains nothing

bool is_larger(const packet& p, std::size_t most) {
  std::string bytes;
  return encode(p, bytes) != nullptr || bytes.size() > most;
}

}  // namespace

std::size_t bytes_held(const delivery& d) noexcept {
  std::size_t n = sizeof d + d.message.topic.size() + d.message.payload.size();
  for (const property& p : d.message.properties.all()) n += sizeof p + p.text.size() + p.value.size();
  return n;
}

std::uint64_t session::publish(message m, time_point now) {
  if (unpublished() >= o_.queue) return 0;
  outgoing out;
  out.token = next_token_++;
  out.message = std::move(m);
  if (out.message.qos == qos::exactly_once) {
    finish(out, publish_outcome::refused, reason::qos_not_supported, "QoS 2 is not published here");
    return out.token;
  }
  // A server would end the connection for it, and on the next one again.
  if (std::string why = check_topic(out.message.topic); !why.empty()) {
    finish(out, publish_outcome::refused, reason::topic_name_invalid, std::move(why));
    return out.token;
  }
  if (std::string why = check_message(out.message.properties, out.message.payload); !why.empty()) {
    finish(out, publish_outcome::refused, reason::payload_format_invalid, std::move(why));
    return out.token;
  }
  if (const auto n = out.message.properties.number(property_id::message_expiry_interval))
    out.expires = now + seconds(*n);
  const std::uint64_t token = out.token;
  queue_.push_back(std::move(out));
  return token;
}

void session::finish(const outgoing& m, publish_outcome how, reason code, std::string why) {
  results_.push_back({.token = m.token, .outcome = how, .code = code, .why = std::move(why)});
  if (results_.size() > 2 * std::max<std::size_t>(o_.queue, 1)) results_.pop_front();
}

bool session::send_next(std::string& to, time_point now) {
  if (quota() > 0 && in_flight_now_ < in_flight_.size()) {
    // Those of an earlier connection come first, in their order. One that has expired as well: the server may
    // have it, and its answer is waited for.
    (void)send_message(in_flight_[in_flight_now_], to, now);
    return true;
  }
  if (queue_.empty()) return false;
  outgoing& next = queue_.front();
  const bool acknowledged = next.message.qos == qos::at_least_once;
  if (acknowledged && quota() == 0) return false;
  if (next.expires && *next.expires <= now) {
    finish(next, publish_outcome::expired, reason::success, "it expired before it could be sent");
  } else if (acknowledged) {
    next.id = ids_.take();
    if (next.id == 0) return false;
    in_flight_.push_back(std::move(next));
    queue_.pop_front();
    (void)send_message(in_flight_.back(), to, now);
    return true;
  } else if (send_message(next, to, now)) {
    finish(next, publish_outcome::sent, reason::success, {});
  }
  queue_.pop_front();
  return true;
}

// False: it cannot be sent to this server; it is finished, and no longer in flight.
bool session::send_message(outgoing& m, std::string& to, time_point now) {
  const auto refuse = [&](publish_outcome how, reason code, std::string why) {
    finish(m, how, code, std::move(why));
    if (m.id != 0) {
      ids_.give_back(m.id);
      std::erase_if(in_flight_, [token = m.token](const outgoing& x) { return x.token == token; });
    }
    return false;
  };
  if (m.message.qos > server_.most_qos)
    return refuse(publish_outcome::refused, reason::qos_not_supported, "the server takes QoS 0 only");
  if (m.message.retain && !server_.retain)
    return refuse(publish_outcome::refused, reason::retain_not_supported, "the server retains no messages");

  publish_packet p;
  p.topic = m.message.topic;
  p.payload = m.message.payload;
  p.id = m.id;
  p.qos = m.message.qos;
  p.retain = m.message.retain;
  p.duplicate = m.before;
  p.properties = m.message.properties;
  if (m.expires) {
    const auto left = std::chrono::ceil<seconds>(*m.expires - now).count();
    p.properties.set(property_id::message_expiry_interval,
                     static_cast<std::uint32_t>(std::max<long>(left, 1)));
  }
  std::uint32_t new_alias = 0;
  if (server_.aliases > 0 && p.topic.size() > alias_bytes) {
    if (const auto known = aliases_out_.find(p.topic); known != aliases_out_.end()) {
      p.properties.set(property_id::topic_alias, known->second);
      p.topic.clear();
    } else if (aliases_out_.size() < server_.aliases) {
      new_alias = static_cast<std::uint32_t>(aliases_out_.size()) + 1;
      p.properties.set(property_id::topic_alias, new_alias);
    }
  }
  const std::size_t before = to.size();
  const char* const why = encode(p, to);
  if (why || to.size() - before > server_.packet_size) {
    const std::size_t size = to.size() - before;
    to.resize(before);
    return refuse(publish_outcome::too_large, reason::packet_too_large,
                  why ? why
                      : "a packet of " + std::to_string(size) + " bytes; the server takes " +
                            std::to_string(server_.packet_size));
  }
  if (new_alias != 0) aliases_out_.emplace(m.message.topic, new_alias);
  m.sent = true;
  if (m.id != 0) ++in_flight_now_;
  return true;
}

void session::subscription_list::connection_lost(packet_ids& ids) {
  for (wanted& w : asked_for) {
    if (w.state != asked::waits) continue;
    ids.give_back(w.id);
    w.state = asked::not_yet;
  }
  for (unwanted& u : given_up)
    if (u.id != 0) ids.give_back(std::exchange(u.id, std::uint16_t{0}));
  // It was asked for again behind the UNSUBSCRIBE.
  std::erase_if(given_up, [this](const unwanted& u) {
    return std::any_of(asked_for.begin(), asked_for.end(),
                       [&u](const wanted& w) { return w.subscription.filter == u.filter; });
  });
}

void session::subscription_list::answer(subscribe_result r) {
  std::erase_if(answers, [&r](const subscribe_result& old) { return old.filter == r.filter; });
  answers.push_back(std::move(r));
}

void session::subscribe(subscription s) {
  const auto at = std::find_if(subscriptions_.asked_for.begin(), subscriptions_.asked_for.end(),
                               [&s](const wanted& w) { return w.subscription.filter == s.filter; });
  wanted& w = at == subscriptions_.asked_for.end() ? subscriptions_.asked_for.emplace_back() : *at;
  if (w.state == asked::waits) ids_.give_back(w.id);
  std::erase_if(subscriptions_.given_up,
                [&s](const unwanted& u) { return u.id == 0 && u.filter == s.filter; });
  w.subscription = std::move(s);
  w.state = asked::not_yet;
  if (phase_ == phase::online) ask_for(w);
}

void session::unsubscribe(std::string_view filter) {
  const auto gone = [filter](const wanted& w) { return w.subscription.filter == filter; };
  for (const wanted& w : subscriptions_.asked_for)
    if (gone(w) && w.state == asked::waits) ids_.give_back(w.id);
  std::erase_if(subscriptions_.asked_for, gone);
  std::erase_if(subscriptions_.answers, [filter](const subscribe_result& r) { return r.filter == filter; });
  if (!check_filter(filter).empty()) return;  // no server has it
  if (std::none_of(subscriptions_.given_up.begin(), subscriptions_.given_up.end(),
                   [filter](const unwanted& u) { return u.id == 0 && u.filter == filter; }))
    subscriptions_.given_up.push_back({.filter = std::string(filter)});
  if (phase_ == phase::online) ask_for_all();
}

void session::ask_for_all() {
  for (unwanted& u : subscriptions_.given_up) {
    if (u.id != 0) continue;
    unsubscribe_packet p;
    p.filters.push_back(u.filter);
    if (is_larger(p, server_.packet_size)) continue;  // nor could it be subscribed to
    p.id = u.id = ids_.take();
    if (p.id != 0) write(p);
  }
  for (wanted& w : subscriptions_.asked_for)
    if (w.state == asked::not_yet && phase_ == phase::online) ask_for(w);
}

void session::ask_for(wanted& w) {
  const std::string& filter = w.subscription.filter;
  const auto refuse = [&](reason code, std::string why) {
    w.state = asked::granted;  // answered, until the session is another
    subscriptions_.answer({.filter = filter, .code = code, .why = std::move(why)});
  };
  if (std::string why = check_filter(filter); !why.empty())
    return refuse(reason::topic_filter_invalid, std::move(why));
  if (!server_.shared && is_shared(filter))
    return refuse(reason::shared_subscriptions_not_supported, "the server has no shared subscriptions");
  if (!server_.wildcards && filter.find_first_of("+#") != filter.npos)
    return refuse(reason::wildcard_subscriptions_not_supported, "the server has no wildcards in filters");
  subscribe_packet p;
  p.subscriptions.push_back(w.subscription);
  if (is_larger(p, server_.packet_size))
    return refuse(reason::packet_too_large, "the server takes no packets of that size");
  p.id = w.id = ids_.take();
  if (w.id == 0) return refuse(reason::packet_identifier_in_use, "no packet identifier is free");
  w.state = asked::waits;
  write(p);
}

void session::acknowledge(std::uint64_t token, reason r) {
  const auto mark = [&](std::deque<incoming>& all) {
    for (incoming& m : all) {
      if (m.token != token) continue;
      m.done = true;
      m.code = r;
      return true;
    }
    return false;
  };
  if (token == 0) return;
  if (!mark(inbound_)) return void(mark(orphans_));
  if (phase_ == phase::online) answer_done();
}

void session::disconnect(reason r) {
  if (phase_ == phase::offline || phase_ == phase::closing) return;
  const bool was_online = phase_ == phase::online;
  phase_ = phase::closing;
  end_ = connection_end{.code = r, .why = "it was asked to disconnect"};
  if (!was_online) return control_.clear();
  disconnect_packet d;
  d.reason = r;
  (void)encode(d, control_);
}

void session::delivery_queue::push(delivery d) {
  bytes += bytes_held(d);
  all.push_back(std::move(d));
}

std::optional<delivery> session::delivery_queue::take() {
  if (!all.empty()) bytes -= bytes_held(all.front());
  return take_front(all);
}

std::optional<delivery> session::next_delivery() { return deliveries_.take(); }
std::optional<publish_result> session::next_result() { return take_front(results_); }
std::optional<subscribe_result> session::next_subscribed() { return take_front(subscriptions_.answers); }

}  // namespace leat::net::mqtt
