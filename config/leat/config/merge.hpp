// SPDX-License-Identifier: BSL-1.0
//
// Several parsed files become one set of services, one [runtime], [supervisor] and [control], with overrides
// and, for a simulation, stand-ins applied. Nothing but names is looked at yet.
#pragma once

#include <vector>

#include <leat/config/builder.hpp>
#include <leat/config/files.hpp>
#include <leat/config/set_argument.hpp>

namespace leat::config {

struct merged_service {
  named name = {};
  value service = {};                        // [service]; none when the file has none
  std::vector<value_member> processes = {};  // by id, each a table or what was written instead
  std::vector<value_member> channels = {};
  std::vector<lost_end> lost = {};
  std::vector<value_member> stand_ins = {};  // [simulate.NAME], as written in its file
};

struct merged {
  std::vector<merged_service> services = {};
  value runtime = {};
  value supervisor = {};
  value control = {};
  std::vector<value_member> other_stand_ins = {};  // [simulate.NAME] in files without a service
  std::vector<std::string> stand_ins = {};         // in a simulation: processes that have one, "plant/bus"
  bool all_classes = true;  // false: `plugins` was mistyped, and nobody knows what it names
};

// `classes`: for what becomes of a process whose class is another by an override. `simulated`: with the stand-ins of
// [simulate.NAME] (stand_ins.hpp).
merged merge(const parsed_files& files, const set_values& sets, bool simulated, const source_set& sources,
             const catalog& classes, diagnostics& found);

}  // namespace leat::config
