// SPDX-License-Identifier: BSL-1.0
#include <leat/config/json_schema.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <leat/config/keys.hpp>
#include <leat/config/parameters.hpp>
#include <leat/config/render.hpp>

namespace leat::config {

namespace {

// Where a text may be, it may also come from the environment.
constexpr std::string_view variable = R"(\$\{)";
constexpr std::string_view duration_pattern = R"(^0$|^([0-9]+(\.[0-9]+)?(d|h|m|s|ms|us|ns))+$|\$\{)";
constexpr std::string_view size_pattern = R"(^[0-9]+(\.[0-9]+)?([kKMGTPE]|[KMGTPE]iB)?$|\$\{)";
constexpr std::string_view id_pattern = "^[A-Za-z0-9_-]+$";
constexpr std::string_view ids_pattern = "^[A-Za-z0-9_*-]+$";  // of an override: all that fit

constexpr std::string_view stand_ins_pattern = "^[A-Za-z0-9_*/-]+$";  // SERVICE/PROCESS as well

// "name":value pairs with their commas.
class object {
 public:
  object& raw(std::string_view name, const std::string& json) {
    if (text_.size() > 1) text_ += ',';
    text_ += json_quoted(name) + ':' + json;
    return *this;
  }
  object& text(std::string_view name, std::string_view v) { return raw(name, json_quoted(v)); }
  bool empty() const noexcept { return text_.size() == 1; }
  std::string done() const { return text_ + '}'; }

 private:
  std::string text_ = "{";
};

template <class Range>
std::string array_of_texts(const Range& range) {
  std::string out = "[";
  for (const auto& v : range) {
    if (out.size() > 1) out += ',';
    out += json_quoted(v);
  }
  return out + ']';
}

std::string json_of(const value& v) {
  switch (v.kind()) {
    case value_kind::text: return json_quoted(v.get<std::string>());
    case value_kind::duration: return json_quoted(format_duration(v.get<nanoseconds>()));
    case value_kind::size: return json_quoted(format_size(v.get<byte_size>().bytes));
    case value_kind::list: {
      std::string out = "[";
      for (const value& e : v.get<value::list>()) {
        if (out.size() > 1) out += ',';
        out += json_of(e);
      }
      return out + ']';
    }
    case value_kind::table: {
      object out;
      for (const value_member& m : v.get<value::table>()) out.raw(m.key, json_of(m.value));
      return out.done();
    }
    default: return to_text(v);
  }
}

void describe_fields(object& out, const std::vector<setting_schema>& fields);

void describe_setting(object& out, const setting_schema& s) {
  switch (s.kind) {
    case value_kind::integer:
    case value_kind::real:
      // A text only from a variable.
      out.raw("type", s.kind == value_kind::integer ? R"(["integer","string"])" : R"(["number","string"])")
          .text("pattern", variable);
      if (s.least) out.raw("minimum", json_of(s.least));
      if (s.most) out.raw("maximum", json_of(s.most));
      break;
    case value_kind::boolean: out.raw("type", R"(["boolean","string"])").text("pattern", variable); break;
    case value_kind::text: out.text("type", "string"); break;
    case value_kind::duration: out.text("type", "string").text("pattern", duration_pattern); break;
    case value_kind::size: out.text("type", "string").text("pattern", size_pattern); break;
    case value_kind::enumeration:
      out.text("type", "string")
          .raw("anyOf",
               "[{\"enum\":" + array_of_texts(s.names) + "},{\"pattern\":" + json_quoted(variable) + "}]");
      break;
    case value_kind::list: {
      // A parameter may stand for all of it.
      out.raw("type", R"(["array","string"])").text("pattern", variable);
      object element;
      if (!s.element.empty()) describe_setting(element, s.element.front());
      out.raw("items", element.done());
      break;
    }
    case value_kind::table:
      if (!s.element.empty()) {
        object member;
        describe_setting(member, s.element.front());
        out.text("type", "object").raw("additionalProperties", member.done());
      } else {
        describe_fields(out, s.fields);
      }
      break;
    default: break;  // no setting is that
  }
}

// JSON Schema has no limits for texts with units: they are in the description.
std::string description_of(const setting_schema& s) {
  const setting_schema& inner = s.element.empty() ? s : s.element.front();
  const bool in_words =
      (inner.kind == value_kind::duration || inner.kind == value_kind::size) && (inner.least || inner.most);
  if (!in_words) return s.help;
  return s.help.empty() ? describe_type(s) : s.help + " (" + describe_type(s) + ')';
}

std::string setting_json(const setting_schema& s) {
  object out;
  describe_setting(out, s);
  if (const std::string text = description_of(s); !text.empty()) out.text("description", text);
  if (s.default_value) out.raw("default", json_of(shown_value(s, s.default_value)));
  return out.done();
}

void describe_fields(object& out, const std::vector<setting_schema>& fields) {
  object properties;
  std::vector<std::string_view> required;
  for (const setting_schema& f : fields) {
    properties.raw(f.name, setting_json(f));
    if (f.required && !f.default_value) required.push_back(f.name);
  }
  out.text("type", "object").raw("additionalProperties", "false").raw("properties", properties.done());
  if (!required.empty()) out.raw("required", array_of_texts(required));
}

std::string reference(std::string_view section) {
  return object().text("$ref", "#/definitions/" + std::string(section)).done();
}

std::string by_name(const std::string& of, std::string_view pattern = id_pattern) {
  return object()
      .text("type", "object")
      .raw("propertyNames", object().text("pattern", pattern).done())
      .raw("additionalProperties", of)
      .done();
}

std::string key_json(const key_info& k) {
  object out;
  switch (k.shape) {
    case key_shape::setting: describe_setting(out, k.type); break;
    case key_shape::word_or: {
      object plain;
      describe_setting(plain, k.type);
      out.raw("anyOf", '[' + plain.done() + ",{\"enum\":[" + json_quoted(k.word) + "]}]");
      break;
    }
    case key_shape::class_config: out.text("type", "object"); break;
    case key_shape::ports:
      out.text("type", "object").raw("additionalProperties", reference("channels"));
      break;
    case key_shape::policies: {
      object policy;
      describe_setting(policy, section_of("channel").find("full")->type);
      out.text("type", "object").raw("additionalProperties", policy.done());
      break;
    }
    case key_shape::deliveries: {
      const std::string choice = "{\"enum\":" + array_of_texts(delivery_names) + '}';
      out.raw("anyOf", '[' + choice + ",{\"type\":\"object\",\"additionalProperties\":" + choice + "}]");
      break;
    }
    case key_shape::maps:
      out.text("type", "object")
          .raw("additionalProperties",
               object().text("type", "object").raw("additionalProperties", R"({"type":"string"})").done());
      break;
    case key_shape::section: out.raw("allOf", '[' + reference(k.type.name) + ']'); break;
    case key_shape::named_section:
      out.raw("allOf", '[' +
                           (k.type.name == "simulate" ? by_name(reference("simulate"), stand_ins_pattern)
                                                      : by_name(reference(k.type.name))) +
                           ']');
      break;
    case key_shape::services:
      out.text("type", "array")
          .raw(
              "items",
              R"({"anyOf":[{"type":"string"},{"type":"object","additionalProperties":false,"required":["file"],)"
              R"("properties":{"file":{"type":"string"},"name":{"type":"string"},"with":{"type":"object"}}}]})");
      break;
    case key_shape::parameters: {
      const std::string type = "{\"enum\":" + array_of_texts(parameter_types) + '}';
      const std::string table =
          object()
              .text("type", "object")
              .raw("additionalProperties", "false")
              .raw("required", R"(["type"])")
              .raw("properties",
                   object().raw("type", type).raw("default", "{}").raw("help", R"({"type":"string"})").done())
              .done();
      out.text("type", "object").raw("additionalProperties", "{\"anyOf\":[" + type + ',' + table + "]}");
      break;
    }
    case key_shape::uses: out.raw("allOf", '[' + by_name(by_name(reference("use"))) + ']'); break;
    case key_shape::overrides:
      out.raw("allOf", '[' + by_name(reference("override"), ids_pattern) + ']');
      break;
  }
  if (!k.type.help.empty()) out.text("description", k.type.help);
  if (k.shape == key_shape::word_or)
    out.text("default", k.word);
  else if (k.type.default_value)
    out.raw("default", json_of(k.type.default_value));
  return out.done();
}

// The classes as alternatives of `use`, and for each what its config, in and out may be.
void describe_classes(object& out, object& properties, const catalog& classes) {
  std::string choices = "[";
  std::string rules = "[";
  for (const class_schema* c : classes.classes()) {
    if (choices.size() > 1) choices += ',';
    choices += object().text("const", c->name).text("description", c->help).done();
    object config, in, out_ports;
    describe_fields(config, c->settings);
    for (const port_schema& p : c->ports)
      (p.direction == port_direction::in ? in : out_ports).raw(p.name, reference("channels"));
    object then;
    then.raw("config", config.done());
    for (const auto& [name, ports] : {std::pair("in", &in), std::pair("out", &out_ports)}) {
      // in = { inbox.reading = "x" } is a table in a table for a schema.
      const bool dotted = std::any_of(c->ports.begin(), c->ports.end(), [](const port_schema& p) {
        return p.name.find('.') != std::string::npos;
      });
      if (!dotted)
        then.raw(name, object().raw("properties", ports->done()).raw("additionalProperties", "false").done());
    }
    if (rules.size() > 1) rules += ',';
    rules += object()
                 .raw("if", "{\"properties\":{\"use\":{\"const\":" + json_quoted(c->name) + "}}}")
                 .raw("then", object().raw("properties", then.done()).done())
                 .done();
  }
  choices += (choices.size() > 1 ? "," : "") + object().text("pattern", variable).done();
  properties.raw("use", object().text("type", "string").raw("anyOf", choices + ']').done());
  if (rules.size() > 1) out.raw("allOf", rules + ']');
}

std::string section_json(const key_section& s, const catalog* classes, bool partly) {
  object out;
  object properties;
  std::vector<std::string_view> required;
  const bool with_classes = s.name == "process" && classes && !partly;
  if (with_classes) describe_classes(out, properties, *classes);
  for (const key_info& k : s.keys) {
    if (!with_classes || k.type.name != "use") properties.raw(k.type.name, key_json(k));
    if (k.type.required && !partly) required.push_back(k.type.name);
  }
  if (partly) properties.raw("unset", R"({"type":"array","items":{"type":"string"}})");
  // The other keys of a use are parameters.
  out.text("type", "object").raw("additionalProperties", s.name == "use" ? "true" : "false");
  out.raw("properties", properties.done());
  if (!required.empty()) out.raw("required", array_of_texts(required));
  return out.done();
}

}  // namespace

std::string json_schema(const catalog* classes) {
  object definitions;
  definitions.raw("channels",
                  R"({"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"minItems":1},)"
                  R"({"type":"object","additionalProperties":{"$ref":"#/definitions/channels"}}]})");
  for (const key_section& s : all_sections())
    if (!s.name.empty()) definitions.raw(s.name, section_json(s, classes, false));
  object parts;
  for (const char* name : {"process", "channel"})
    parts.raw(name, by_name(section_json(section_of(name), nullptr, true), ids_pattern));
  parts.raw("service", section_json(section_of("service"), nullptr, true));
  definitions.raw("override", object()
                                  .text("type", "object")
                                  .raw("additionalProperties", "false")
                                  .raw("properties", parts.done())
                                  .done());

  const std::string head = object()
                               .text("$schema", "http://json-schema.org/draft-07/schema#")
                               .text("title", "Leat services and deployments")
                               .raw("definitions", definitions.done())
                               .done();
  const std::string top = section_json(section_of(""), nullptr, false);
  return head.substr(0, head.size() - 1) + ',' + top.substr(1) + '\n';
}

}  // namespace leat::config
