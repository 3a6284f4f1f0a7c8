// SPDX-License-Identifier: BSL-1.0
//
// Where in a message a reader stands, for its errors: "samples[3].celsius". Not installed.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace leat::shapes {

struct step {
  const step* outer = nullptr;
  std::string_view name = {};  // a field; none: an element of a list
  std::size_t index = 0;
};

inline std::string path_text(const step* s) {
  if (!s) return {};
  std::string out = path_text(s->outer);
  if (s->name.empty()) return out + '[' + std::to_string(s->index) + ']';
  if (!out.empty()) out += '.';
  return out.append(s->name);
}

}  // namespace leat::shapes
