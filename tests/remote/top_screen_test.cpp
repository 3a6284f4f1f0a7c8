// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <algorithm>

#include <leat/remote/state_tables.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/top_screen.hpp>

#include "remote/sample.hpp"

namespace leat::remote {
namespace {

deployment_state sample() { return read_state(*read_json(test::sample_state()).value); }
process_details sample_details() { return read_details(*read_json(test::sample_process()).value); }

// A deployment with so many processes, each with a channel.
deployment_state crowd(std::size_t n) {
  deployment_state s = sample();
  s.blame.clear();
  s.culprits.clear();
  const process_state p = s.processes[0];
  const channel_state c = s.channels[0];
  s.processes.clear();
  s.channels.clear();
  for (std::size_t i = 0; i < n; ++i) {
    s.processes.push_back(p);
    s.processes.back().name = s.processes.back().process = "climate/worker-" + std::to_string(i);
    s.channels.push_back(c);
    s.channels.back().name = "climate/line-" + std::to_string(i);
  }
  return s;
}

std::string all_text(const screen& lines) {
  std::string text;
  for (const screen_line& l : lines) text += l.text + '\n';
  return text;
}
bool has(const screen& lines, std::string_view part) {
  return all_text(lines).find(part) != std::string::npos;
}
const screen_line* line_with(const screen& lines, std::string_view part) {
  for (const screen_line& l : lines)
    if (l.text.find(part) != std::string::npos) return &l;
  return nullptr;
}

}  // namespace

TEST_CASE("the first line tells how many threads of processes that hung have not come back") {
  CHECK(summary_text(sample()).find("fenced") == std::string::npos);
  std::string text = test::sample_state();
  text.replace(text.find("\"threads\":5"), 11, "\"threads\":5,\"fenced\":2,\"frozen\":1");
  CHECK(summary_text(read_state(*read_json(text).value))
            .ends_with("  pid 4711  delay 400us  fenced 2  frozen 1"));
}

TEST_CASE("the screen at 80x24") {
  const screen s = draw_top(sample(), nullptr, {}, {80, 24});
  CHECK(all_text(s) ==
        "climate  running 13m32s  healthy  cpu 12%  memory 8.7M  pid 4711  delay 400us\n"
        "climate: 'post' (http-post, climate.toml:41) holds up smooth/0, smooth/1: 93 %\n"
        "of its time it waits for 10.0.0.7:443; its channel 'smoothed' has been full for\n"
        "12 s\n"
        "  PROCESS      STATE       CPU   IN/s  OUT/s RESTARTS WAITS FOR\n"
        "> probe        computing    7%      0   50.1        0\n"
        "  smooth/0     waiting    0.4%  49.9*     0*        0 send smoothed 11s\n"
        "  smooth/1     restarting    -  49.9*     0*        2 12s ago: no ?[31msensor\n"
        " !post         waiting      1%    0.5      0        0 I/O 10.0.0.7:443\n"
        "  log          waiting      0%   1.2M      0        0 receive smoothed 3.0s\n"
        "  CHANNEL       FILL      LENGTH  IN/s OUT/s HIGH DROPPED  WAIT BLOCKED\n"
        "  raw           [#.....]    3/16  50.1  49.9   16       0  60ms\n"
        " !smoothed      [######]   64/64     0     0   64       0     - 12s smooth/0\n"
        "  smoothed@post [######]   64/64     0   0.5    0       0 2m08s\n"
        "  smoothed@log  [......]    0/64     0  1.2M    0    123k    0s\n"
        "\n\n\n\n\n\n\n\n"
        "q quit  s sort: plan  / filter  p pause  tab channels  enter more  ? help\n");
  CHECK(s.size() == 24);
  CHECK(line_with(s, "> probe")->how == look::selected);
  CHECK(line_with(s, "!post")->how == look::bad);
  CHECK(line_with(s, "!smoothed")->how == look::bad);
  CHECK(line_with(s, "smoothed@log")->how == look::warning);
  CHECK(line_with(s, "smooth/1  ")->how == look::warning);
}

TEST_CASE("a wide screen has more columns") {
  const screen s = draw_top(sample(), nullptr, {}, {200, 60});
  CHECK(s.size() == 60);
  CHECK(has(s, test::blame_text));
  CHECK(has(s, "http-post"));
  CHECK(has(s, "climate.toml:12"));
  CHECK(has(s, "MESSAGE"));
  CHECK(has(s, "[####................]"));
}

TEST_CASE("any size is drawn, with as many lines and no line too long") {
  const deployment_state few = sample(), many = crowd(100), none;
  const process_details details = sample_details();
  top_view typing, process, channel, help, gone;
  typing.typing = true;
  typing.filter = std::string(60, 'x');
  process.shows = top_view::page::process;
  process.process = "climate/post";
  process.scrolled = 1000;
  channel.shows = top_view::page::channel;
  channel.channel = "climate/smoothed";
  help.shows = top_view::page::help;
  gone = process;
  gone.process = "climate/nobody";
  gone.notice = "It went away";
  for (const deployment_state* s : {&few, &many, &none})
    for (const top_view& v : {top_view{}, typing, process, channel, help, gone})
      for (const std::size_t width : {1u, 2u, 5u, 20u, 40u, 80u, 119u, 120u, 200u})
        for (const std::size_t height : {1u, 2u, 3u, 5u, 9u, 10u, 11u, 24u, 60u}) {
          const screen lines = draw_top(*s, &details, v, {width, height});
          CHECK(lines.size() == height);
          CHECK(std::all_of(lines.begin(), lines.end(),
                            [&](const screen_line& l) { return columns(l.text) <= width; }));
        }
}

TEST_CASE("more rows than lines are shown a page at a time, with the selected one") {
  const deployment_state s = crowd(100);
  top_view v;
  screen lines = draw_top(s, nullptr, v, {80, 24});
  CHECK(has(lines, "worker-0 "));
  CHECK(has(lines, "line-0 "));
  CHECK(has(lines, "  1-10/100"));
  v.process = "climate/worker-55";
  lines = draw_top(s, nullptr, v, {80, 24});
  CHECK(line_with(lines, "> worker-55 "));
  CHECK(has(lines, "  51-60/100"));
  CHECK(has(lines, "line-0 "));
  v.focus = top_view::part::channels;
  v.channel = "climate/line-99";
  lines = draw_top(s, nullptr, v, {80, 24});
  CHECK(line_with(lines, "> line-99 "));
  CHECK_FALSE(line_with(lines, "> worker"));
  // Few of one leave room for the other.
  deployment_state uneven = s;
  uneven.channels.resize(2);
  CHECK(has(draw_top(uneven, nullptr, {}, {80, 24}), "  1-18/100"));
  // Below ten lines, only one table.
  lines = draw_top(s, nullptr, v, {80, 8});
  CHECK_FALSE(has(lines, "PROCESS"));
  CHECK(line_with(lines, "> line-99 "));
}

TEST_CASE("who is not healthy says why, and more than two to blame are counted") {
  deployment_state s = sample();
  s.healthy = false;
  s.why = "climate/post has failed; see its last failure";
  s.blame = {"a: x", "b: y", "c: z", "d: z"};
  const screen lines = draw_top(s, nullptr, {}, {80, 24});
  CHECK(has(lines, "NOT HEALTHY"));
  CHECK(has(lines, s.why));
  CHECK(has(lines, "b: y"));
  CHECK_FALSE(has(lines, "c: z"));
  CHECK(has(lines, "and 2 more that hold others up"));
}

TEST_CASE("the help fits 80 columns and 24 lines") {
  const screen page = help_page();
  CHECK(page.size() <= 23);
  for (const screen_line& l : page) {
    CAPTURE(l.text);
    CHECK(columns(l.text) <= 80);
  }
}

TEST_CASE("with several services names are whole") {
  deployment_state s = sample();
  s.services = {"climate", "line"};
  CHECK(has(draw_top(s, nullptr, {}, {80, 24}), "climate/probe"));
}

TEST_CASE("the page of a process has settings, ports and where it stands") {
  top_view v;
  v.shows = top_view::page::process;
  v.process = "climate/post";
  const process_details details = sample_details();
  screen lines = draw_top(sample(), &details, v, {80, 40});
  CHECK(has(lines, "climate/post  http-post  climate.toml:12"));
  CHECK(has(lines, "url    = \"https://10.0.0.7/in\"   where to"));
  CHECK(has(lines, "period = \"250ms\"   (live)"));
  CHECK(has(lines, "in  values: climate/smoothed"));
  CHECK(has(lines, "http_post::run() at http_post.cpp:61"));
  // The place in the code is not lost where there is little room.
  CHECK(has(draw_top(sample(), &details, v, {40, 60}), "stream.cpp:88"));
  // Those of another process are not shown.
  v.process = "climate/probe";
  lines = draw_top(sample(), &details, v, {80, 40});
  CHECK_FALSE(has(lines, "where to"));
  CHECK(has(lines, "are asked for"));
  v.process = "climate/smooth/1";
  lines = draw_top(sample(), nullptr, v, {80, 40});
  CHECK(has(lines, "last failure  12s ago: no ?[31msensor"));
  CHECK(has(lines, "2 failures"));
  v.process = "climate/x";
  CHECK(has(draw_top(sample(), nullptr, v, {80, 24}), "climate/x is gone"));
}

TEST_CASE("the page of a channel has its account, its people and its shares") {
  top_view v;
  v.shows = top_view::page::channel;
  v.channel = "climate/smoothed";
  const screen lines = draw_top(sample(), nullptr, v, {80, 40});
  CHECK(has(lines, "64/64"));
  CHECK(has(lines, "single, when full: block, each reader gets all"));
  CHECK(has(lines, "full for      12s"));
  CHECK(has(lines, "blocked       climate/smooth/0"));
  CHECK(has(lines, "sent 90, received 10"));
  CHECK(has(lines, "@climate/log"));
}

TEST_CASE("a bar shows one value, and only a full channel as full") {
  channel_state c;
  c.capacity = 1000;
  CHECK(fill_bar(c, 6) == "[......]");
  c.length = 1;
  CHECK(fill_bar(c, 6) == "[#.....]");
  c.length = 999;
  CHECK(fill_bar(c, 6) == "[#####.]");
  c.length = 1000;
  CHECK(fill_bar(c, 6) == "[######]");
  c.length = 2000;
  CHECK(fill_bar(c, 6) == "[######]");
  c.capacity = 0;
  CHECK(fill_bar(c, 6) == "[......]");
}

TEST_CASE("only lines that changed are sent") {
  const screen a{{"one"}, {"two", look::bad}, {"three"}};
  screen b = a;
  CHECK(changes(a, b, 80, true).empty());
  b[1].text = "2";
  CHECK(changes(a, b, 80, true) == "\033[2;1H\033[31m2\033[0m\033[K");
  CHECK(changes(a, b, 80, false) == "\033[2;1H2\033[K");
  CHECK(changes({}, b, 80, false) == "\033[2J\033[1;1Hone\033[K\033[2;1H2\033[K\033[3;1Hthree\033[K");
  // The last column is not erased behind the text; a line that is gone is.
  CHECK(changes(a, {{"one"}, {"abcde"}}, 5, false) == "\033[2;1Habcde\033[3;1H\033[K");
  // A second that passes changes a line or two, not the screen.
  deployment_state s = sample();
  const screen before = draw_top(s, nullptr, {}, {80, 24});
  s.uptime += 1;
  s.channels[0].rate_in = 50.2;
  CHECK(changes(before, draw_top(s, nullptr, {}, {80, 24}), 80, true).size() < 400);
}

TEST_CASE("without a terminal everything is there, uncut") {
  const std::string text = state_text(sample());
  CHECK(text.find(test::blame_text + "\n\nPROCESS ") != std::string::npos);
  CHECK(text.find("\nCHANNEL ") != std::string::npos);
  CHECK(text.find("smoothed@log") != std::string::npos);
  CHECK(text.find('\033') == std::string::npos);
}

}  // namespace leat::remote
