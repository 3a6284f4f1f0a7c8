// SPDX-License-Identifier: BSL-1.0
//
// Faults that a simulation makes, from a file:
//
//   [[fault]]
//   process = "plant/north-bus"     # or "north-bus"; `*` stands for any characters: one that fits, by the seed
//   what    = "throw"               # it is thrown out of its next call; or "hang": it gets no turn any more, until
//                                   # its limits throw it out
//   at      = ["1h", "90m"]         # times of the world; or
//   every   = "6h"                  # on average, by the seed
//
// Reading it is pure: a text and a plan in, a script or all that is wrong out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/config/config.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/plan.hpp>
#include <leat/config/source.hpp>

namespace leat::services {

enum class fault_kind : std::uint8_t { throws, hangs };
const char* to_string(fault_kind k) noexcept;  // as in a file

struct scripted_fault {
  std::string process = {};  // as written
  std::string where = {};    // "faults.toml:3"
  fault_kind what = fault_kind::throws;
  std::vector<config::index> processes = {};  // that fit
  std::vector<nanoseconds> at = {};           // in order
  nanoseconds every{0};                       // 0: `at` counts
};

struct fault_script {
  std::vector<scripted_fault> faults = {};
};

struct fault_count {
  unsigned due = 0;
  unsigned made = 0;  // the others came when the process was not there
};

// What is wrong goes to `found`, whose places are in `sources`.
fault_script read_faults(std::string name, std::string text, const config::plan& plan,
                         config::source_set& sources, config::diagnostics& found);

}  // namespace leat::services
