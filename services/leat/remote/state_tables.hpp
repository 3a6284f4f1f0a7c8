// SPDX-License-Identifier: BSL-1.0
//
// Processes and channels as rows: what `top` shows on its screen, and prints where there is none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/remote/state.hpp>
#include <leat/remote/table.hpp>

namespace leat::remote {

// Without the name of the service, if there is only one.
std::string short_name(const deployment_state& s, std::string_view name);

// What goes into a process and out of it, a second. `shared`: the channel has further readers or writers, and the
// rate is that of all.
struct flow {
  double per_second = 0;
  bool shared = false;
};
flow flow_in(const deployment_state& s, const process_state& p);
flow flow_out(const deployment_state& s, const process_state& p);

// "send raw 12s", "I/O 10.0.0.7:443"; of a process that failed, why.
std::string waits_text(const deployment_state& s, const process_state& p);
// "[####....]"
std::string fill_bar(const channel_state& c, std::size_t cells);
// Capacity reached, and somebody waits for room.
bool holds_up(const channel_state& c);

enum class table_width { narrow, wide };
table process_table(const deployment_state& s, const std::vector<const process_state*>& rows, table_width w);
table channel_table(const deployment_state& s, const std::vector<const channel_state*>& rows, table_width w);

// "climate  running 13m32s  healthy  cpu 12%  8.7M ..."
std::string summary_text(const deployment_state& s);

// All of it, for a pipe or a file.
std::string state_text(const deployment_state& s);

}  // namespace leat::remote
