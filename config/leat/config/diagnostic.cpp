// SPDX-License-Identifier: BSL-1.0
#include <leat/config/diagnostic.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

#include <leat/config/source.hpp>

namespace leat::config {

diagnostic& diagnostics::error(std::string_view rule, source_location at, std::string text) {
  ++errors_;
  return all_.emplace_back(diagnostic{severity::error, rule, at, std::move(text)});
}

diagnostic& diagnostics::warning(std::string_view rule, source_location at, std::string text) {
  return all_.emplace_back(diagnostic{severity::warning, rule, at, std::move(text)});
}

diagnostic& diagnostics::remark(std::string_view rule, source_location at, std::string text) {
  return remarks_.emplace_back(diagnostic{severity::remark, rule, at, std::move(text)});
}

void diagnostics::expanded(source_location at, expansion e) {
  expansions_.insert_or_assign(location(at.file, at.line, at.column), std::move(e));
}

expansion* diagnostics::expansion_at(source_location at) noexcept {
  const auto found = expansions_.find(location(at.file, at.line, at.column));
  return found == expansions_.end() ? nullptr : &found->second;
}

namespace {

// The text with names as the template has them, so that what is wrong with it is the same in each use.
std::string without_prefix(std::string text, const std::string& prefix) {
  if (prefix.empty()) return text;
  for (std::size_t i = 0; (i = text.find(prefix, i)) != std::string::npos;) {
    const char before = i == 0 ? ' ' : text[i - 1];
    if (before == '\'' || before == '.' || before == '/' || before == ' ')
      text.erase(i, prefix.size());
    else
      ++i;
  }
  return text;
}

}  // namespace

void diagnostics::tell_uses(const source_set& sources) {
  constexpr std::size_t enough = 4;
  struct told {
    std::size_t index;
    std::size_t uses;
  };
  std::map<std::tuple<severity, location, std::string>, told> first;
  std::vector<diagnostic> kept;
  errors_ = 0;
  for (diagnostic& f : all_) {
    std::vector<diagnostic_note> uses;
    if (const expansion* e = expansion_at(f.at); e && e->given_at.known())
      uses.push_back({e->given_at, e->said});
    for (source_location at = f.at; at.file < sources.size();) {
      const source_set::use* u = sources.use_of(at.file);
      if (!u) break;
      uses.push_back({u->at, u->what});
      at = u->at;
    }
    const source_set::use* const used = f.at.file < sources.size() ? sources.use_of(f.at.file) : nullptr;
    std::string text = without_prefix(f.text, used ? used->prefix : std::string());
    const auto to_origin = [&](source_location& at) {
      if (at.file < sources.size()) at.file = sources.origin(at.file);
    };
    to_origin(f.at);
    for (diagnostic_note& n : f.notes) to_origin(n.at);
    for (diagnostic_note& n : uses) to_origin(n.at);
    const auto [same, fresh] =
        first.try_emplace({f.severity, location(f.at.file, f.at.line, f.at.column), std::move(text)},
                          told{kept.size(), used ? 1u : 0u});
    if (!fresh && used) {
      std::vector<diagnostic_note>& notes = kept[same->second.index].notes;
      if (++same->second.uses <= enough)
        for (diagnostic_note& n : uses)
          if (std::none_of(notes.begin(), notes.end(),
                           [&](const diagnostic_note& o) { return o.at == n.at && o.text == n.text; }))
            notes.push_back(std::move(n));
      continue;
    }
    for (diagnostic_note& n : uses) f.notes.push_back(std::move(n));
    if (f.severity == severity::error) ++errors_;
    kept.push_back(std::move(f));
  }
  for (const auto& [what, t] : first)
    if (t.uses > enough)
      kept[t.index].text +=
          " (in " + std::to_string(t.uses) + " uses, of which " + std::to_string(enough) + " are shown)";
  all_ = std::move(kept);
  for (diagnostic& f : remarks_) {
    f.at.file = f.at.file < sources.size() ? sources.origin(f.at.file) : f.at.file;
    for (diagnostic_note& n : f.notes)
      n.at.file = n.at.file < sources.size() ? sources.origin(n.at.file) : n.at.file;
  }
}

void diagnostics::sort() {
  const auto key = [](const diagnostic& f) {
    return std::tuple(f.severity, f.at.file, f.at.line, f.at.column);
  };
  std::stable_sort(all_.begin(), all_.end(),
                   [&](const diagnostic& a, const diagnostic& b) { return key(a) < key(b); });
  std::stable_sort(remarks_.begin(), remarks_.end(),
                   [&](const diagnostic& a, const diagnostic& b) { return key(a) < key(b); });
}

}  // namespace leat::config
