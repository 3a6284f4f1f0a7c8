// SPDX-License-Identifier: BSL-1.0
//
// The fields of records at one place of a graph, as far as they are known before anything runs.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/plan.hpp>

namespace leat::config {

// Of a file there may be many, and many ports with the same: they are looked up by name, and shared.
class fields {
 public:
  fields() = default;
  explicit fields(std::vector<record_field> all);
  fields(const fields&) = delete;
  fields& operator=(const fields&) = delete;

  // By its path.
  const record_field* find(std::string_view name) const;
  // Fields within it are known.
  bool has_parts(std::string_view name) const { return outers_.contains(name); }
  static bool is_nested(const record_field& f) noexcept {
    return f.kind == value_kind::table || f.kind == value_kind::list;
  }
  const std::vector<record_field>& all() const noexcept { return all_; }

 private:
  const record_field* named(std::string_view name) const;

  std::vector<record_field> all_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_set<std::string_view> outers_;  // what any of them is within
};
using known_fields = std::shared_ptr<const fields>;  // null: not known

// What comes where both come: a field that both have with different kinds may hold anything.
known_fields joined(const known_fields& some, const known_fields& more);

// As field_renames does it at run time: who takes the name of another displaces it.
known_fields renamed(const known_fields& from, const std::vector<rename_plan>& names,
                     std::string rename_plan::* is, std::string rename_plan::* becomes);

}  // namespace leat::config
