// SPDX-License-Identifier: BSL-1.0
#include <leat/process/field_path.hpp>

#include <algorithm>
#include <span>

namespace leat {
namespace {

field_value* step_into(field_value& v, const field_step& s) noexcept {
  if (!s.is_index) {
    record* const table = v.table();
    return table ? table->find(s.name) : nullptr;
  }
  field_list* const list = v.list();
  return list && s.index < list->size() ? &(*list)[s.index] : nullptr;
}

field_value* walk(record& r, std::span<const field_step> steps) noexcept {
  field_value* v = steps.empty() ? nullptr : r.find(steps.front().name);
  for (std::size_t i = 1; v && i < steps.size(); ++i) v = step_into(*v, steps[i]);
  return v;
}

[[noreturn]] void in_the_way(std::span<const field_step> steps, const field_value& v, const char* wanted) {
  throw message_error("field '" + field_path_text({steps.begin(), steps.end()}) + "': expected " + wanted +
                          ", got " + in_words(v.kind()),
                      0);
}

// Whether the record has what is within `outer` as fields of its own, with points in their names.
bool is_flat(const record& r, const std::string& outer) noexcept {
  if (const field_value* const v = r.find(outer); v && !v->is_null()) return false;
  return std::any_of(r.begin(), r.end(), [&](const record::field& f) {
    return f.name.size() > outer.size() && f.name[outer.size()] == '.' && f.name.starts_with(outer);
  });
}

// Makes what is missing; what is in the way is displaced, or an error.
field_value& reach(record& r, const std::string& text, std::span<const field_step> all, bool displaces) {
  if (all.empty()) throw message_error("a path is empty", 0);
  if (all.size() > 1)
    if (field_value* const same = r.find(text)) return *same;
  field_value* v = &r[all.front().name];
  for (std::size_t i = 1; i < all.size(); ++i) {
    const field_step& s = all[i];
    if (s.is_index) {
      if (v->is_null() || (displaces && !v->list())) *v = field_list();
      field_list* const list = v->list();
      if (!list) in_the_way(all.first(i), *v, "a list");
      if (list->size() <= s.index) list->resize(s.index + 1);
      v = &(*list)[s.index];
    } else {
      if (v->is_null() || (displaces && !v->table())) *v = record();
      record* const table = v->table();
      if (!table) in_the_way(all.first(i), *v, "a table");
      v = &(*table)[s.name];
    }
  }
  return *v;
}

}  // namespace

field_path field_path::parse(std::string_view text) {
  field_steps steps;
  const field_path_error error = parse_field_path(text, steps);
  if (!error.why.empty())
    throw message_error(
        "'" + std::string(text) + "', character " + std::to_string(error.at + 1) + ": " + error.why,
        error.at);
  return {std::string(text), std::move(steps)};
}

field_path field_path::literal(std::string_view name) {
  return {std::string(name), {field_step{std::string(name)}}};
}

field_path field_path::named(std::string_view text) {
  field_steps steps;
  if (text.empty()) return {};
  return parse_field_path(text, steps).why.empty() ? field_path(std::string(text), std::move(steps))
                                                   : literal(text);
}

field_value* field_path::find(record& r) const noexcept {
  if (steps_.size() > 1)
    if (field_value* const same = r.find(text_)) return same;
  return walk(r, steps_);
}

const field_value* field_path::find(const record& r) const noexcept {
  return find(const_cast<record&>(r));  // which changes nothing
}

std::optional<double> field_path::number(const record& r) const noexcept {
  const field_value* const v = find(r);
  return v ? to_number(*v) : std::nullopt;
}

field_value& field_path::make(record& r) const { return reach(r, text_, steps_, false); }

void field_path::put(record& r, field_value v) const {
  if (steps_.size() > 1 && text_.find('[') == text_.npos && is_flat(r, steps_.front().name))
    r[text_] = std::move(v);
  else
    reach(r, text_, steps_, true) = std::move(v);
}

bool field_path::erase(record& r) const noexcept {
  if (steps_.empty()) return false;
  if (r.erase(steps_.size() == 1 ? steps_.front().name : text_)) return true;
  if (steps_.size() == 1) return false;
  const field_step& last = steps_.back();
  field_value* const within = walk(r, std::span(steps_).first(steps_.size() - 1));
  if (!within || !step_into(*within, last)) return false;
  if (!last.is_index) return within->table()->erase(last.name);
  within->list()->erase(within->list()->begin() + static_cast<std::ptrdiff_t>(last.index));
  return true;
}

}  // namespace leat
