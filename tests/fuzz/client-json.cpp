// SPDX-License-Identifier: BSL-1.0
//
// Any text read as an answer of a deployment: each value is read again from its own part of the text as the same, and
// what is made of it for a screen is safe to print.
#include <leat/remote/json.hpp>
#include <leat/remote/state_tables.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/top_screen.hpp>

#include "fuzz/fuzz.hpp"
#include "process/json_cases.hpp"
#include "remote/sample.hpp"

namespace leat::fuzz {
namespace {

using remote::json;

bool same(const json& a, const json& b) {
  if (a.what != b.what || a.flag != b.flag || a.number != b.number || a.text != b.text ||
      a.elements.size() != b.elements.size() || a.members.size() != b.members.size())
    return false;
  for (std::size_t i = 0; i < a.elements.size(); ++i)
    if (!same(a.elements[i], b.elements[i])) return false;
  for (std::size_t i = 0; i < a.members.size(); ++i)
    if (a.members[i].key != b.members[i].key || !same(a.members[i], b.members[i])) return false;
  return true;
}

void check_parts(const json& v, std::string_view text) {
  require(v.begin < v.end && v.end <= text.size(), "a value lies within the text");
  const remote::json_result again = remote::read_json(v.source(text));
  require(again.value && same(*again.value, v), "a value is read again from its part of the text");
  for (const json& e : v.elements)
    require(e.begin > v.begin && e.end < v.end, "a value lies within its list");
  for (const json& m : v.members) require(m.begin > v.begin && m.end < v.end, "and within its table");
}

void check_screen(const json& v) {
  const remote::deployment_state s = remote::read_state(v);
  const remote::process_details details = remote::read_details(v);
  remote::top_view view;
  for (const auto page :
       {remote::top_view::page::overview, remote::top_view::page::process, remote::top_view::page::channel}) {
    view.shows = page;
    if (!s.processes.empty()) view.process = s.processes.back().name;
    if (!s.channels.empty()) view.channel = s.channels.back().full_name();
    const remote::screen lines = remote::draw_top(s, &details, view, {80, 24});
    require(lines.size() == 24, "a screen has its lines");
    for (const remote::screen_line& l : lines) {
      require(remote::columns(l.text) <= 80, "no line is too long");
      require(remote::printable(l.text) == l.text, "no line moves the cursor");
    }
  }
  const std::string all = remote::state_text(s);
  require(all.find('\033') == std::string::npos, "no text moves the cursor");
}

void run(std::string_view input) {
  const remote::json_result r = remote::read_json(input);
  if (!r.value) {
    require(r.error.at <= input.size() && !r.error.text.empty(), "a fault lies within the text");
    require(r.error.line > 0 && r.error.column > 0, "a fault has a place");
    return;
  }
  check_parts(*r.value, input);
  check_screen(*r.value);
}

inputs seeds() {
  inputs all{remote::test::sample_state(), remote::test::sample_process(),
             R"({"channel":"climate/raw","seq":1234,"value":{"a":[1,2.5e3,null]}})"};
  for (const test::json_case& c : test::accepted_json) all.emplace_back(c.text);
  for (const std::string_view text : test::refused_json) all.emplace_back(text);
  return all;
}

LEAT_FUZZ_TARGET("client-json", run, seeds);

}  // namespace
}  // namespace leat::fuzz
