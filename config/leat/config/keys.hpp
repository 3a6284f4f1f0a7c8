// SPDX-License-Identifier: BSL-1.0
//
// The grammar as data: every key that a file may have. The reader, docs/configuration.md and the JSON Schema
// are all made from this table, so they cannot differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>

namespace leat::config {

// How a key's value is read.
enum class key_shape : std::uint8_t {
  setting,        // as its setting_schema says
  word_or,        // the same, or the word
  class_config,   // a table of the class's settings
  ports,          // a table: port = channel, or a list of channels
  policies,       // a table: reader = what happens when it is full
  deliveries,     // at-least-once or at-most-once, or a table: in port = one of these
  maps,           // a table: port = { field = "field" }
  section,        // a table whose keys are those of the section of this name
  named_section,  // a table of such tables, by name
  overrides,      // a table by service of what overrides it
  services,       // a list of files, and of tables that use one
  parameters,     // a table: parameter = its type, or a table with it
  uses,           // a table by template of tables by name
};

struct key_info {
  key_shape shape = key_shape::setting;
  setting_schema type = {};         // name, kind, range, default, help
  std::string_view word = {};       // "auto", "off"
  std::string_view otherwise = {};  // what its absence means, where that is no value
};

struct key_section {
  std::string_view name;     // "process"; the top of a file has none
  std::string_view heading;  // "[process.NAME]"
  std::vector<key_info> keys;

  const key_info* find(std::string_view key) const noexcept;
};

const std::vector<key_section>& all_sections();
const key_section& section_of(std::string_view name);

inline constexpr int grammar_version = 1;
inline constexpr std::string_view delivery_names[] = {"at-most-once", "at-least-once"};

// The tables of docs/configuration.md.
std::string keys_markdown();

}  // namespace leat::config
