// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(select_fields)

namespace leat::stock {
namespace {

struct new_name {
  std::string from, to;
};
LEAT_SETTINGS(new_name, from, to);

struct constant {
  std::string field;
  std::optional<std::string> text;
  std::optional<double> number;
  std::optional<bool> flag;
};
LEAT_SETTINGS(constant, field, text, number, flag);

const value::list& elements(const value* v) {
  static const value::list none;
  const auto* const list = v ? v->get_if<value::list>() : nullptr;
  return list ? *list : none;
}

// What `keep` and `drop` leave.
class choice {
 public:
  explicit choice(const value& settings)
      : keep_(names_in(settings.find("keep"))), drop_(names_in(settings.find("drop"))) {
    for (const std::string& name : keep_)
      (void)any_field_around(name, [&](std::string_view outer) { return around_.emplace(outer), false; });
  }
  bool stays(const std::string& name) const {
    return (keep_.empty() || around_.contains(name) || covered(keep_, name)) && !covered(drop_, name);
  }

 private:
  using names = std::unordered_set<std::string>;
  static names names_in(const value* list) {
    names all;
    for (const value& v : elements(list))
      if (const auto* const text = v.get_if<std::string>()) all.insert(field_pattern(*text));
    return all;
  }
  static bool covered(const names& by, const std::string& name) {
    return by.contains(name) ||
           any_field_around(name, [&](std::string_view outer) { return by.contains(std::string(outer)); });
  }
  const names keep_, drop_;
  names around_;  // what kept fields are within
};

std::vector<setting_diagnostic> validate_renames(const value& all) {
  std::vector<setting_diagnostic> wrong;
  std::unordered_set<std::string_view> old_names, new_names;
  for (const value& v : elements(&all)) {
    const std::string *from = text_in(v, "from"), *to = text_in(v, "to");
    if (!from || !to || from->empty() || to->empty()) {
      wrong.push_back({"`from` and `to` must be given", &v});
      continue;
    }
    if (!old_names.insert(*from).second) wrong.push_back({leat::in_quotes(*from) + " is renamed twice", &v});
    if (!new_names.insert(*to).second)
      wrong.push_back({"two fields are renamed to " + leat::in_quotes(*to), &v});
  }
  return wrong;
}

std::vector<setting_diagnostic> validate_constants(const value& all) {
  std::vector<setting_diagnostic> wrong;
  for (const value& v : elements(&all)) {
    const std::string* const field = text_in(v, "field");
    if (!field || field->empty()) {
      wrong.push_back({"`field` must be given", &v});
    } else if ((v.find("text") != nullptr) + (v.find("number") != nullptr) + (v.find("flag") != nullptr) !=
               1) {
      wrong.push_back({leat::in_quotes(*field) + " needs one of `text`, `number` and `flag`", &v});
    }
  }
  return wrong;
}

std::vector<setting_diagnostic> validate_together(const value& settings) {
  std::vector<setting_diagnostic> wrong;
  const choice chosen(settings);
  for (const value& v : elements(settings.find("rename")))
    if (const std::string* const from = text_in(v, "from"); from && !chosen.stays(field_pattern(*from)))
      wrong.push_back({leat::in_quotes(*from) + " is left out before it could be renamed", &v});
  return wrong;
}

std::vector<needed_field> renamed_fields(const value& settings) {
  std::vector<needed_field> all;
  for (const value& v : elements(settings.find("rename")))
    if (const std::string* const from = text_in(v, "from"))
      all.push_back({*from, value_kind::any, v.find("from")});
  return all;
}

value_kind kind_of_constant(const value& v) {
  if (v.find("text")) return value_kind::text;
  return v.find("number") ? value_kind::real : value_kind::boolean;
}

std::optional<std::vector<record_field>> fields_left(const value& settings,
                                                     const std::vector<record_field>* came_in) {
  std::vector<record_field> kept;
  if (!came_in) {
    if (elements(settings.find("keep")).empty()) return std::nullopt;
    for (const value& v : elements(settings.find("keep")))
      if (const auto* const name = v.get_if<std::string>()) kept.push_back({*name});
    came_in = &kept;
  }
  std::unordered_map<std::string, std::string> names;
  std::unordered_set<std::string> there, taken;
  const choice chosen(settings);
  for (const record_field& f : *came_in)
    if (chosen.stays(f.name)) there.insert(f.name);
  for (const value& v : elements(settings.find("rename"))) {
    const std::string *from = text_in(v, "from"), *to = text_in(v, "to");
    if (!from || !to) return std::nullopt;
    names.emplace(field_pattern(*from), field_pattern(*to));
    if (there.contains(field_pattern(*from))) taken.insert(field_pattern(*to));
  }
  // With what is within it.
  const auto renamed = [&](const std::string& name) {
    if (const auto at = names.find(name); at != names.end()) return at->second;
    std::string found = name;
    (void)any_field_around(name, [&](std::string_view outer) {
      const auto at = names.find(std::string(outer));
      if (at != names.end()) found = at->second + name.substr(outer.size());
      return at != names.end();
    });
    return found;
  };
  std::vector<record_field> out;
  std::unordered_map<std::string, std::size_t> by_name;
  const auto put = [&](record_field f) {
    const auto [at, fresh] = by_name.try_emplace(f.name, out.size());
    if (fresh)
      out.push_back(std::move(f));
    else
      out[at->second] = std::move(f);
  };
  for (record_field f : *came_in) {
    if (!there.contains(f.name)) continue;
    if (std::string name = renamed(f.name); name != f.name)
      f.name = std::move(name);
    else if (taken.contains(f.name))
      continue;
    put(std::move(f));
  }
  for (const value& v : elements(settings.find("constants")))
    if (const std::string* const name = text_in(v, "field")) put({field_pattern(*name), kind_of_constant(v)});
  return out;
}

class select_fields : public process {
  record_in values{this, "values", needs_by(renamed_fields), "what comes in"};
  record_out out{this, "out", fields_like("values"), sends_by(fields_left),
                 "the same records with other fields"};
  field_setting<std::vector<std::string>> keep{this,
                                               "keep",
                                               "values",
                                               value_kind::any,
                                               std::vector<std::string>(),
                                               "all others are left out; none: all are kept"};
  field_setting<std::vector<std::string>> drop{
      this, "drop", "values", value_kind::any, std::vector<std::string>(), "these are left out"};
  setting<std::vector<new_name>> rename{this, "rename", std::vector<new_name>(),
                                        "new names of what is left, each { from = \"old\", to = \"new\" }",
                                        validated_by(validate_renames)};
  setting<std::vector<constant>> constants{
      this, "constants", std::vector<constant>(),
      "fields that are set last, each { field = \"name\", text, number or flag = what }",
      validated_by(validate_constants)};
  settings_validator together{this, validate_together};
  errors told{this,
              {{"a record without a field that is to be left out or renamed", "passed on without it"},
               {"a record that is left without any field", "passed on empty"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  field_renames new_names() const {
    std::vector<field_renames::rename> all;
    for (const new_name& n : *rename) all.push_back({n.to, n.from});
    return field_renames(std::move(all));
  }

  struct fixed_field {
    field_path at;
    field_value value;
  };
  std::vector<fixed_field> fixed_fields() const {
    std::vector<fixed_field> all;
    for (const constant& c : *constants) {
      const field_path at = field_path::named(c.field);
      if (c.text) all.push_back({at, *c.text});
      if (c.number) all.push_back({at, *c.number});
      if (c.flag) all.push_back({at, *c.flag});
    }
    return all;
  }

  static std::vector<field_path> paths_of(const std::vector<std::string>& names) {
    std::vector<field_path> all;
    all.reserve(names.size());
    for (const std::string& name : names) all.push_back(field_path::named(name));
    // Elements of a list from its end, since those behind one move up when it goes.
    std::stable_sort(all.begin(), all.end(), [](const field_path& a, const field_path& b) {
      const field_step &x = a.steps().back(), &y = b.steps().back();
      return x.is_index && y.is_index && x.index > y.index;
    });
    return all;
  }

  // In the order of the record. What is kept of a table or a list stays within one.
  static void copy_kept(const record::field& f, const record& r, const std::vector<field_path>& kept,
                        record& to) {
    for (const field_path& p : kept)
      if (p.text() == f.name || (p.steps().size() == 1 && p.steps().front().name == f.name))
        return void(to.append(f.name, f.value));
    for (const field_path& p : kept)
      if (p.steps().size() > 1 && p.steps().front().name == f.name && !r.find(p.text()))
        if (const field_value* const v = p.find(r)) p.make(to) = *v;
  }

  void run() override {
    passes pass(this, &values);
    const field_renames names = new_names();
    const std::vector<fixed_field> fixed = fixed_fields();
    const std::vector<field_path> kept = paths_of(*keep), dropped = paths_of(*drop);
    for (record& r : taken(this, values)) {
      record changed;
      if (kept.empty()) {
        changed = std::move(r);
      } else {
        changed.reserve(kept.size() + fixed.size());
        for (const record::field& f : r) copy_kept(f, r, kept, changed);
      }
      for (const field_path& p : dropped) (void)p.erase(changed);
      names.come_in(changed);
      for (const fixed_field& f : fixed) f.at.put(changed, f.value);
      if (!pass(out, std::move(changed))) return;
    }
  }
};
LEAT_PROCESS_AS("select-fields", select_fields, "keeps, leaves out, renames and adds fields");

}  // namespace
}  // namespace leat::stock
