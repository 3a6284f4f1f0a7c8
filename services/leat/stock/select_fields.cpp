// SPDX-License-Identifier: BSL-1.0
#include <algorithm>

#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
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

class select_fields : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", "the same records with other fields"};
  field_setting<std::vector<std::string>> keep{this,
                                               "keep",
                                               "values",
                                               field_kind::any,
                                               std::vector<std::string>(),
                                               "all others are left out; none: all are kept"};
  field_setting<std::vector<std::string>> drop{
      this, "drop", "values", field_kind::any, std::vector<std::string>(), "these are left out"};
  setting<std::vector<new_name>> rename{this, "rename", std::vector<new_name>(),
                                        "new names of what is left, each { from = \"old\", to = \"new\" }"};
  setting<std::vector<constant>> constants{
      this, "constants", std::vector<constant>(),
      "fields that are set last, each { field = \"name\", text, number or flag = what }"};
  errors told{this,
              {{"a record without a field that is to be left out or renamed", "passed on without it"},
               {"a record that is left without any field", "passed on empty"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  field_renames checked_names() const {
    std::vector<field_renames::rename> all;
    for (const new_name& n : *rename) {
      if (n.from.empty() || n.to.empty()) throw setting_error("rename: `from` and `to` must be given");
      all.push_back({n.to, n.from});
    }
    return field_renames(std::move(all));
  }

  std::vector<record::field> checked_constants() const {
    std::vector<record::field> all;
    for (const constant& c : *constants) {
      if (c.field.empty()) throw setting_error("constants: `field` must be given");
      if (c.text.has_value() + c.number.has_value() + c.flag.has_value() != 1)
        throw setting_error("constants: '" + c.field + "' needs one of `text`, `number` and `flag`");
      if (c.text) all.push_back({c.field, *c.text});
      if (c.number) all.push_back({c.field, *c.number});
      if (c.flag) all.push_back({c.field, *c.flag});
    }
    return all;
  }

  void run() override {
    passes pass(this);
    const field_renames names = checked_names();
    const std::vector<record::field> fixed = checked_constants();
    const auto among = [](const std::vector<std::string>& list, const std::string& name) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    for (const record& r : values) {
      record changed;
      changed.reserve(r.size() + fixed.size());
      for (const record::field& f : r)
        if ((keep->empty() || among(*keep, f.name)) && !among(*drop, f.name)) changed.append(f.name, f.value);
      names.come_in(changed);
      for (const record::field& f : fixed) changed[f.name] = f.value;
      if (!pass(out, std::move(changed))) return;
    }
  }
};
LEAT_PROCESS_AS("select-fields", select_fields, "keeps, leaves out, renames and adds fields");

}  // namespace
}  // namespace leat::stock
