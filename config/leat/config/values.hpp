// SPDX-License-Identifier: BSL-1.0
//
// One way to check a value as it was parsed against what is said of it, for the grammar's own keys and for
// the settings of process classes alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/diagnostic.hpp>

namespace leat::config {

// The value with its units and defaults read; none when it was reported, here or before. `what` names it in
// diagnostics: "'window'".
value check_value(const setting_schema& wanted, const value& raw, const std::string& what,
                  diagnostics& found);

// A table of settings. Unknown keys are reported as "unknown KIND 'x' OF"; what is required and missing at
// `missing_at`.
struct table_words {
  std::string_view kind;  // "key", "setting", "field"
  std::string of;         // "in [channel.raw]"
  source_location missing_at;
};
value check_table(const std::vector<setting_schema>& wanted, const value& raw, const table_words& words,
                  diagnostics& found);

// What the class says of it; an error without a location of its own is reported at `otherwise`. False: it is wrong.
bool ask_validator(value_validator validate, const value& v, source_location otherwise,
                   const std::string& what, diagnostics& found);

// Which part of a text it is about, if it is about one.
text_part part_of_text(const setting_diagnostic& d, const value& whole);

// "an integer", "text"
std::string kind_with_article(value_kind k);

// The number or boolean that a text which came from a variable stands for; none if it does not, or was written so.
value from_variable(value_kind wanted, const value& raw, diagnostics& found);

// For a text that came from a variable: of which, and what that is. Else empty.
std::string said_of(const value& raw, diagnostics& found);

// For a number, or true or false, that is text: what is wrong with it. Else empty.
std::string quotes_hint(value_kind wanted, const value& raw);

// What, with the nearest of the names, or `otherwise` if none is near; returns that name.
std::string report_unknown(std::string_view rule, source_location at, const std::string& what,
                           std::string_view name, const std::vector<std::string_view>& among,
                           diagnostics& found, const std::string& otherwise = {});
// The nearest of the names, unless so much is wrong that looking for it each time would take for ever.
std::string nearest_while_few(std::string_view name, const std::vector<std::string_view>& among,
                              const diagnostics& found);

}  // namespace leat::config
