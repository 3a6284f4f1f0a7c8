// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/judges.hpp>
#include <leat/stock/support.hpp>

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
      : keep_(names_in(settings.find("keep"))), drop_(names_in(settings.find("drop"))) {}
  bool stays(std::string_view name) const {
    return (keep_.empty() || keep_.contains(name)) && !drop_.contains(name);
  }

 private:
  using names = std::unordered_set<std::string_view>;
  static names names_in(const value* list) {
    names all;
    for (const value& v : elements(list))
      if (const auto* const text = v.get_if<std::string>()) all.insert(*text);
    return all;
  }
  const names keep_, drop_;
};

std::vector<fault> judge_renames(const value& all) {
  std::vector<fault> wrong;
  std::unordered_set<std::string_view> old_names, new_names;
  for (const value& v : elements(&all)) {
    const std::string *from = text_in(v, "from"), *to = text_in(v, "to");
    if (!from || !to || from->empty() || to->empty()) {
      wrong.push_back({"`from` and `to` must be given", &v});
      continue;
    }
    if (!old_names.insert(*from).second) wrong.push_back({leat::quoted(*from) + " is renamed twice", &v});
    if (!new_names.insert(*to).second)
      wrong.push_back({"two fields are renamed to " + leat::quoted(*to), &v});
  }
  return wrong;
}

std::vector<fault> judge_constants(const value& all) {
  std::vector<fault> wrong;
  for (const value& v : elements(&all)) {
    const std::string* const field = text_in(v, "field");
    if (!field || field->empty()) {
      wrong.push_back({"`field` must be given", &v});
    } else if ((v.find("text") != nullptr) + (v.find("number") != nullptr) + (v.find("flag") != nullptr) !=
               1) {
      wrong.push_back({leat::quoted(*field) + " needs one of `text`, `number` and `flag`", &v});
    }
  }
  return wrong;
}

std::vector<fault> judge_together(const value& settings) {
  std::vector<fault> wrong;
  const choice chosen(settings);
  for (const value& v : elements(settings.find("rename")))
    if (const std::string* const from = text_in(v, "from"); from && !chosen.stays(*from))
      wrong.push_back({leat::quoted(*from) + " is left out before it could be renamed", &v});
  return wrong;
}

std::vector<needed_field> renamed_fields(const value& settings) {
  std::vector<needed_field> all;
  for (const value& v : elements(settings.find("rename")))
    if (const std::string* const from = text_in(v, "from"))
      all.push_back({*from, field_kind::any, v.find("from")});
  return all;
}

field_kind kind_of_constant(const value& v) {
  if (v.find("text")) return field_kind::text;
  return v.find("number") ? field_kind::real : field_kind::boolean;
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
  std::unordered_map<std::string_view, std::string_view> names;
  std::unordered_set<std::string_view> there, taken;
  const choice chosen(settings);
  for (const record_field& f : *came_in)
    if (chosen.stays(f.name)) there.insert(f.name);
  for (const value& v : elements(settings.find("rename"))) {
    const std::string *from = text_in(v, "from"), *to = text_in(v, "to");
    if (!from || !to) return std::nullopt;
    names.emplace(*from, *to);
    if (there.contains(*from)) taken.insert(*to);
  }
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
    if (const auto at = names.find(f.name); at != names.end())
      f.name = at->second;
    else if (taken.contains(f.name))
      continue;
    put(std::move(f));
  }
  for (const value& v : elements(settings.find("constants")))
    if (const std::string* const name = text_in(v, "field")) put({*name, kind_of_constant(v)});
  return out;
}

class select_fields : public process {
  record_in values{this, "values", needs_by(renamed_fields), "what comes in"};
  record_out out{this, "out", fields_like("values"), sends_by(fields_left),
                 "the same records with other fields"};
  field_setting<std::vector<std::string>> keep{this,
                                               "keep",
                                               "values",
                                               field_kind::any,
                                               std::vector<std::string>(),
                                               "all others are left out; none: all are kept"};
  field_setting<std::vector<std::string>> drop{
      this, "drop", "values", field_kind::any, std::vector<std::string>(), "these are left out"};
  setting<std::vector<new_name>> rename{this, "rename", std::vector<new_name>(),
                                        "new names of what is left, each { from = \"old\", to = \"new\" }",
                                        judged_by(judge_renames)};
  setting<std::vector<constant>> constants{
      this, "constants", std::vector<constant>(),
      "fields that are set last, each { field = \"name\", text, number or flag = what }",
      judged_by(judge_constants)};
  settings_judge together{this, judge_together};
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

  std::vector<record::field> fixed_fields() const {
    std::vector<record::field> all;
    for (const constant& c : *constants) {
      if (c.text) all.push_back({c.field, *c.text});
      if (c.number) all.push_back({c.field, *c.number});
      if (c.flag) all.push_back({c.field, *c.flag});
    }
    return all;
  }

  void run() override {
    passes pass(this);
    const field_renames names = new_names();
    const std::vector<record::field> fixed = fixed_fields();
    const auto has = [](const std::vector<std::string>& list, const std::string& name) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    for (const record& r : values) {
      record changed;
      changed.reserve(r.size() + fixed.size());
      for (const record::field& f : r)
        if ((keep->empty() || has(*keep, f.name)) && !has(*drop, f.name)) changed.append(f.name, f.value);
      names.come_in(changed);
      for (const record::field& f : fixed) changed[f.name] = f.value;
      if (!pass(out, std::move(changed))) return;
    }
  }
};
LEAT_PROCESS_AS("select-fields", select_fields, "keeps, leaves out, renames and adds fields");

}  // namespace
}  // namespace leat::stock
