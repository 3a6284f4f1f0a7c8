// SPDX-License-Identifier: BSL-1.0
#include <leat/config/known_fields.hpp>

#include <utility>

#include <leat/base/field_steps.hpp>

namespace leat::config {

fields::fields(std::vector<record_field> all) : all_(std::move(all)) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    by_name_.emplace(all_[i].name, i);
    (void)any_field_around(all_[i].name,
                           [&](std::string_view outer) { return outers_.insert(outer), false; });
  }
}

const record_field* fields::named(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &all_[at->second];
}

const record_field* fields::find(std::string_view name) const {
  static const record_field anything;
  if (const record_field* const same = named(name)) return same;
  const std::string pattern = field_pattern(name);
  if (const record_field* const same = named(pattern)) return same;
  if (outers_.contains(pattern)) return &anything;  // "where" of "where.lat"
  const bool unknown = any_field_around(pattern, [&](std::string_view outer) {
    const record_field* const around = named(outer);
    return around && (around->kind == value_kind::any || (is_nested(*around) && !has_parts(outer)));
  });
  return unknown ? &anything : nullptr;
}

known_fields joined(const known_fields& some, const known_fields& more) {
  if (!some || !more || some == more || more->all().empty()) return more ? some : more;
  if (some->all().empty()) return more;
  std::vector<record_field> out = some->all();
  for (std::size_t i = 0; i < out.size(); ++i)
    if (const record_field* const same = more->find(out[i].name); same && same->kind != out[i].kind)
      out[i].kind = value_kind::any;
  for (const record_field& f : more->all())
    if (!some->find(f.name)) out.push_back(f);
  return std::make_shared<const fields>(std::move(out));
}

known_fields renamed(const known_fields& from, const std::vector<rename_plan>& names,
                     std::string rename_plan::* is, std::string rename_plan::* becomes) {
  if (!from || names.empty()) return from;
  std::unordered_map<std::string, std::string> changes;
  std::unordered_set<std::string> taken;
  for (const rename_plan& r : names) {
    changes.emplace(field_pattern(r.*is), field_pattern(r.*becomes));
    if (from->find(r.*is)) taken.insert(field_pattern(r.*becomes));
  }
  std::vector<record_field> out;
  for (record_field f : from->all()) {
    auto change = changes.find(f.name);
    std::string rest;
    // A table takes what is within it along.
    if (change == changes.end())
      (void)any_field_around(f.name, [&](std::string_view outer) {
        change = changes.find(std::string(outer));
        rest = f.name.substr(outer.size());
        return change != changes.end();
      });
    if (change != changes.end())
      f.name = f.name == change->first ? change->second : change->second + rest;
    else if (taken.contains(f.name))
      continue;
    out.push_back(std::move(f));
  }
  // What is within something that is not known further.
  std::unordered_set<std::string> there;
  for (const record_field& f : out) there.insert(f.name);
  for (const rename_plan& r : names)
    if (std::string name = field_pattern(r.*becomes); from->find(r.*is) && there.insert(name).second)
      out.push_back({std::move(name)});
  return std::make_shared<const fields>(std::move(out));
}

}  // namespace leat::config
