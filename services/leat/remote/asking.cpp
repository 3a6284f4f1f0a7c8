// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/asking.hpp>

#include <algorithm>
#include <cstdio>

#include <leat/config/suggest.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/verbs.hpp>

namespace leat::remote {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void complain(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string ask_or_fail(const endpoint& to, const http_request& what, nanoseconds patience) {
  asked a = ask(to, what, patience);
  const std::string name = printable(to.name) + ": ";
  if (!a.error.empty())
    throw failure(a.nobody ? exit_no_deployment : exit_failed,
                  name + a.error + (a.nobody ? "; `leat ps` shows what runs here" : ""));
  if (a.status < 200 || a.status > 299) throw failure(exit_failed, name + error_of(to, a.status, a.body));
  return std::move(a.body);
}

told_state read_told_state(const endpoint& from, std::string text) {
  json_result r = read_json(text);
  const std::string name = printable(from.name) + ": ";
  if (!r.value || r.value->what != json::kind::table)
    throw failure(exit_failed, name + "its answer is not JSON" + (r.value ? "" : ": " + r.error.text));
  told_state t{std::move(text), std::move(*r.value), {}};
  t.state = read_state(t.tree);
  if (t.state.api != known_api)
    throw failure(exit_failed, name + "it speaks version " + std::to_string(t.state.api) +
                                   " of the interface, this program version " + std::to_string(known_api) +
                                   "; use the `leat` of version " +
                                   (t.state.leat.empty() ? "?" : t.state.leat));
  return t;
}

told_state ask_state(const endpoint& to) {
  return read_told_state(to, ask_or_fail(to, {.target = "/v1/state"}));
}

std::string full_name(std::string_view word, const std::vector<std::string>& among, std::string_view what,
                      const deployment_state& s) {
  std::vector<std::string> found;
  for (const std::string& name : among) {
    if (name == word) return name;
    if (name.ends_with('/' + std::string(word)) && std::find(found.begin(), found.end(), name) == found.end())
      found.push_back(name);
  }
  if (found.size() == 1) return found.front();
  const std::string shown = std::string(what) + " '" + printable(word) + "'";
  if (!found.empty())
    throw failure(exit_failed, s.name + ": " + shown + " may be any of " + joined(found, ", "));
  // What is near may be so with the service or without it.
  std::vector<std::string_view> names(among.begin(), among.end());
  std::string near = config::nearest(word, names);
  if (near.empty()) {
    for (std::string_view& n : names) n.remove_prefix(std::min(n.find('/') + 1, n.size()));
    near = config::nearest(word, names);
  }
  throw failure(exit_failed,
                s.name + ": there is no " + shown + config::did_you_mean(near) +
                    (near.empty() ? "; `leat ps --" + std::string(what) + (what == "process" ? "es" : "s") +
                                        "` lists those that there are"
                                  : ""));
}

std::string full_process(std::string_view word, const deployment_state& s) {
  std::vector<std::string> names;
  for (const process_state& p : s.processes) {
    names.push_back(p.name);
    if (!p.process.empty()) names.push_back(p.process);
  }
  return full_name(word, names, "process", s);
}

std::string full_channel(std::string_view word, const deployment_state& s) {
  std::vector<std::string> names;
  for (const channel_state& c : s.channels) names.push_back(c.name);
  return full_name(word, names, "channel", s);
}

int run_verb(int (*verb)(const request&), const request& r) {
  try {
    return verb(r);
  } catch (const failure& f) {
    std::fflush(stdout);
    complain(r.program + ": " + f.what() + "\n");
    return f.status();
  }
}

}  // namespace leat::remote
