// SPDX-License-Identifier: BSL-1.0
//
// Changes settings of a process that runs: the one way from outside (a verb, a page) to a setting_store.
//
// Each change is checked as a line of TOML is: kind, units as texts ("250ms", "64K"), limits, validators; then
// the validators of all settings together, with the changes in place. Either all changes are made, or none.
// Those of live settings reach the objects that run at once; the others count from the next incarnation on, so
// the caller must ask for a restart, or not make them. Any G; the names of fields are not checked.
#pragma once
#include <string>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/process/setting_store.hpp>

namespace leat::services {

struct setting_error {
  std::string key;          // of the change; empty: all of them together
  std::string text;         // one sentence, names the setting
  source_location at = {};  // as the value says: where it was written
};

// What becomes of changes of settings that are not live.
enum class not_live : std::uint8_t {
  refuse,  // none is made; set_outcome::not_live names them
  keep,    // they are there for the next incarnation
};

struct set_outcome {
  std::vector<setting_error> errors;  // not empty: nothing was changed
  // In the order of the changes: those that need a restart; and those that were made, live ones and others.
  std::vector<std::string> not_live;
  std::vector<std::string> set;
};

// `planned`: the checked table of the plan (config::process_plan::settings). `store`: that of the process.
// `changes`: a table, as it was written.
set_outcome set_settings(const class_schema& of, const value& planned, setting_store& store,
                         const value& changes, not_live others);

}  // namespace leat::services
