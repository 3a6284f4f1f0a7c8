// SPDX-License-Identifier: BSL-1.0
//
// Several parsed files become one set of services, one [runtime] and one [supervisor], with overrides
// applied. Nothing but names is looked at yet.
#pragma once

#include <vector>

#include <leat/config/builder.hpp>
#include <leat/config/files.hpp>

namespace leat::config {

struct merged_service {
  named name = {};
  value service = {};                        // [service]; none when the file has none
  std::vector<value_member> processes = {};  // by id, each a table or what was written instead
  std::vector<value_member> channels = {};
};

struct merged {
  std::vector<merged_service> services = {};
  value runtime = {};
  value supervisor = {};
  bool all_classes = true;  // false: `plugins` was mistyped, and nobody knows what it names
};

merged merge(const parsed_files& files, const source_set& sources, findings& found);

}  // namespace leat::config
