// SPDX-License-Identifier: BSL-1.0
//
// [simulate.NAME]: what stands in for a process when the deployment is simulated. It is laid over the process as an
// override is (overrides.hpp), after all overrides and before --set:
//
//   [simulate.bus]                          # of a process of the same file
//   use    = "sensor-sim"                   # another class: the settings of the old one go
//   config = { period = "200ms" }
//   out    = { values = "readings" }        # where its ports have other names
//
//   [simulate.page]
//   enabled = false                         # it is not there
//
// A name with a '/' is that of a service and a process, for files that describe no service; `*` stands for any
// characters. In a template it is [template.NAME.simulate.NAME].
#pragma once

#include <leat/base/schema.hpp>
#include <leat/config/merge.hpp>

namespace leat::config {

// Notes in to.stand_ins which processes have one.
void apply_stand_ins(merged& to, const catalog& classes, const source_set& sources, bool services_unread,
                     diagnostics& found);

}  // namespace leat::config
