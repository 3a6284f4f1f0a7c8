// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/csv_columns.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace leat::stock {
namespace {

// The column of a field of the record itself has its name as it is.
template <class F>
void cells_of(const field_value& v, std::string& path, F& f) {
  if (is_cell(v)) return f(path);
  const std::size_t before = path.size();
  if (const record* const table = v.table()) {
    for (const record::field& part : *table) {
      append_field_name(path, part.name);
      cells_of(part.value, path, f);
      path.resize(before);
    }
  } else if (const field_list* const list = v.list()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      append_field_index(path, i);
      cells_of((*list)[i], path, f);
      path.resize(before);
    }
  }
}
template <class F>
void for_each_cell(const record& r, F f) {
  std::string path;
  for (const record::field& part : r) {
    if (is_cell(part.value)) {
      f(part.name);
      continue;
    }
    path.clear();
    append_field_name(path, part.name);
    cells_of(part.value, path, f);
  }
}

std::size_t cells_in(const field_value& v) noexcept {
  if (is_cell(v)) return 1;
  if (const record* const table = v.table()) return count_cells(*table);
  std::size_t n = 0;
  if (const field_list* const list = v.list())
    for (const field_value& element : *list) n += cells_in(element);
  return n;
}

// The texts of the paths that lead to it, and its own: "a", "a[0]", "a[0].b".
template <class F>
void for_each_begin(const field_steps& steps, F f) {
  std::string text;
  for (const field_step& s : steps) {
    if (s.is_index)
      append_field_index(text, s.index);
    else
      append_field_name(text, s.name);
    f(text);
  }
}

using texts = std::unordered_set<std::string>;

// An index without the one before it would make others up: so it is no list.
bool is_dense(const field_steps& steps, const texts& begins) {
  std::string text;
  for (const field_step& s : steps) {
    if (s.is_index && s.index > 0) {
      std::string before = text;
      append_field_index(before, s.index - 1);
      if (!begins.contains(before)) return false;
    }
    if (s.is_index)
      append_field_index(text, s.index);
    else
      append_field_name(text, s.name);
  }
  return true;
}

}  // namespace

bool is_cell(const field_value& v) noexcept {
  if (const field_list* const list = v.list()) return list->empty();
  if (const record* const table = v.table()) return table->empty();
  return true;
}

std::size_t count_cells(const record& r) noexcept {
  std::size_t n = 0;
  for (const record::field& f : r) n += cells_in(f.value);
  return n;
}

csv_columns::csv_columns(std::vector<std::string> names) : names_(std::move(names)) {
  texts begins;
  for (const std::string& name : names_) paths_.push_back(field_path::named(name));
  for (const field_path& p : paths_)
    for_each_begin(p.steps(), [&](const std::string& text) { begins.insert(text); });
  for (field_path& p : paths_)
    if (!is_dense(p.steps(), begins)) p = field_path::literal(p.text());
  std::unordered_map<std::string, std::size_t> inside;  // how many columns are this one or within it
  for (const field_path& p : paths_)
    for_each_begin(p.steps(), [&](const std::string& text) { ++inside[text]; });
  for (const field_path& p : paths_) {
    whole_.push_back(inside[field_path_text(p.steps())] == 1);
    flat_ = flat_ && p.steps().size() == 1;
  }
  if (flat_) return;
  std::unordered_map<std::string, std::size_t> numbers;
  for (std::size_t i = 0; i < paths_.size(); ++i) numbers.emplace(field_path_text(paths_[i].steps()), i);
  around_.resize(paths_.size());
  for (std::size_t i = 0; i < paths_.size(); ++i)
    for_each_begin(paths_[i].steps(), [&](const std::string& text) {
      if (const auto at = numbers.find(text); at != numbers.end() && at->second != i)
        around_[i].push_back(at->second);
    });
}

bool csv_columns::is_displaced(std::size_t column, const std::vector<csv_field>& row) const {
  return std::any_of(around_[column].begin(), around_[column].end(), [&](std::size_t i) {
    const field_value v = csv_value(row[i]);
    return !v.is_null() && !v.list() && !v.table();
  });
}

bool csv_columns::covers_all_of(const record& r) const noexcept {
  if (!flat_ || r.size() > names_.size()) return false;
  auto column = names_.begin();
  for (const record::field& f : r) {
    if (!is_cell(f.value) || *column != f.name) return false;
    ++column;
  }
  return true;
}

std::vector<std::string> csv_columns::missing_in(const record& r, within w) const {
  std::vector<std::string> out;
  if (covers_all_of(r)) return out;
  texts known(names_.begin(), names_.end());
  texts wholes;
  for (std::size_t i = 0; i < paths_.size(); ++i)
    if (whole_[i] && w == within::is_covered) wholes.insert(field_path_text(paths_[i].steps()));
  for_each_cell(r, [&](const std::string& path) {
    if (!known.insert(path).second) return;
    field_steps steps;
    bool covered = false;
    if (!wholes.empty() && parse_field_path(path, steps).why.empty())
      for_each_begin(steps, [&](const std::string& text) { covered = covered || wholes.contains(text); });
    if (!covered) out.push_back(path);
  });
  return out;
}

std::string csv_columns::left_out(const record& r) const {
  const std::vector<std::string> all = missing_in(r, within::is_covered);
  return all.empty() ? std::string() : all.front();
}

std::string csv_columns::read(const std::vector<csv_field>& row, record& to) const {
  to.reserve(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (flat_) {
      to.append(names_[i], csv_value(row[i]));
      continue;
    }
    field_value v = csv_value(row[i]);
    const bool blank = row[i].text.empty() && !row[i].in_quotes;
    const bool is_within = paths_[i].steps().size() > 1;
    if (blank && (is_within || paths_[i].find(to))) continue;
    field_value* at = nullptr;
    try {
      at = is_within && is_displaced(i, row) ? &to[names_[i]] : &paths_[i].make(to);
    } catch (const message_error&) {
      at = &to[names_[i]];
    }
    if (!at->is_null()) return "two values for column '" + names_[i] + "'";
    *at = std::move(v);
  }
  return {};
}

}  // namespace leat::stock
