// SPDX-License-Identifier: BSL-1.0
#include <leat/services/describe.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <leat/base/units.hpp>

namespace leat::services {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

void add_settings(std::string& text, const std::vector<setting_schema>& settings, const std::string& indent) {
  std::size_t width = 0;
  for (const setting_schema& s : settings) width = std::max(width, s.name.size());
  for (const setting_schema& s : settings) {
    text += indent + padded(s.name, width) + "  " + describe_type(s);
    if (s.default_value) {
      text += ", default " + to_text(shown_value(s, s.default_value));
    } else if (s.required) {
      text += ", required";
    }
    if (s.live) text += ", live";
    if (s.secret) text += ", secret";
    if (!s.help.empty()) text += "  # " + s.help;
    text += '\n';
    add_settings(text, s.fields, indent + "  ");
    if (!s.element.empty()) add_settings(text, s.element.front().fields, indent + "  ");
  }
}

// A structure, and a list of structures, have their fields with them.
std::string settings_json(const std::vector<setting_schema>& settings) {
  std::string text = "[";
  for (const setting_schema& s : settings) {
    if (text.size() > 1) text += ',';
    text += "{\"name\":" + in_quotes(s.name) + ",\"type\":" + in_quotes(describe_type(s)) +
            ",\"required\":" + (s.required && !s.default_value ? "true" : "false") +
            ",\"live\":" + (s.live ? "true" : "false") + ",\"secret\":" + (s.secret ? "true" : "false") +
            ",\"default\":" + in_quotes(to_text(shown_value(s, s.default_value))) +
            ",\"help\":" + in_quotes(s.help);
    const std::vector<setting_schema>& fields = s.element.empty() ? s.fields : s.element.front().fields;
    if (!fields.empty()) text += ",\"fields\":" + settings_json(fields);
    text += '}';
  }
  return text + ']';
}

// Of records: what is sent, or must be there.
std::string describe_fields(const port_schema& p) {
  std::string all = p.sends || p.needs ? "what settings say" : "";
  if (!p.fields_of.empty() && !p.sends) all += (all.empty() ? "all of '" : ", all of '") + p.fields_of + "'";
  for (const record_field& f : p.fields)
    all += (all.empty() ? "" : ", ") + f.name + ": " + in_words(f.kind) + (f.optional ? ", optional" : "");
  return all.empty() ? all
                     : "        " + std::string(p.direction == port_direction::in ? "needs" : "sends") +
                           " { " + all + " }\n";
}

struct named_limit {
  const char* name;
  std::optional<nanoseconds> value;
};
// What the class asks for, with the settings that a file gets that says nothing.
std::vector<named_limit> limits_of(const class_schema& c) {
  process_limits l = c.limits;
  if (c.limits_by) {
    value::table settings;
    for (const setting_schema& s : c.settings)
      if (s.default_value) settings.push_back({s.name, {}, s.default_value});
    l = c.limits_by(value(std::move(settings)));
  }
  return {{"hang", l.hang}, {"grace", l.grace}, {"watchdog", l.watchdog}};
}

}  // namespace

std::string describe_text(const class_schema& c, const catalog& all) {
  std::string text = c.name + (c.help.empty() ? "" : ": " + c.help) + '\n';
  for (const port_direction d : {port_direction::in, port_direction::out}) {
    for (const port_schema& p : c.ports) {
      if (p.direction != d) continue;
      text += "  " + padded(to_string(d), 3) + ' ' + p.name + ": " + p.message;
      if (p.converts) text += ", or any message with fields";
      if (!p.reply.empty()) text += " answered by " + p.reply;
      if (p.optional) text += ", optional";
      if (!p.shareable) text += ", not to be shared by replicas";
      if (!p.help.empty()) text += "  # " + p.help;
      text += '\n' + describe_fields(p);
      if (const message_schema* const m = all.find_message(p.message)) {
        std::string fields;
        for (const field_schema& f : m->fields)
          fields += (fields.empty() ? "" : ", ") + f.name + ": " + f.type;
        if (!fields.empty()) text += "        { " + fields + " }\n";
      }
    }
  }
  if (!c.settings.empty()) text += "  config\n";
  add_settings(text, c.settings, "    ");
  if (!c.states.empty()) text += "  state\n";
  for (const state_schema& s : c.states)
    text += "    " + s.name + (s.type.empty() ? "" : "  " + s.type) +
            (s.not_kept.empty() ? "" : "  # not for a file: " + s.not_kept) + '\n';
  std::string limits;
  for (const named_limit& l : limits_of(c))
    if (l.value)
      limits += "    " + std::string(l.name) + " = " + in_quotes(format_duration(*l.value)) +
                (c.limits_by ? "  # by its settings" : "") + '\n';
  if (!limits.empty()) text += "  limits, unless the file says otherwise\n" + limits;
  if (!c.errors.empty()) text += "  errors\n";
  for (const error_schema& e : c.errors) text += "    " + e.what + " -> " + e.answer + '\n';
  return text;
}

std::string describe_json(const class_schema& c, bool end_line) {
  std::string text = "{\"name\":" + in_quotes(c.name) + ",\"help\":" + in_quotes(c.help) + ",\"ports\":[";
  for (const port_schema& p : c.ports) {
    if (&p != &c.ports.front()) text += ',';
    text += "{\"name\":" + in_quotes(p.name) + ",\"direction\":" + in_quotes(to_string(p.direction)) +
            ",\"message\":" + in_quotes(p.message) + ",\"reply\":" + in_quotes(p.reply) +
            ",\"optional\":" + (p.optional ? "true" : "false") +
            ",\"converts\":" + (p.converts ? "true" : "false") + ",\"help\":" + in_quotes(p.help) + '}';
  }
  text += "],\"settings\":" + settings_json(c.settings) + ",\"limits\":{";
  bool first = true;
  for (const named_limit& l : limits_of(c)) {
    if (!l.value) continue;
    text += (first ? "" : ",") + in_quotes(l.name) + ':' + in_quotes(format_duration(*l.value));
    first = false;
  }
  text += "},\"errors\":[";
  for (const error_schema& e : c.errors) {
    if (&e != &c.errors.front()) text += ',';
    text += "{\"what\":" + in_quotes(e.what) + ",\"answer\":" + in_quotes(e.answer) + '}';
  }
  text += "],\"states\":[";
  for (const state_schema& s : c.states) {
    if (&s != &c.states.front()) text += ',';
    text += "{\"name\":" + in_quotes(s.name) + ",\"type\":" + in_quotes(s.type) +
            ",\"not_kept\":" + in_quotes(s.not_kept) + '}';
  }
  return text + "]}" + (end_line ? "\n" : "");
}

}  // namespace leat::services
