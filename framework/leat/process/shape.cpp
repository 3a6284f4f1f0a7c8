// SPDX-License-Identifier: BSL-1.0
#include <leat/process/shape.hpp>

#include <algorithm>
#include <utility>

namespace leat {
namespace {

using pairs = std::vector<std::pair<const type_shape*, const type_shape*>>;

bool same(const type_shape& a, const type_shape& b, pairs& assumed) {
  if (&a == &b) return true;
  // A type that holds itself is the same as another one unless something else tells them apart.
  const std::pair both(&a, &b);
  if (std::find(assumed.begin(), assumed.end(), both) != assumed.end()) return true;
  assumed.push_back(both);
  if (a.kind != b.kind || a.name != b.name || a.size != b.size || a.is_signed != b.is_signed ||
      a.field_count != b.field_count || a.name_count != b.name_count || !a.element != !b.element)
    return false;
  for (std::size_t i = 0; i < a.field_count; ++i)
    if (a.fields[i].name != b.fields[i].name || !same(a.fields[i].type(), b.fields[i].type(), assumed))
      return false;
  for (std::size_t i = 0; i < a.name_count; ++i)
    if (a.names[i].name != b.names[i].name || a.names[i].value != b.names[i].value) return false;
  return !a.element || same(a.element(), b.element(), assumed);
}

}  // namespace

bool same_shape(const type_shape& a, const type_shape& b) {
  pairs assumed;
  return same(a, b, assumed);
}

std::string type_name(const type_shape& s) {
  switch (s.kind) {
    case value_kind::list: return "list of " + type_name(s.element());
    case value_kind::maybe: return "optional " + type_name(s.element());
    default: return std::string(s.name);
  }
}

}  // namespace leat
