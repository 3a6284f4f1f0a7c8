// SPDX-License-Identifier: BSL-1.0
//
// Records become messages and wait in the client for the broker's answer, up to `in_flight` of them. Where the channel
// delivers at least once, each is answered before the next is taken, because that acknowledges it.
#include <cstdint>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/mqtt_settings.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(mqtt_publish)

namespace leat::stock {
namespace {

namespace mqtt = net::mqtt;
using namespace std::chrono_literals;

std::vector<needed_field> fields_for_messages(const value& settings) {
  std::vector<needed_field> all;
  const std::string *format = text_in(settings, "format"), *field = text_in(settings, "field"),
                    *topic = text_in(settings, "topic");
  if (format && field && (*format == "text" || *format == "raw"))
    all.push_back({*field, value_kind::any, settings.find("field")});
  if (!topic || !validate_topic_template(*topic).empty()) return all;
  const topic_template parts(*topic);
  for (const std::string& name : parts.fields())
    all.push_back({name, value_kind::any, settings.find("topic")});
  return all;
}

class mqtt_publish : public process {
  record_in values{this, "values", needs_by(fields_for_messages), "one message for each record"};
  mqtt_settings broker{this};
  setting<std::string> topic{this, "topic", required, "\"plant/{site}/{sensor}\": text, and fields in braces",
                             validated_by(validate_topic_template)};
  setting<std::int64_t> qos{this, "qos", 1, "0: sent and forgotten, 1: kept until the broker has it",
                            between(0, 1)};
  setting<bool> retain{this, "retain", false,
                       "the broker keeps the last of each topic for those who come later"};
  setting<nanoseconds> expiry{this, "expiry", 0s, "after so long nobody gets it any more; 0: no end",
                              between<nanoseconds>(0s, 24h * 365 * 100)};
  setting<mqtt_format> format{this, "format", mqtt_format::json,
                              "json, cbor: all fields; text, raw: one field as it is"};
  setting<std::string> field{this, "field", "payload", "the field for format = \"text\" and \"raw\"",
                             validated_by(validate_field_name)};
  setting<std::int64_t> in_flight{this, "in_flight", 64,
                                  "messages that wait for the broker; then records wait", between(1, 65535)};
  setting<on_bad> unwanted{this, "unwanted", on_bad::drop, "what the broker does not want: drop it, or fail"};
  rejects bad{this, "a record that makes no message"};
  errors told{
      this,
      {{"a field of `topic` that is missing, or has '/', '+' or '#' in its value", "is wrong, as above"},
       {"a message that the broker does not want, or that is too large for it",
        "lost, counted and logged; with unwanted = \"fail\" the process fails"},
       {"a message that expires before it could be sent", "lost, counted and logged"},
       {"an answer that is lost", "published again: it may come twice"},
       {"a stop while the broker is away", "records in hand are lost, counted and logged"}}};

  void run() override {
    mqtt::client_options o = broker.options();
    o.session.queue = static_cast<std::size_t>(*in_flight);
    const topic_template to(*topic);
    const field_path payload = field_path::named(*field);
    const bool one_by_one = values.at_least_once();
    complaints dropped(*this, "dropped", complaints::ledger::lost);
    in_hand hand(this, values);
    mqtt::client c(std::move(o));
    while (const auto r = values.recv()) {
      std::string why;
      mqtt::message m;
      m.qos = static_cast<mqtt::qos>(*qos);
      m.retain = *retain;
      if (*expiry > 0s)
        m.properties.set(
            mqtt::property_id::message_expiry_interval,
            static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(*expiry).count()));
      std::optional<std::string> name = to.topic_of(*r, why);
      std::optional<std::string> body = name ? payload_of_record(*format, payload, *r, why) : std::nullopt;
      if (!body) {
        bad.add(std::move(why));
        continue;
      }
      m.topic = std::move(*name);
      m.payload = std::move(*body);
      hand.add();
      if (c.publish(std::move(m)) == 0) break;
      if (!settle(c, hand, dropped, one_by_one ? 0 : hand.count())) break;
    }
    if (!stop_requested()) (void)settle(c, hand, dropped, 0);
    if (const std::string why = c.failure(); !why.empty()) throw std::runtime_error(why);
    if (hand.count() > 0)
      log_error("stock", "{}: {} records were not published when it was stopped", name(), hand.count());
  }

  // Takes the answers that are there, and waits until no more than `left` are missing. False: they do not come.
  bool settle(mqtt::client& c, in_hand& hand, complaints& dropped, std::uint64_t left) {
    while (hand.count() > 0) {
      const auto r = c.next_result(hand.count() > left ? deadline::never() : deadline(0ns));
      if (!r) return hand.count() <= left;
      const bool done =
          r->outcome == mqtt::publish_outcome::acknowledged || r->outcome == mqtt::publish_outcome::sent;
      // It is in hand still, and counted with the rest.
      if (!done && r->outcome != mqtt::publish_outcome::expired && *unwanted == on_bad::fail)
        throw std::runtime_error(r->why);
      hand.settle(1);
      if (done) continue;
      dropped.add(r->why);
      values.acknowledge();
    }
    return true;
  }
};
LEAT_PROCESS_AS("mqtt-publish", mqtt_publish, "publishes each record as a message to an MQTT broker");

}  // namespace
}  // namespace leat::stock
