// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as what comes in at the control door: a request with its body, as the server reads it, answered by a
// deployment that does nothing; and any bytes as JSON.
#include <algorithm>

#include <leat/control/routes.hpp>
#include <leat/remote/json.hpp>

#include "control/fake_deployment.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

using remote::json;
using remote::read_json;

void check_places(const json& v, std::string_view whole, std::size_t depth) {
  require(v.begin < v.end && v.end <= whole.size(), "a value has a place in the text");
  require(depth <= remote::json_depth, "nothing is nested too deep");
  for (const json& e : v.elements) {
    require(e.begin > v.begin && e.end < v.end, "an element stands inside of its list");
    check_places(e, whole, depth + 1);
  }
  for (const json& m : v.members) {
    require(m.begin > v.begin && m.end < v.end, "a member stands inside of its table");
    check_places(m, whole, depth + 1);
  }
}

void read_as_json(std::string_view input) {
  const remote::json_result r = read_json(input);
  if (!r.value) {
    require(!r.error.text.empty() && r.error.at <= input.size() && r.error.line >= 1 && r.error.column >= 1,
            "what is wrong has a place");
    return;
  }
  check_places(*r.value, input, 0);
  const remote::json_result again = read_json(r.value->source(input));
  require(again.value && again.value->what == r.value->what && again.value->text == r.value->text &&
              again.value->members.size() == r.value->members.size(),
          "the text of a value is that value");
}

bool reads_as_json(const std::string& text) { return read_json(text).value.has_value(); }

void ask(std::string_view input, control::rights may) {
  net::http::request_parser p;
  if (p.parse(input) != net::http::progress::complete) return;
  net::http::request r = p.get();
  const std::string_view rest = input.substr(r.head_size);
  if (r.body_size > rest.size()) return;
  r.body = rest.substr(0, r.body_size);
  control::test::fake_deployment d;
  d.view.name = "fuzzed";
  const net::http::response a = control::answer_to(d, r, may, false);
  require(a.status.size() > 4 && a.status[3] == ' ', "an answer has a status");
  require(a.fields.empty() || a.fields.ends_with("\r\n"), "its fields are lines");
  require(a.fields.find("\r\n\r\n") == std::string::npos, "its fields have no empty line");
  if (a.type == "application/json") require(reads_as_json(a.body), "its JSON can be read");
  const bool good = a.status.starts_with("200");
  const bool not_ready = a.status.starts_with("503") && a.type == "text/plain";
  if (!good && !not_ready)
    require(a.type == "application/json" && a.body.starts_with("{\"error\":\""), "an error says why");
  const bool changed = std::any_of(d.asked.begin(), d.asked.end(), [](const std::string& s) {
    return !s.starts_with("look") && !s.starts_with("health") && !s.starts_with("process") &&
           !s.starts_with("tap");
  });
  require(!changed || (may == control::rights::change && r.method == "POST"),
          "nothing is changed but by who may, and by POST");
  require(!a.then, "a tap of nothing streams nothing");
}

void run(std::string_view input) {
  switch (choice(input, 3)) {
    case 0: return ask(input, control::rights::change);
    case 1: return ask(input, control::rights::look);
    default: read_as_json(input);
  }
}

std::string post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: leat\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

inputs seeds() {
  inputs all;
  for (const char* target : {"/v1/state", "/metrics", "/live", "/ready", "/v1/process?name=a%2Fb/1",
                             "/v1/tap?channel=a/b&channel=c&rate=10.5&count=3", "/", "/nothing"})
    for (const char* method : {"GET", "HEAD", "POST"})
      all.push_back(
          chosen(static_cast<unsigned>(all.size() % 2), std::string(method) + ' ' + target +
                                                            " HTTP/1.1\r\nHost: leat\r\nAccept: "
                                                            "application/openmetrics-text\r\n\r\n"));
  for (const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/inject",
            R"({"channel":"a/b","value":{"n":[1,-2.5e3,null,true,"\u00e4\ud83d\ude00"]},"wait":1})"},
           {"/v1/restart", R"({"process":"a/b/1"})"},
           {"/v1/set", R"({"process":"a/b","set":{"window":16,"time":"250ms"},"restart":true})"},
           {"/v1/log", R"({"level":"debug"})"},
           {"/v1/dump", ""},
           {"/v1/stop", R"({"now":false})"},
           {"/v1/stop", "{"}}) {
    all.push_back(chosen(0, post(path, body)));
    all.push_back(chosen(1, post(path, body)));
    all.push_back(chosen(2, body));
  }
  all.push_back(chosen(2, std::string(70, '[') + std::string(70, ']')));
  all.push_back(chosen(2, " {\"a\" : [ ] , \"b\":{ } , \"a\":1e-400 }\r\n"));
  return all;
}

LEAT_FUZZ_TARGET("control", run, seeds);

}  // namespace
}  // namespace leat::fuzz
