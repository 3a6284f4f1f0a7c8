// SPDX-License-Identifier: BSL-1.0
#include <leat/services/describe.hpp>

#include <algorithm>

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
      text += ", default " + to_text(s.default_value);
    } else if (s.required) {
      text += ", required";
    }
    if (!s.help.empty()) text += "  # " + s.help;
    text += '\n';
    add_settings(text, s.fields, indent + "  ");
  }
}

// Of records: what is sent, or must be there.
std::string describe_fields(const port_schema& p) {
  std::string all = p.sends || p.needs ? "what settings say" : "";
  if (!p.fields_of.empty() && !p.sends) all += (all.empty() ? "all of '" : ", all of '") + p.fields_of + "'";
  for (const record_field& f : p.fields)
    all += (all.empty() ? "" : ", ") + f.name + ": " + to_string(f.kind) + (f.optional ? ", optional" : "");
  return all.empty() ? all
                     : "        " + std::string(p.direction == port_direction::in ? "needs" : "sends") +
                           " { " + all + " }\n";
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
  if (!c.errors.empty()) text += "  errors\n";
  for (const error_schema& e : c.errors) text += "    " + e.what + " -> " + e.answer + '\n';
  return text;
}

std::string describe_json(const class_schema& c, bool end_line) {
  std::string text = "{\"name\":" + quoted(c.name) + ",\"help\":" + quoted(c.help) + ",\"ports\":[";
  for (const port_schema& p : c.ports) {
    if (&p != &c.ports.front()) text += ',';
    text += "{\"name\":" + quoted(p.name) + ",\"direction\":" + quoted(to_string(p.direction)) +
            ",\"message\":" + quoted(p.message) + ",\"reply\":" + quoted(p.reply) +
            ",\"optional\":" + (p.optional ? "true" : "false") +
            ",\"converts\":" + (p.converts ? "true" : "false") + ",\"help\":" + quoted(p.help) + '}';
  }
  text += "],\"settings\":[";
  for (const setting_schema& s : c.settings) {
    if (&s != &c.settings.front()) text += ',';
    text += "{\"name\":" + quoted(s.name) + ",\"type\":" + quoted(describe_type(s)) +
            ",\"required\":" + (s.required && !s.default_value ? "true" : "false") +
            ",\"default\":" + quoted(to_text(s.default_value)) + ",\"help\":" + quoted(s.help) + '}';
  }
  text += "],\"errors\":[";
  for (const error_schema& e : c.errors) {
    if (&e != &c.errors.front()) text += ',';
    text += "{\"what\":" + quoted(e.what) + ",\"answer\":" + quoted(e.answer) + '}';
  }
  return text + "]}" + (end_line ? "\n" : "");
}

}  // namespace leat::services
