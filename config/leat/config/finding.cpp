// SPDX-License-Identifier: BSL-1.0
#include <leat/config/finding.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace leat::config {

finding& findings::error(std::string_view rule, place at, std::string text) {
  ++errors_;
  return all_.emplace_back(finding{severity::error, rule, at, std::move(text)});
}

finding& findings::warning(std::string_view rule, place at, std::string text) {
  return all_.emplace_back(finding{severity::warning, rule, at, std::move(text)});
}

void findings::sort() {
  const auto key = [](const finding& f) { return std::tuple(f.severity, f.at.file, f.at.line, f.at.column); };
  std::stable_sort(all_.begin(), all_.end(),
                   [&](const finding& a, const finding& b) { return key(a) < key(b); });
}

}  // namespace leat::config
