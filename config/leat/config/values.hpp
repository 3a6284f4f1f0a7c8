// SPDX-License-Identifier: BSL-1.0
//
// One way to check a value as it was parsed against what is said of it, for the grammar's own keys and for
// the settings of process classes alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/finding.hpp>

namespace leat::config {

// The value with its units and defaults read; none when it was reported, here or before. `what` names it in
// findings: "'window'".
value check_value(const setting_schema& wanted, const value& raw, const std::string& what, findings& found);

// A table of settings. Unknown keys are reported as "unknown KIND 'x' OF"; what is required and missing at
// `missing_at`.
struct table_words {
  std::string_view kind;  // "key", "setting", "field"
  std::string of;         // "in [channel.raw]"
  place missing_at;
};
value check_table(const std::vector<setting_schema>& wanted, const value& raw, const table_words& words,
                  findings& found);

// What the class says of it; a fault without a place of its own is told at `otherwise`. False: it is wrong.
bool ask_judge(value_judge judge, const value& v, place otherwise, const std::string& what, findings& found);

// "an integer", "text"
std::string kind_with_article(value_kind k);

// For a number, or true or false, that is text: what is wrong with it. Else empty.
std::string quotes_hint(setting_kind wanted, const value& raw);

// What, with the nearest of the names, or `otherwise` if none is near; returns that name.
std::string report_unknown(std::string_view rule, place at, const std::string& what, std::string_view name,
                           const std::vector<std::string_view>& among, findings& found,
                           const std::string& otherwise = {});
// The nearest of the names, unless so much is wrong that looking for it each time would take for ever.
std::string nearest_while_few(std::string_view name, const std::vector<std::string_view>& among,
                              const findings& found);

}  // namespace leat::config
