// SPDX-License-Identifier: BSL-1.0
//
// The members of a table that is changed. Of what is no table there are none.
#pragma once

#include <algorithm>
#include <string_view>

#include <leat/base/value.hpp>

namespace leat::config {

inline value_member* member_of(value& table, std::string_view key) {
  auto* members = table.get_if<value::table>();
  if (!members) return nullptr;
  for (value_member& m : *members)
    if (m.key == key) return &m;
  return nullptr;
}

inline bool erase_member(value& table, std::string_view key) {
  auto* members = table.get_if<value::table>();
  if (!members) return false;
  const auto found =
      std::find_if(members->begin(), members->end(), [&](const value_member& m) { return m.key == key; });
  if (found == members->end()) return false;
  members->erase(found);
  return true;
}

}  // namespace leat::config
