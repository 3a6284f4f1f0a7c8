// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/screen.hpp>

#include <algorithm>

#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

const char* codes_of(look how) {
  switch (how) {
    case look::plain: return "";
    case look::heading: return "\033[1m";
    case look::good: return "\033[32m";
    case look::warning: return "\033[33m";
    case look::bad: return "\033[31m";
    case look::selected: return "\033[7m";
    case look::faint: return "\033[2m";
  }
  return "";
}

}  // namespace

std::string changes(const screen& before, const screen& after, std::size_t width, bool colour) {
  static const screen_line nothing;
  std::string out;
  if (before.empty()) out = "\033[2J";
  for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    const screen_line& was = i < before.size() ? before[i] : nothing;
    const screen_line& is = i < after.size() ? after[i] : nothing;
    if (was == is) continue;
    out += "\033[" + std::to_string(i + 1) + ";1H";
    const std::string shown = cut(is.text, width);
    const char* const codes = colour ? codes_of(is.how) : "";
    out += codes + shown + (*codes ? "\033[0m" : "");
    // At the last column the cursor stands on the last character, which this would erase.
    if (columns(shown) < width) out += "\033[K";
  }
  return out;
}

}  // namespace leat::remote
