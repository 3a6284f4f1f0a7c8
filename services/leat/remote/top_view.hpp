// SPDX-License-Identifier: BSL-1.0
//
// What somebody looks at in `top`: which rows in which order, which one is selected, which page; and what each key
// changes of it. Pure: no terminal, no clock. Rows are known by their names, so that a selection stays where it is
// while numbers change the order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <leat/remote/keys.hpp>
#include <leat/remote/state.hpp>

namespace leat::remote {

enum class process_order : std::uint8_t { as_planned, cpu, rate, restarts, name };
enum class channel_order : std::uint8_t { as_planned, fill, rate, dropped, wait, name };

struct top_view {
  enum class page : std::uint8_t { overview, process, channel, help };
  enum class part : std::uint8_t { processes, channels };

  page shows = page::overview;
  part focus = part::processes;
  process_order processes_by = process_order::as_planned;
  channel_order channels_by = channel_order::as_planned;
  bool reversed = false;
  std::string filter = {};
  bool typing = false;       // the filter
  std::string process = {};  // selected; empty or gone: the first
  std::string channel = {};
  std::size_t scrolled = 0;  // lines of a page about one thing
  bool paused = false;
  std::string notice = {};  // what the reader must know now: the deployment has gone
};

const char* name_of(process_order o);
const char* name_of(channel_order o);

// Those that the filter leaves, in order. A filter is part of a name or class, in any case.
std::vector<const process_state*> chosen_processes(const deployment_state& s, const top_view& v);
std::vector<const channel_state*> chosen_channels(const deployment_state& s, const top_view& v);
// The selected one; nullptr: there is none at all.
const process_state* selected_process(const deployment_state& s, const top_view& v);
const channel_state* selected_channel(const deployment_state& s, const top_view& v);

enum class pressed : std::uint8_t { nothing, changed, quit };
// `page`: how many rows a page up or down goes.
pressed press(top_view& v, const deployment_state& s, key_press k, std::size_t page);

}  // namespace leat::remote
