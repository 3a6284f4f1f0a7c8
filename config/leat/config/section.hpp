// SPDX-License-Identifier: BSL-1.0
//
// One table of a file, checked against its section of the grammar, and typed access to what it says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <leat/base/value.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/keys.hpp>

namespace leat::config {

class section {
 public:
  // Reports unknown keys, and what is required and missing at `missing_at`. raw: a table, or none.
  section(std::string_view name, const value& raw, const std::string& heading, source_location missing_at,
          diagnostics& found);

  // The checked value, or the default; nullptr when there is neither. Keys of another shape than setting and
  // word_or are as they were written.
  const value* find(std::string_view key) const noexcept { return checked_.find(key); }
  // Where its value stands; unknown when it is a default.
  source_location at(std::string_view key) const noexcept;
  source_location key_at(std::string_view key) const noexcept;

  template <class T>
  std::optional<T> get(std::string_view key) const {
    return get_from<T>(checked_, key);
  }
  // Of a checked table.
  template <class T>
  static std::optional<T> get_from(const value& table, std::string_view key) {
    const value* v = table.find(key);
    if (!v) return std::nullopt;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (const auto* number = v->get_if<std::int64_t>()) return static_cast<T>(*number);
      if (const auto* size = v->get_if<byte_size>()) return static_cast<T>(size->bytes);
    } else if constexpr (std::is_enum_v<T>) {
      if (const auto* number = v->get_if<std::int64_t>()) return static_cast<T>(*number);
    } else if (const auto* same = v->get_if<T>()) {
      return *same;
    }
    return std::nullopt;
  }

 private:
  value checked_;
};

// The position of a checked name among the names of the key: enums have the order of the grammar.
template <class Enum>
std::optional<Enum> name_to(const setting_schema& key, const value* checked) {
  const auto* text = checked ? checked->get_if<std::string>() : nullptr;
  if (!text) return std::nullopt;
  for (std::size_t i = 0; i < key.names.size(); ++i)
    if (key.names[i] == *text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace leat::config
