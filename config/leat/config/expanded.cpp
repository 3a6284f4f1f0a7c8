// SPDX-License-Identifier: BSL-1.0
#include <leat/config/expanded.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <leat/config/keys.hpp>
#include <leat/config/merge.hpp>

namespace leat::config {

namespace {

// As it was given: a number that came of a variable is a number here, and ${ in a text is no variable again.
value as_given(const value& v, diagnostics& found) {
  if (const expansion* e = found.expansion_at(v.at()); e && e->converted) return e->converted;
  if (const auto* text = v.get_if<std::string>()) {
    std::string out;
    std::size_t i = 0;
    for (std::size_t at; (at = text->find("${", i)) != std::string::npos; i = at + 2)
      out.append(*text, i, at - i).append("$${");
    return value(out.append(*text, i));
  }
  if (const auto* list = v.get_if<value::list>()) {
    value::list out;
    for (const value& e : *list)
      if (e) out.push_back(as_given(e, found));
    return value(std::move(out));
  }
  if (const auto* table = v.get_if<value::table>()) {
    value::table out;
    for (const value_member& m : *table)
      if (m.value) out.push_back(value_member{m.key, {}, as_given(m.value, found)});
    return value(std::move(out));
  }
  return v;
}

std::string key_text(const std::string& key) {
  // As a table of one member writes it: { key = 0 }
  value::table one;
  one.push_back(value_member{key, {}, value(0)});
  const std::string text = to_text(value(std::move(one)));
  const std::size_t from = text.find_first_not_of("{ ");
  return text.substr(from, text.rfind('=') - 1 - from);
}

class plain_writer {
 public:
  explicit plain_writer(diagnostics& found) : found_(found) {}

  void section(const std::string& heading, const value& table) {
    const auto* members = table.get_if<value::table>();
    if (!members) return;
    out_ += "\n[" + heading + "]\n";
    for (const value_member& m : *members)
      if (m.value) out_ += key_text(m.key) + " = " + to_text(as_given(m.value, found_)) + '\n';
  }

  void service(const merged_service& s) {
    value keys = s.service ? s.service : value(value::table());
    if (auto* members = keys.get_if<value::table>(); members && !keys.find("name"))
      members->insert(members->begin(), value_member{"name", {}, value(s.name.text)});
    section("service", keys);
    for (const value_member& p : s.processes) section("process." + key_text(p.key), p.value);
    for (const value_member& c : s.channels) section("channel." + key_text(c.key), c.value);
    for (const value_member& x : s.stand_ins) section("simulate." + key_text(x.key), x.value);
  }

  void deployment(const merged& m) {
    section("runtime", m.runtime);
    section("supervisor", m.supervisor);
    section("control", m.control);
    for (const value_member& x : m.other_stand_ins) section("simulate." + key_text(x.key), x.value);
  }

  void line(const std::string& text) { out_ += text + '\n'; }
  std::string take() { return std::move(out_); }

 private:
  diagnostics& found_;
  std::string out_ = "leat = " + std::to_string(grammar_version) + '\n';
};

}  // namespace

std::vector<expanded_file> expanded_files(const merged& from, const std::vector<plugin_file>& plugins,
                                          diagnostics& found) {
  std::vector<expanded_file> out;
  plain_writer first(found);
  const bool several = from.services.size() != 1;
  if (several) {
    value::list names;
    for (const merged_service& s : from.services) names.push_back(value(s.name.text + ".toml"));
    first.line("services = " + to_text(value(std::move(names))));
  }
  value::list loaded;
  for (const plugin_file& p : plugins) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(p.path, error);
    loaded.push_back(as_given(value(error ? p.path : whole.lexically_normal().string()), found));
  }
  if (!loaded.empty()) first.line("plugins = " + to_text(value(std::move(loaded))));
  if (!several) first.service(from.services.front());
  first.deployment(from);
  std::string name = several ? "deployment" : from.services.front().name.text;
  while (several && std::any_of(from.services.begin(), from.services.end(),
                                [&](const merged_service& s) { return s.name.text == name; }))
    name += "-all";
  out.push_back(expanded_file{name + ".toml", first.take()});
  if (!several) return out;
  for (const merged_service& s : from.services) {
    plain_writer w(found);
    w.service(s);
    out.push_back(expanded_file{s.name.text + ".toml", w.take()});
  }
  return out;
}

}  // namespace leat::config
