// SPDX-License-Identifier: BSL-1.0
#include <leat/config/templates.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <leat/config/inside_names.hpp>
#include <leat/config/parameters.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

// What a file may become by its templates.
constexpr std::size_t most_instances = 10'000;
constexpr std::size_t most_values = 1'000'000;

struct template_body {
  std::string name;
  source_location at = {};
  std::vector<parameter> parameters = {};
  const value* processes = nullptr;  // tables by name
  const value* channels = nullptr;
  const value* stand_ins = nullptr;
  inside_names declared = {};
  bool used = false;
};

class template_expander {
 public:
  template_expander(const environment_fn& environment, const std::vector<argument>& arguments,
                    source_set& sources, diagnostics& found)
      : environment_(environment), arguments_(arguments), sources_(sources), found_(found) {}

  value run(const value& root) {
    value::table out;
    const value* templates = nullptr;
    value uses;
    for (const value_member& m : root.get<value::table>()) {
      if (m.key == "template") {
        templates = &m.value;
        continue;
      }
      // They were needed, and expanded, before.
      if (m.key == "services" || m.key == "plugins") {
        out.push_back(m);
        continue;
      }
      value expanded = expand(m.value, {environment_, &arguments_}, found_);
      if (m.key == "use")
        uses = std::move(expanded);
      else
        out.push_back(value_member{m.key, m.key_at, std::move(expanded)});
    }
    if (templates) declare(*templates);
    if (uses) use_all(uses);
    for (const auto& [name, body] : bodies_)
      if (!body.used && !uses_unclear_)
        found_.warning("unused-template", body.at,
                       std::string("template '")
                           .append(name)
                           .append("' is never used, and so not checked; write [use.")
                           .append(name)
                           .append(".NAME]"));
    add(out, "process", processes_);
    add(out, "channel", channels_);
    add(out, "simulate", stand_ins_);
    return value(std::move(out), root.at());
  }

 private:
  bool is_table(const value& v, const std::string& what) {
    if (v.kind() == value_kind::table) return true;
    if (v) found_.error("type", v.at(), what + " must be a table, not " + kind_with_article(v.kind()));
    return false;
  }

  void declare(const value& templates) {
    if (!is_table(templates, "'template'")) {
      uses_unclear_ = true;
      return;
    }
    for (const value_member& m : templates.get<value::table>()) {
      template_body b{m.key, m.key_at};
      const std::string heading = "[template." + m.key + ']';
      if (!is_id(m.key))
        found_.error("name", m.key_at,
                     "'" + m.key + "' is not a name for a template: letters, digits, - and _");
      const std::size_t errors = found_.errors();
      if (is_table(m.value, heading)) declare_parts(b, m.value, heading);
      // One fault is enough.
      b.used = found_.errors() > errors || !is_id(m.key);
      bodies_.emplace(m.key, std::move(b));
    }
  }

  void declare_parts(template_body& b, const value& table, const std::string& heading) {
    for (const value_member& part : table.get<value::table>()) {
      if (part.key == "param") {
        b.parameters = read_parameters(expand(part.value, {environment_, &arguments_}, found_),
                                       "template '" + b.name + "'", found_);
      } else if (part.key == "simulate") {
        if (is_table(part.value, "'simulate' in " + heading)) b.stand_ins = &part.value;
      } else if (part.key == "process" || part.key == "channel") {
        if (!is_table(part.value, "'" + part.key + "' in " + heading)) continue;
        const bool process = part.key == "process";
        (process ? b.processes : b.channels) = &part.value;
        for (const value_member& one : part.value.get<value::table>())
          (process ? b.declared.processes : b.declared.channels).insert(one.key);
      } else {
        report_unknown("unknown-key", part.key_at, "unknown key '" + part.key + "' in " + heading, part.key,
                       {"param", "process", "channel", "simulate"}, found_);
      }
    }
    if (b.declared.processes.empty() && b.declared.channels.empty())
      found_.error("empty", b.at, "template '" + b.name + "' has no process and no channel");
  }

  void use_all(const value& uses) {
    if (!is_table(uses, "'use'")) {
      uses_unclear_ = true;
      return;
    }
    for (const value_member& of : uses.get<value::table>()) {
      const auto body = bodies_.find(of.key);
      if (body == bodies_.end()) {
        std::vector<std::string_view> names;
        for (const auto& [name, b] : bodies_) names.push_back(name);
        const std::string near =
            report_unknown("unknown-template", of.key_at, "unknown template '" + of.key + "'", of.key, names,
                           found_, "; add a table [template." + of.key + "]");
        if (const auto meant = bodies_.find(near); meant != bodies_.end()) meant->second.used = true;
        continue;
      }
      body->second.used = true;
      if (!is_table(of.value, "[use." + of.key + ']')) continue;
      for (const value_member& m : of.value.get<value::table>())
        if (is_table(m.value, "[use." + of.key + '.' + m.key + ']')) use(body->second, m);
    }
  }

  void use(const template_body& body, const value_member& m) {
    const auto& shared = m.value.get<value::table>();
    const value* elements = m.value.find("for_each");
    if (!elements) return instantiate(body, m.key, m.key_at, {{&shared}});
    const auto* list = elements->get_if<value::list>();
    if (!list) {
      if (*elements)
        found_.error("type", elements->at(),
                     "'for_each' must be a list, not " + kind_with_article(elements->kind()));
      return;
    }
    for (const value& e : *list) {
      if (const auto* name = e.get_if<std::string>()) {
        instantiate(body, *name, e.at(), {{&shared, "for_each"}});
        continue;
      }
      const auto* table = e.get_if<value::table>();
      if (!table) {
        if (e)
          found_.error(
              "type", e.at(),
              "an element of 'for_each' must be a name or a table, not " + kind_with_article(e.kind()));
        continue;
      }
      const value* name = e.find("name");
      if (!name) {
        found_.error("missing", e.at(), "the key 'name' of an element of 'for_each' is missing");
      } else if (const auto* text = name->get_if<std::string>()) {
        instantiate(body, *text, name->at(), {{&shared, "for_each"}, {table, "name"}});
      } else if (*name) {
        found_.error("type", name->at(), "'name' must be text, not " + kind_with_article(name->kind()));
      }
    }
  }

  void instantiate(const template_body& body, const std::string& name, source_location at,
                   const std::vector<given_table>& given) {
    if (budget_ == 0) return;
    if (!is_id(name)) {
      found_.error("name", at, "'" + name + "' is not a name for a use: letters, digits, - and _");
      return;
    }
    const auto [same, fresh] = used_.try_emplace({body.name, name}, at);
    if (!fresh) {
      diagnostic& f =
          found_.error("duplicate", at, "template '" + body.name + "' is used twice as '" + name + "'");
      f.notes.push_back({same->second, "first here"});
      return;
    }
    if (used_.size() > most_instances) budget_ = 0;
    const std::string of = "template '" + body.name + "'";
    std::vector<argument> arguments = bind(body.parameters, given, {of, name, at}, found_);
    arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
    const std::uint32_t file =
        sources_.add_use(body.at.file, at, of + " is used here as '" + name + "'", name + '-');
    const expand_scope scope{environment_, &arguments, file, &budget_};
    inside_names names = body.declared;
    names.prefix = name + '-';
    if (body.processes)
      for (const value_member& p : body.processes->get<value::table>()) {
        if (!scope.spend(names.prefix.size() + p.key.size())) break;
        processes_.push_back(value_member{names.prefix + p.key, moved(p.key_at, file),
                                          expand(rename_process(p.value, names), scope, found_)});
      }
    if (body.channels)
      for (const value_member& c : body.channels->get<value::table>()) {
        if (!scope.spend(names.prefix.size() + c.key.size())) break;
        channels_.push_back(value_member{names.prefix + c.key, moved(c.key_at, file),
                                         expand(rename_channel(c.value, names), scope, found_)});
      }
    if (body.stand_ins)
      for (const value_member& s : body.stand_ins->get<value::table>()) {
        if (!scope.spend(names.prefix.size() + s.key.size())) break;
        stand_ins_.push_back(value_member{names.prefix + s.key, moved(s.key_at, file),
                                          expand(rename_process(s.value, names), scope, found_)});
      }
    if (budget_ == 0)
      found_.error("limit", at,
                   "the templates of this file make too much of it: at most " +
                       std::to_string(most_instances) + " uses and " + std::to_string(most_values) +
                       " values, a long text counting as several");
  }

  static source_location moved(source_location at, std::uint32_t file) {
    at.file = file;
    return at;
  }

  // Beside what the file has itself.
  void add(value::table& out, const std::string& key, value::table& made) {
    if (made.empty()) return;
    auto group = std::find_if(out.begin(), out.end(), [&](const value_member& m) { return m.key == key; });
    if (group == out.end()) {
      const source_location at = made.front().key_at;
      out.push_back(value_member{key, at, value(value::table(), at)});
      group = out.end() - 1;
    }
    auto* members = group->value.get_if<value::table>();
    if (!members) return;  // reported as no table
    std::map<std::string, source_location, std::less<>> there;
    for (const value_member& m : *members) there.emplace(m.key, m.key_at);
    for (value_member& m : made) {
      const auto [same, fresh] = there.emplace(m.key, m.key_at);
      if (!fresh) {
        diagnostic& f = found_.error("duplicate", m.key_at, '[' + key + '.' + m.key + "] is there twice");
        f.notes.push_back({same->second, "first here"});
        continue;
      }
      members->push_back(std::move(m));
    }
  }

  const environment_fn& environment_;
  const std::vector<argument>& arguments_;
  source_set& sources_;
  diagnostics& found_;
  std::map<std::string, template_body, std::less<>> bodies_;
  std::map<std::pair<std::string, std::string>, source_location> used_;
  value::table processes_, channels_, stand_ins_;
  std::size_t budget_ = most_values;
  bool uses_unclear_ = false;  // what is wrong with them has been reported
};

}  // namespace

bool is_id(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

value expand_file(const value& root, const environment_fn& environment,
                  const std::vector<argument>& arguments, source_set& sources, diagnostics& found) {
  return template_expander(environment, arguments, sources, found).run(root);
}

}  // namespace leat::config
