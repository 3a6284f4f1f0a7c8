// SPDX-License-Identifier: BSL-1.0
//
// The screen of `top`: a state and a view in, lines of text out. Pure; any size is drawn, however small. Below 10 lines
// only the table with the focus is there.
//
//   climate  running 13m32s  healthy  cpu 12%  memory 8.7M  pid 4711     the deployment
//   climate: 'post' (http-post, climate.toml:41) holds up smooth ...     who is to blame, if somebody is
//     PROCESS      STATE      CPU  IN/s ...                              `>` the selected row, `!` the culprit
//   > probe        waiting     7%     0 ...
//     CHANNEL      FILL     LENGTH  IN/s ...
//     raw          [######]  16/16 50.1 ...
//   q quit  s sort: plan  / filter  p pause ...
#pragma once

#include <cstddef>

#include <leat/remote/screen.hpp>
#include <leat/remote/state.hpp>
#include <leat/remote/top_view.hpp>

namespace leat::remote {

struct screen_size {
  std::size_t width = 80, height = 24;
};

// `details`: of the process that the view shows, if they have come; nullptr otherwise.
screen draw_top(const deployment_state& s, const process_details* details, const top_view& v,
                screen_size size);

// The lines of a page about one thing, before they are cut to a screen.
screen process_page(const deployment_state& s, const process_state& p, const process_details* details,
                    std::size_t width);
screen channel_page(const deployment_state& s, const channel_state& c, std::size_t width);
screen help_page();

}  // namespace leat::remote
