// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/check.hpp>

#include <algorithm>

#include <leat/base/utf8.hpp>
#include <leat/net/mqtt/topic.hpp>

namespace leat::net::mqtt {
namespace {

constexpr std::size_t most_checked_text = 65535;

std::string check_payload(const properties& all, std::string_view payload) {
  if (all.number(property_id::payload_format_indicator).value_or(0) == 1 && !is_utf8(payload))
    return "a payload that is said to be UTF-8, and is not";
  return {};
}

std::string check_value(const property& p, const property_rule& rule) {
  switch (rule.kind) {
    case property_kind::text:
      if (rule.id == property_id::response_topic && !check_topic(p.text).empty())
        return "a response topic: " + check_topic(p.text);
      return check_utf8("a property", p.text);
    case property_kind::binary:
      return p.text.size() > most_checked_text ? "a property has more than 65535 bytes" : std::string();
    case property_kind::pair: {
      std::string why = check_utf8("the name of a user property", p.text);
      return why.empty() ? check_utf8("a user property", p.value) : why;
    }
    default:
      return p.number < rule.least || p.number > rule.most ? "a property with a value that it cannot have"
                                                           : std::string();
  }
}

}  // namespace

std::string check_utf8(const char* what, std::string_view text) {
  if (text.size() > most_checked_text) return std::string(what) + " has more than 65535 bytes";
  if (text.find('\0') != text.npos || !is_utf8(text))
    return std::string(what) + " is not UTF-8, or has a zero byte";
  return {};
}

std::string check_properties(const properties& all, packet_type t, property_place where) {
  for (const property& p : all.all()) {
    const property_rule* const rule = rule_of(static_cast<std::uint32_t>(p.id));
    if (!rule || !may_stand(*rule, t, where))
      return std::string("a property that does not belong ") +
             (where == property_place::will ? "to a will" : std::string("into a ") + to_string(t));
    const auto same = [&p](const property& other) { return other.id == p.id; };
    if (!rule->repeats && std::count_if(all.all().begin(), all.all().end(), same) > 1)
      return "a property that stands there twice";
    if (std::string why = check_value(p, *rule); !why.empty()) return why;
  }
  return {};
}

std::string check_message(const properties& all, std::string_view payload) {
  // The first is the session's to give, the second a server's.
  for (const property_id id : {property_id::topic_alias, property_id::subscription_identifier})
    if (all.number(id)) return "a property that a message is not published with";
  if (std::string why = check_properties(all, packet_type::publish); !why.empty()) return why;
  return check_payload(all, payload);
}

std::string check_will(const will_message& w) {
  if (std::string why = check_topic(w.topic); !why.empty()) return "the will: " + why;
  if (w.payload.size() > most_checked_text) return "the will: its payload has more than 65535 bytes";
  std::string why = check_properties(w.properties, packet_type::connect, property_place::will);
  if (why.empty()) why = check_payload(w.properties, w.payload);
  return why.empty() ? why : "the will: " + why;
}

}  // namespace leat::net::mqtt
