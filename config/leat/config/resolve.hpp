// SPDX-License-Identifier: BSL-1.0
//
// The one way from a builder to a plan. It goes on after an error, so that one run finds them all; a name
// that is mistyped is taken for the one that was probably meant, so that one mistake is one error.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/config/builder.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/plan.hpp>

namespace leat::config {

// Empty when anything, here or before, was an error.
std::optional<plan> resolve(const builder& from, const catalog& classes, diagnostics& found);

// The plan in the making, and where its parts come from.
struct draft {
  const builder& from;
  const catalog& classes;
  diagnostics& found;
  plan out = {};
  // Beside out.processes and out.channels. An unnamed channel has no source.
  std::vector<const process_builder*> process_sources = {};
  std::vector<const channel_builder*> channel_sources = {};
  // Beside out.processes: none of its settings is wrong.
  std::vector<bool> good_settings = {};
  // Ports of a class that the file names in some wrong way; they do not count as unconnected too.
  std::vector<std::vector<bool>> excused = {};
  // Services with a name of a channel that could not be resolved: it may be the reader or writer that another
  // channel seems to lack.
  std::vector<bool> lost_readers = {}, lost_writers = {};
  // By service: the ends of channels that processes had which are switched off, or that overrides took.
  std::vector<std::vector<lost_end>> gone = {};
  // Ports whose values are dead letters of a channel, by channel.
  std::vector<std::vector<endpoint>> dead_letters = {};

  std::string port_name(const endpoint& e) const {
    const process_plan& p = out.processes[e.process];
    const port_schema* s = p.ports[e.port].schema;
    return s ? p.name + '.' + s->name : p.name;
  }
  // Notes of who is gone from the channel of this name, as it is called in its service.
  // `advice` is added to the text if there are some.
  void note_gone(diagnostic& f, index service, std::string_view channel, port_direction direction,
                 std::string_view advice = {}) const;
};

// The steps of resolve, each in its file.
void resolve_processes(draft& d);  // classes, settings, what has defaults elsewhere
void resolve_channels(draft& d);   // declared channels, then ports to channels
void check_channels(draft& d);     // types, readers, writers, policies
void check_fields(draft& d);       // records: which fields there are, and which are wanted
void check_topology(draft& d);     // ports left open, replicas, cycles, memory, [runtime]

}  // namespace leat::config
