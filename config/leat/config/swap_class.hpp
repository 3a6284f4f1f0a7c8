// SPDX-License-Identifier: BSL-1.0
//
// What becomes of a process whose class is another by an override: the settings of the old class go, since the
// same name may mean something else, and so do those of its ports that the new class does not have.
#pragma once

#include <leat/base/schema.hpp>
#include <leat/config/merge.hpp>

namespace leat::config {

// Before `changes` is laid over `process`; nothing is done if that names no other class. What channels lose by it is
// kept with the service, for who misses it.
void swap_class(merged_service& service, value_member& process, const value& changes, const catalog& classes,
                const diagnostics& found);

}  // namespace leat::config
