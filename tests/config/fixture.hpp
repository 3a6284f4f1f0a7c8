// SPDX-License-Identifier: BSL-1.0
//
// The process classes that the files of these tests use.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>

namespace leat::config::test {

class test_catalog final : public catalog {
 public:
  test_catalog() {
    using namespace std::chrono_literals;
    using kind = value_kind;

    class_schema probe{.name = "ticker-sim", .help = "makes samples"};
    probe.ports.push_back(out("value", "sample"));
    probe.settings.push_back(
        {.name = "period", .kind = kind::duration, .least = value(1ms), .default_value = value(1s)});
    probe.settings.push_back({.name = "missed",
                              .kind = kind::enumeration,
                              .names = {"skip", "burst", "delay"},
                              .default_value = value("skip")});
    probe.object_size = 128;
    add(probe);

    class_schema smooth{.name = "smooth", .help = "moving average"};
    smooth.ports.push_back(in("raw", "sample"));
    smooth.ports.push_back(out("clean", "sample"));
    smooth.settings.push_back({.name = "window",
                               .kind = kind::integer,
                               .least = value(1),
                               .most = value(1024),
                               .default_value = value(8),
                               .help = "samples averaged"});
    smooth.states.push_back({.name = "last", .type = "list of double"});
    smooth.object_size = 256;
    add(smooth);

    class_schema panel{.name = "http-json", .help = "shows readings"};
    panel.ports.push_back(in("live", "sample"));
    panel.ports.back().shareable = false;
    panel.settings.push_back({.name = "listen", .kind = kind::text, .required = true});
    panel.settings.push_back({.name = "scale", .kind = kind::real, .least = value(0.5), .most = value(2.0)});
    panel.settings.push_back({.name = "verbose", .kind = kind::boolean});
    panel.settings.push_back({.name = "buffer", .kind = kind::size, .most = value(byte_size{1 << 20})});
    panel.settings.push_back({.name = "paths", .kind = kind::list, .element = {{.kind = kind::text}}});
    panel.settings.push_back(
        {.name = "delays", .kind = kind::list, .element = {{.kind = kind::duration, .most = value(1s)}}});
    setting_schema tls{.name = "tls", .kind = kind::table};
    tls.fields.push_back({.name = "certificate", .kind = kind::text, .required = true});
    tls.fields.push_back({.name = "depth",
                          .kind = kind::integer,
                          .least = value(1),
                          .most = value(9),
                          .default_value = value(3)});
    panel.settings.push_back(tls);
    add(panel);

    class_schema sink{.name = "sink", .help = "takes samples"};
    sink.ports.push_back(in("samples", "sample"));
    add(sink);

    class_schema logger{.name = "logger", .help = "takes readings"};
    logger.ports.push_back(in("readings", "reading"));
    add(logger);

    class_schema relay{.name = "relay", .help = "answers what it is sent"};
    relay.ports.push_back(in("left", "sample"));
    relay.ports.push_back(out("right", "sample"));
    relay.ports.push_back(out("spare", "sample"));
    relay.ports.back().optional = true;
    add(relay);

    class_schema controller{.name = "controller", .help = "an actor"};
    for (const char* name : {"sample", "reading"}) {
      controller.ports.push_back(in((std::string("inbox.") + name).c_str(), name));
      controller.ports.back().inbox = "inbox";
    }
    controller.ports.push_back(in("inbox.query", "query"));
    controller.ports.back().inbox = "inbox";
    controller.ports.back().reply = "answer";
    add(controller);

    class_schema asker{.name = "asker", .help = "a client"};
    asker.ports.push_back(out("controller", "query"));
    asker.ports.back().reply = "answer";
    add(asker);

    class_schema slow{.name = "slow", .help = "asks for limits of its own"};
    slow.limits = {.hang = 30s, .grace = 5s, .watchdog = 1min};
    add(slow);

    class_schema slower{.name = "slow-by-setting", .help = "asks for what a setting says"};
    slower.settings.push_back({.name = "patience", .kind = kind::duration, .default_value = value(3s)});
    slower.limits_by = [](const value& settings) {
      return process_limits{.grace = settings.find("patience")->get<nanoseconds>() + 1s};
    };
    add(slower);

    class_schema camera{.name = "camera-sim", .help = "sends what can only be moved"};
    camera.ports.push_back(out("frames", "frame"));
    camera.ports.back().copyable = false;
    add(camera);

    class_schema viewer{.name = "viewer", .help = "takes what can only be moved"};
    viewer.ports.push_back(in("frames", "frame"));
    viewer.ports.back().copyable = false;
    add(viewer);

    class_schema weigher{.name = "weigher", .help = "takes what has fields and can only be moved"};
    weigher.ports.push_back(in("loads", "load"));
    weigher.ports.back().copyable = false;
    add(weigher);

    class_schema sim{.name = "sensor-sim", .help = "sends records"};
    sim.ports.push_back(converting(out("values", "record")));
    sim.ports.back().fields = {
        {"sensor", value_kind::text}, {"at", value_kind::moment}, {"value", value_kind::real}};
    add(sim);

    class_schema gps{.name = "gps-sim", .help = "sends records with structure"};
    gps.ports.push_back(converting(out("fixes", "record")));
    gps.ports.back().fields = {{"where", value_kind::table},     {"where.lat", value_kind::real},
                               {"where.name", value_kind::text}, {"raw", value_kind::list},
                               {"raw[]", value_kind::integer},   {"more", value_kind::table}};
    add(gps);

    class_schema deadband{.name = "deadband", .help = "passes on what has changed"};
    deadband.ports.push_back(converting(in("values", "record")));
    deadband.ports.push_back(converting(out("out", "record")));
    deadband.ports.back().fields_of = "values";
    deadband.settings.push_back({.name = "field",
                                 .kind = kind::text,
                                 .default_value = value("value"),
                                 .field_of = "values",
                                 .field_holds = value_kind::real});
    deadband.settings.push_back(
        {.name = "keys", .kind = kind::list, .element = {{.kind = kind::text}}, .field_of = "values"});
    add(deadband);

    class_schema record{.name = "recorder", .help = "takes records"};
    record.ports.push_back(converting(in("values", "record")));
    record.ports.back().fields = {{"at", value_kind::moment, true}};
    add(record);

    class_schema trend{.name = "trend", .help = "takes records with a value"};
    trend.ports.push_back(converting(in("values", "record")));
    trend.ports.back().fields = {{"value", value_kind::real}};
    add(trend);

    class_schema line{.name = "line-reader", .help = "sends a record for each line"};
    line.ports.push_back(converting(out("values", "record")));
    line.ports.back().sends = [](const value& settings, const std::vector<record_field>*) {
      std::optional<std::vector<record_field>> all;
      const auto& columns = settings.find("columns")->get<value::list>();
      if (!columns.empty()) all.emplace();
      for (const value& v : columns) all->push_back({v.get<std::string>()});
      return all;
    };
    line.settings.push_back(
        {.name = "from", .kind = kind::text, .required = true, .validate_text = [](const std::string& text) {
           return std::string(text.find(':') == text.npos ? "expected HOST:PORT" : "");
         }});
    line.settings.push_back({.name = "columns",
                             .kind = kind::list,
                             .element = {{.kind = kind::text,
                                          .validate_text =
                                              [](const std::string& text) {
                                                return std::string(text.empty() ? "a column has no name"
                                                                                : "");
                                              }}},
                             .default_value = value(value::list()),
                             .validate = [](const value& names) {
                               std::vector<setting_diagnostic> wrong;
                               const auto& all = names.get<value::list>();
                               for (std::size_t i = 1; i < all.size(); ++i)
                                 if (all[i] == all[0]) wrong.push_back({"two columns are one", &all[i]});
                               return wrong;
                             }});
    line.settings.push_back({.name = "least", .kind = kind::integer, .default_value = value(0)});
    line.settings.push_back({.name = "most", .kind = kind::integer, .default_value = value(9)});
    line.validators.push_back([](const value& settings) {
      std::vector<setting_diagnostic> wrong;
      const value* const least = settings.find("least");
      if (least->get<std::int64_t>() == 13) throw std::runtime_error("bad luck");
      if (least->get<std::int64_t>() > settings.find("most")->get<std::int64_t>())
        wrong.push_back({"`least` is above `most`", least});
      return wrong;
    });
    add(line);

    class_schema writer{.name = "line-writer", .help = "takes records"};
    writer.ports.push_back(converting(in("values", "record")));
    writer.ports.back().needs = [](const value& settings) {
      const value* const field = settings.find("field");
      return std::vector<needed_field>{{field->get<std::string>(), value_kind::any, field}};
    };
    writer.settings.push_back({.name = "field", .kind = kind::text, .default_value = value("line")});
    add(writer);

    for (const char* name : {"answer", "query", "reading", "sample"})
      messages_.push_back({.name = name,
                           .size = 16,
                           .fields = {{"celsius", "double"}, {"at_ms", "integer"}},
                           .as_record = {{"celsius", value_kind::real}, {"at_ms", value_kind::integer}}});
    messages_.insert(
        messages_.begin() + 1,
        {.name = "load",
         .size = 48,
         .fields = {{"sensor", "text"}, {"at", "time"}, {"value", "double"}},
         .as_record = {
             {"sensor", value_kind::text}, {"at", value_kind::moment}, {"value", value_kind::real}}});
    messages_.push_back({.name = "record", .size = 24});
    messages_.push_back({.name = "uint32", .size = 4});
    class_schema count{.name = "counter", .help = "counts"};
    count.ports.push_back(out("count", "uint32"));
    add(count);
  }

  const class_schema* find_class(std::string_view name) const override { return find(classes_, name); }
  const message_schema* find_message(std::string_view name) const override { return find(messages_, name); }
  std::vector<const class_schema*> classes() const override { return all(classes_); }
  std::vector<const message_schema*> messages() const override { return all(messages_); }

 private:
  static port_schema in(const char* name, const char* message) {
    return {.name = name, .direction = port_direction::in, .message = message, .value_size = 16};
  }
  static port_schema out(const char* name, const char* message) {
    return {.name = name, .direction = port_direction::out, .message = message, .value_size = 16};
  }
  static port_schema converting(port_schema p) {
    p.converts = true;
    return p;
  }
  void add(const class_schema& c) { classes_.push_back(c); }

  template <class T>
  static const T* find(const std::vector<T>& among, std::string_view name) {
    for (const T& t : among)
      if (t.name == name) return &t;
    return nullptr;
  }
  template <class T>
  static std::vector<const T*> all(const std::vector<T>& among) {
    std::vector<const T*> out;
    for (const T& t : among) out.push_back(&t);
    return out;
  }

  std::vector<class_schema> classes_;
  std::vector<message_schema> messages_;
};

}  // namespace leat::config::test
