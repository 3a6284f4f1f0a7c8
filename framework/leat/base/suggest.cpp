// SPDX-License-Identifier: BSL-1.0
#include <leat/base/suggest.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

// Case and the choice between - and _ are not worth an edit.
char folded(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '_' ? '-' : c;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<std::size_t> before, last(a.size() + 1), row(a.size() + 1);
  for (std::size_t i = 0; i <= a.size(); ++i) last[i] = i;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    row[0] = j;
    std::size_t least = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      const char x = folded(a[i - 1]), y = folded(b[j - 1]);
      row[i] = std::min({last[i] + 1, row[i - 1] + 1, last[i - 1] + (x == y ? 0 : 1)});
      if (i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y)
        row[i] = std::min(row[i], before[i - 2] + 1);
      least = std::min(least, row[i]);
    }
    if (least > limit) return limit + 1;
    before = last;
    std::swap(last, row);
  }
  return std::min(last[a.size()], limit + 1);
}

std::string nearest(std::string_view name, const std::vector<std::string_view>& among) {
  // Longer than any name that one mistypes; it also bounds the work.
  if (name.empty() || name.size() > 64) return {};
  std::size_t best = std::clamp<std::size_t>(name.size() / 3, 1, 3) + 1;
  std::string_view found;
  for (const std::string_view candidate : among) {
    if (candidate.empty() || candidate.size() < best) continue;
    const std::size_t d = edit_distance(name, candidate, best - 1);
    if (d >= best) continue;
    best = d;
    found = candidate;
    if (d == 0) break;
  }
  return std::string(found);
}

std::string did_you_mean(std::string_view suggestion) {
  if (suggestion.empty()) return {};
  return "; did you mean '" + std::string(suggestion) + "'?";
}

}  // namespace leat
