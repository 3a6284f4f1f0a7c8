// SPDX-License-Identifier: BSL-1.0
//
// One message at a time from the client to the channel, and then its acknowledgement. A process that is stopped or
// fails in between acknowledges nothing: the broker sends the message again, if it keeps the session.
#include <cstdint>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/mqtt_settings.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(mqtt_subscribe)

namespace leat::stock {
namespace {

namespace mqtt = net::mqtt;

std::optional<std::vector<record_field>> fields_of_messages(const value& settings,
                                                            const std::vector<record_field>*) {
  const std::string *format = text_in(settings, "format"), *field = text_in(settings, "field"),
                    *topic = text_in(settings, "topic_field");
  if (!format || !field || (*format != "text" && *format != "raw")) return std::nullopt;
  std::vector<record_field> all{{*field, value_kind::text}};
  if (topic && !topic->empty()) all.push_back({*topic, value_kind::text});
  return all;
}

class mqtt_subscribe : public process {
  record_out values{this, "values", sends_by(fields_of_messages), "one record for each message"};
  mqtt_settings broker{this};
  setting<std::vector<std::string>> topics{this, "topics", required,
                                           "topic filters: \"plant/+/temperature\", \"$share/GROUP/FILTER\"",
                                           validated_by(validate_filters)};
  setting<std::int64_t> qos{
      this, "qos", 1, "0: at most once, 1: at least once, 2: as a publisher may send it", between(0, 2)};
  setting<mqtt_format> format{
      this, "format", mqtt_format::json,
      "json, cbor: an object with the fields; text: UTF-8 in one field; raw: any bytes in it"};
  setting<std::string> field{this, "field", "payload", "the field for format = \"text\" and \"raw\"",
                             validated_by(validate_field_name)};
  setting<std::string> topic_field{this, "topic_field", "",
                                   "a field for the topic of each message; none: left out"};
  setting<std::int64_t> in_flight{this, "in_flight", 64,
                                  "messages that the broker sends before the first of them is acknowledged",
                                  between(1, 65535)};
  setting<byte_size> longest{this, "longest", byte_size{std::size_t{1} << 20},
                             "bytes of a packet; a longer one is not sent to us",
                             between(byte_size{128}, byte_size{std::size_t{256} << 20})};
  rejects bad{this, "a message that does not fit the record"};
  errors told{this,
              {{"a payload that is not JSON, no CBOR, or not UTF-8",
                "is wrong, as above; the broker keeps it no longer"},
               {"a record that does not fit the message of the channel", "is wrong, as above"},
               {"a subscription that the broker refuses", "the process fails"},
               {"a broker that has lost its session", "logged; it is subscribed to again"},
               {"the process ends with a message in hand",
                "it is not acknowledged: it comes again in the same session"},
               nobody_reads,
               channel_is_full}};
  passes pass{this};

  // False: nobody wants more.
  bool take(mqtt::delivery& d) {
    try {
      record r = record_of_payload(*format, *field, std::move(d.message.payload));
      if (!topic_field->empty()) r[*topic_field] = d.message.topic;
      return pass(values, std::move(r));
    } catch (const std::runtime_error& wrong) {  // message_error is one
      bad.add_input(d.message.topic + ": " + wrong.what());
      return true;
    }
  }

  void run() override {
    mqtt::client_options o = broker.options();
    o.session.receive_maximum = static_cast<std::uint16_t>(*in_flight);
    o.session.maximum_packet_size = static_cast<std::uint32_t>(longest->bytes);
    o.give_up_unless_subscribed = true;
    o.session.most_waiting = static_cast<std::size_t>(*in_flight);
    mqtt::client c(std::move(o));
    for (const std::string& filter : *topics)
      c.subscribe(
          {.filter = filter, .qos = static_cast<mqtt::qos>(*qos), .retain_handling = mqtt::retained::if_new});
    while (auto d = c.receive()) {
      if (!take(*d)) return;
      c.acknowledge(d->token);
    }
    if (const std::string why = c.failure(); !why.empty()) throw std::runtime_error(why);
  }
};
LEAT_PROCESS_AS("mqtt-subscribe", mqtt_subscribe, "makes a record of each message from an MQTT broker");

}  // namespace
}  // namespace leat::stock
