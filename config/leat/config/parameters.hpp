// SPDX-License-Identifier: BSL-1.0
//
// The parameters of a template or of a service file, and what a use gives for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/expand.hpp>

namespace leat::config {

struct parameter {
  std::string name;
  source_location at = {};
  setting_schema type = {};
  bool good = true;      // false: its declaration is wrong; whatever is given for it is right
  bool channel = false;  // a text that names a channel
  value default_value = {};
};

inline constexpr std::string_view parameter_types[] = {"text", "number",  "integer", "boolean", "duration",
                                                       "size", "channel", "list",    "table"};

// param = { bus = "text", scale = { type = "number", default = 1.0 } }. `of`: "template 'pump'".
std::vector<parameter> read_parameters(const value& declared, const std::string& of, diagnostics& found);

// Of what a use gives, the later ones count: those of an element of for_each, which come after those of the use.
struct given_table {
  const value::table* members;
  std::string_view besides = {};  // a key that is no parameter
};
struct use_words {
  std::string of;                // "template 'pump'"
  std::string name;              // the parameter ${name}
  source_location used_at;       // what is missing is reported there; unknown: where it is declared
  std::string_view advice = {};  // how to give what is missing
};
std::vector<argument> bind(const std::vector<parameter>& wanted, const std::vector<given_table>& given,
                           const use_words& words, diagnostics& found);

}  // namespace leat::config
