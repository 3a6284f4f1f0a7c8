// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/remote/keys.hpp>
#include <leat/remote/top_view.hpp>

#include "remote/sample.hpp"

namespace leat::remote {
namespace {

using names = std::vector<std::string>;

deployment_state sample() { return read_state(*read_json(test::sample_state()).value); }

names processes_of(const deployment_state& s, const top_view& v) {
  names all;
  for (const process_state* p : chosen_processes(s, v)) all.push_back(p->name.substr(8));
  return all;
}
names channels_of(const deployment_state& s, const top_view& v) {
  names all;
  for (const channel_state* c : chosen_channels(s, v)) all.push_back(c->full_name().substr(8));
  return all;
}

void type_keys(top_view& v, const deployment_state& s, std::string_view bytes) {
  key_reader keys;
  std::vector<key_press> all = keys.feed(bytes);
  for (const key_press k : keys.flush()) all.push_back(k);
  for (const key_press k : all) press(v, s, k, 2);
}

}  // namespace

TEST_CASE("keys of several bytes are read in any pieces") {
  const std::string bytes = "j\033[A\033OB\033[5~\r\t\x7f\033[1;5C\033[H";
  const std::vector<key_press> all{{key::character, 'j'}, {key::up},  {key::down},      {key::page_up},
                                   {key::enter},          {key::tab}, {key::backspace}, {key::home}};
  for (const std::size_t at_once : {1u, 2u, 3u, 100u}) {
    key_reader r;
    std::vector<key_press> read;
    for (std::size_t i = 0; i < bytes.size(); i += at_once)
      for (const key_press k : r.feed(bytes.substr(i, at_once))) read.push_back(k);
    CHECK(read == all);
    CHECK_FALSE(r.pending());
  }
  // Also where a sequence is too long to be one.
  const std::string endless = "\033[1############;5C";
  for (std::size_t n = 10; n < endless.size(); ++n) {
    key_reader whole, halves;
    const std::vector<key_press> once = whole.feed(endless);
    std::vector<key_press> twice = halves.feed(endless.substr(0, n));
    for (const key_press k : halves.feed(endless.substr(n))) twice.push_back(k);
    CHECK(once == twice);
  }
}

TEST_CASE("an escape that nothing follows is a key, and so is one before another key") {
  key_reader r;
  CHECK(r.feed("\033").empty());
  CHECK(r.pending());
  CHECK(r.flush() == std::vector<key_press>{{key::escape}});
  CHECK_FALSE(r.pending());
  CHECK(r.feed("\033q") == std::vector<key_press>{{key::escape}, {key::character, 'q'}});
  CHECK(r.feed("\xff\001").empty());
  // What never ends is not kept for ever.
  CHECK(r.feed("\033[" + std::string(100, '1')).size() < 100);
  CHECK_FALSE(r.pending());
}

TEST_CASE("rows are sorted by what was chosen, and stay in the order of the plan otherwise") {
  const deployment_state s = sample();
  top_view v;
  CHECK(processes_of(s, v) == names{"probe", "smooth/0", "smooth/1", "post", "log"});
  v.processes_by = process_order::cpu;
  CHECK(processes_of(s, v) == names{"probe", "post", "smooth/0", "log", "smooth/1"});
  v.processes_by = process_order::restarts;
  CHECK(processes_of(s, v) == names{"smooth/1", "probe", "smooth/0", "post", "log"});
  v.processes_by = process_order::rate;
  CHECK(processes_of(s, v).front() == "log");
  v.processes_by = process_order::name;
  CHECK(processes_of(s, v) == names{"log", "post", "probe", "smooth/0", "smooth/1"});
  v.reversed = true;
  CHECK(processes_of(s, v).front() == "smooth/1");
  v.reversed = false;
  CHECK(channels_of(s, v) == names{"raw", "smoothed", "smoothed@climate/post", "smoothed@climate/log"});
  v.channels_by = channel_order::fill;
  CHECK(channels_of(s, v) == names{"smoothed", "smoothed@climate/post", "raw", "smoothed@climate/log"});
  v.channels_by = channel_order::wait;
  CHECK(channels_of(s, v) == names{"smoothed", "smoothed@climate/post", "raw", "smoothed@climate/log"});
  v.channels_by = channel_order::dropped;
  CHECK(channels_of(s, v).front() == "smoothed@climate/log");
}

TEST_CASE("a filter is part of a name or class, in any case, and is typed") {
  const deployment_state s = sample();
  top_view v;
  type_keys(v, s, "/SMOO");
  CHECK(v.typing);
  CHECK(processes_of(s, v) == names{"smooth/0", "smooth/1"});
  type_keys(v, s, "TX\x7f\r");
  CHECK_FALSE(v.typing);
  CHECK(v.filter == "SMOOT");
  type_keys(v, s, "\033");
  CHECK(v.filter.empty());
  type_keys(v, s, "/http\r");
  CHECK(processes_of(s, v) == names{"post"});
  type_keys(v, s, "/q");
  CHECK(v.filter == "httpq");  // a letter, while somebody types
  CHECK(processes_of(s, v).empty());
  CHECK(selected_process(s, v) == nullptr);
  type_keys(v, s, "\r\r");  // enter at nothing
  CHECK(v.shows == top_view::page::overview);
}

TEST_CASE("the selection moves by rows and pages, stops at the ends, and follows its row") {
  deployment_state s = sample();
  top_view v;
  CHECK(selected_process(s, v)->name == "climate/probe");
  type_keys(v, s, "\033[B");
  CHECK(selected_process(s, v)->name == "climate/smooth/0");
  type_keys(v, s, "\033[6~");
  CHECK(selected_process(s, v)->name == "climate/post");
  type_keys(v, s, "jjjj");
  CHECK(selected_process(s, v)->name == "climate/log");
  type_keys(v, s, "\033[H");
  CHECK(selected_process(s, v)->name == "climate/probe");
  type_keys(v, s, "\033[Fk");
  CHECK(selected_process(s, v)->name == "climate/post");
  v.processes_by = process_order::name;
  CHECK(selected_process(s, v)->name == "climate/post");
  s.processes.erase(s.processes.begin() + 3);  // it is gone
  CHECK(selected_process(s, v)->name == "climate/log");
  type_keys(v, s, "\t\033[B\033[B");
  CHECK(selected_channel(s, v)->full_name() == "climate/smoothed@climate/post");
}

TEST_CASE("enter opens the selected one, esc comes back, q leaves from anywhere") {
  const deployment_state s = sample();
  top_view v;
  type_keys(v, s, "\r");
  CHECK(v.shows == top_view::page::process);
  CHECK(v.process == "climate/probe");
  type_keys(v, s, "\033[B\033[B");
  CHECK(v.scrolled == 2);
  type_keys(v, s, "\033");
  CHECK(v.shows == top_view::page::overview);
  type_keys(v, s, "\t\r");
  CHECK(v.shows == top_view::page::channel);
  CHECK(v.channel == "climate/raw");
  CHECK(press(v, s, {key::character, 'q'}, 2) == pressed::quit);
  type_keys(v, s, "\x7f?");
  CHECK(v.shows == top_view::page::help);
  type_keys(v, s, "?");
  CHECK(v.shows == top_view::page::overview);
  CHECK(press(v, s, {key::character, 'q'}, 2) == pressed::quit);
  type_keys(v, s, "p");
  CHECK(v.paused);
  CHECK(press(v, s, {key::character, 'Z'}, 2) == pressed::nothing);
}

TEST_CASE("s goes through all orders and begins again") {
  const deployment_state s = sample();
  top_view v;
  names all;
  for (int i = 0; i < 6; ++i) {
    all.emplace_back(name_of(v.processes_by));
    type_keys(v, s, "s");
  }
  CHECK(all == names{"plan", "cpu", "rate", "restarts", "name", "plan"});
  v = {};
  type_keys(v, s, "\tsS");
  CHECK(v.channels_by == channel_order::fill);
  CHECK(v.processes_by == process_order::as_planned);
  CHECK(v.reversed);
}

}  // namespace leat::remote
