// SPDX-License-Identifier: BSL-1.0
//
// What changes something: injecting, restarts, settings, levels of the log, the end.
#include <leat/services/controls.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <leat/base/log.hpp>
#include <leat/base/log_levels.hpp>
#include <leat/base/units.hpp>
#include <leat/control/json_writer.hpp>
#include <leat/process/message.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>
#include <leat/services/set_settings.hpp>

namespace leat::services {

using namespace std::chrono_literals;
using control::json_writer;
using control::outcome;
using control::refused;

namespace {

// nearly_done: of a host that has begun, after its time.
constexpr nanoseconds answer_within = 2s, nearly_done = 500ms, look_again = 2ms;
constexpr double longest_wait = 60;

// Line and column, in characters, of a byte of a text.
std::pair<std::size_t, std::size_t> place_in(std::string_view text, std::size_t at) {
  std::size_t line = 1, column = 1;
  for (const char c : text.substr(0, at)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++column;
    }
  }
  return {line, column};
}

// As a line of TOML would have it.
value value_of(const control::json& j) {
  using kind = control::json::kind;
  switch (j.what) {
    case kind::null: return value();
    case kind::boolean: return value(j.flag);
    case kind::text: return value(j.text);
    case kind::number: {
      std::int64_t whole = 0;
      const auto [end, wrong] = std::from_chars(j.text.data(), j.text.data() + j.text.size(), whole);
      if (wrong == std::errc() && end == j.text.data() + j.text.size()) return value(whole);
      return value(j.number);
    }
    case kind::list: {
      value::list all;
      for (const control::json& e : j.elements) all.push_back(value_of(e));
      return value(std::move(all));
    }
    case kind::table: {
      value::table all;
      for (const control::json& m : j.members) all.push_back({m.key, {}, value_of(m)});
      return value(std::move(all));
    }
  }
  return value();
}

}  // namespace

// --- Values ------------------------------------------------------------------------------------------

std::string controls::no_room(config::index channel, nanoseconds waited) const {
  const any_channel& c = host_.wires().whole(channel);
  const config::channel_plan& plan = host_.plan().channels[channel];
  const std::string within = waited > 0s ? " within " + format_duration(waited) : " now";
  if (c.flavour() == leat::flavour::fan) {
    std::string full;
    const std::vector<any_channel>& shares = host_.wires().shares(channel);
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if (shares[r].size() < shares[r].capacity()) continue;
      const std::string reader = "'" + host_.plan().processes[plan.readers[r].process].name + "'";
      if (full.find(reader) == std::string::npos) full += (full.empty() ? "" : ", ") + reader;
    }
    return "had no room" + within + " for each of its readers" +
           (full.empty() ? "" : " (full: " + full + ")") +
           ": those that had room have the value, so do not send it to them again";
  }
  if (plan.store)
    return "did not take the value" + within +
           ": its store is full, or the log says why it cannot be written";
  if (c.capacity() == 0) return "keeps no values, and nobody received the value" + within;
  return "is full (" + std::to_string(c.size()) + " of " + std::to_string(c.capacity()) +
         " values) and had no room" + within + "; `leat top` shows who does not take them";
}

outcome controls::inject(std::string_view name, std::string_view value, double wait) {
  const std::optional<config::index> at = channel_named(name);
  if (!at) return no_such("channel", name, channel_names());
  const any_channel& c = host_.wires().whole(*at);
  if (!c.type().send_any || !c.type().write_json)
    return refused("409 Conflict", "the values of channel '" + std::string(name) + "' (" +
                                       describe_content(c.type()) + ") cannot be written as JSON");
  // A ring for one writer and one reader: a second writer would tear it.
  if (c.one_to_one())
    return refused("409 Conflict",
                   "channel '" + std::string(name) +
                       "' has one writer and one reader, and no place for another; `inject = true` in "
                       "its table of the file makes one");
  const nanoseconds longest = saturate_ns(std::chrono::duration<double>(std::clamp(wait, 0.0, longest_wait)));
  const deadline until = longest;
  // Its parts take the value one after the other: where one has no room, others may have it already.
  const bool fans = c.flavour() == leat::flavour::fan;
  const std::string channel = "channel '" + std::string(name) + "'";
  try {
    const observer::sends_for_door here(observer_);
    send_status s = c.send_json(value, until);
    // By the policy `fail` that is said at once, though there may be room in a moment. Never where a second try could
    // be a second value.
    while (s == send_status::full && !fans && !until.expired())
      s = sleep_for(look_again) == sleep_result::stopped ? send_status::stopped : c.send_json(value, until);
    // What was dropped is among those that were sent.
    if (s == send_status::sent || s == send_status::dropped || (fans && s != send_status::closed))
      observer_.count_injected(*at);
    switch (s) {
      case send_status::sent: return {"200 OK", "{\"sent\":true}"};
      case send_status::dropped:
        return refused("409 Conflict",
                       fans ? "a reader of " + channel +
                                  " had no room and its policy dropped the value; the others have it"
                            : channel + " had no room, and its policy dropped the value");
      case send_status::closed:
        return refused("409 Conflict",
                       channel + " is closed: those that write to it, or read from it, have ended");
      case send_status::stopped:
        return refused(
            "503 Service Unavailable",
            "the deployment ends: " + std::string(fans ? "some readers of " + channel + " may have the value"
                                                       : "the value was not sent"));
      default: return refused("409 Conflict", channel + ' ' + no_room(*at, longest));
    }
  } catch (const message_error& e) {
    const auto place = place_in(value, e.at());
    // The text begins with the place, which has members of its own here.
    std::string_view text = e.what();
    const std::string begin =
        "line " + std::to_string(place.first) + ", column " + std::to_string(place.second) + ": ";
    if (text.starts_with(begin)) text.remove_prefix(begin.size());
    json_writer w;
    w.object([&] {
      w.member("error", text);
      w.member("line", place.first);
      w.member("column", place.second);
    });
    return {"400 Bad Request", w.take()};
  }
}

// --- Wishes for the host -----------------------------------------------------------------------------

controls::answer controls::ask(wish::kind what, deadline until, std::size_t replica) const {
  const channel<bool> granted(1);
  const auto claim = std::make_shared<wish_claim>();
  wish w{what, replica, granted, claim};
  std::optional<bool> done;
  if (host_.wishes().send_until(std::move(w), until) == send_status::sent) done = granted.recv_until(until);
  if (!done && !claim->take_back()) {
    done = granted.recv_until(nearly_done);
    if (!done) return answer::begun;
  }
  if (!done) return stop_requested() ? answer::ends : answer::late;
  return *done ? answer::granted : answer::denied;
}

std::string controls::why_denied(std::size_t replica) const {
  const replica_state state = host_.seen().rows()[replica].state;
  if (state == replica_state::ended) return "has ended for good";
  if (state == replica_state::failed) return "has failed for good";
  const config::index service = host_.plan().processes[process_of_[replica]].service;
  if (host_.seen().services()[service].phase > deployment_phase::running)
    return "is not started again: its service '" + host_.plan().services[service].name + "' ends";
  return "has not been started yet";
}

controls::restarts controls::ask_for_restarts(const std::vector<std::size_t>& replicas) const {
  restarts all;
  // For all of them together: who asks waits for no longer.
  const deadline until = answer_within;
  for (const std::size_t i : replicas) {
    const std::string& name = observer_.names()[i];
    // One that makes no step makes none for the next either.
    switch (all.answered() && !all.ends ? ask(wish::kind::restart, until, i) : answer::late) {
      case answer::granted: all.done.push_back(name); break;
      case answer::denied:
        if (all.denied.empty()) all.why_denied = why_denied(i);
        all.denied.push_back(name);
        break;
      case answer::begun: all.begun.push_back(name); break;
      case answer::ends: all.ends = true; [[fallthrough]];
      case answer::late: all.late.push_back(name); break;
    }
  }
  return all;
}

std::string controls::unanswered(const restarts& r) {
  const auto in_quotes = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& n : names) text += (text.empty() ? "'" : ", '") + n + "'";
    return text;
  };
  std::string text =
      r.ends ? "the deployment ends" : "the host does not answer (`leat dump` shows where it stands)";
  if (!r.begun.empty()) text += ": whether " + in_quotes(r.begun) + " is restarted is not known";
  if (!r.late.empty())
    text +=
        (r.begun.empty() ? ": " : "; ") + in_quotes(r.late) +
        (r.late.size() == 1 ? " was not restarted, and will not be" : " were not restarted, and will not be");
  return text;
}

outcome controls::restart(std::string_view name) {
  const std::vector<std::size_t> found = replicas_named(name);
  if (found.empty()) return no_such("process", name, process_names());
  const restarts r = ask_for_restarts(found);
  if (r.answered() && r.done.empty())
    return refused("409 Conflict", "'" + r.denied.front() + "' " + r.why_denied);
  json_writer w;
  w.object([&] {
    if (!r.answered()) w.member("error", unanswered(r));
    w.member("restarted", r.done);
    if (!r.denied.empty()) w.member("not_restarted", r.denied);
  });
  return {r.answered() ? "200 OK" : "503 Service Unavailable", w.take()};
}

outcome controls::set(std::string_view name, const control::json& changes, bool may_restart) {
  const std::vector<std::size_t> found = replicas_named(name);
  if (found.empty()) return no_such("process", name, process_names());
  const config::index process = process_of_[found.front()];
  const config::process_plan& p = host_.plan().processes[process];
  const set_outcome o = set_settings(*p.type, p.settings, host_.settings(process), value_of(changes),
                                     may_restart ? not_live::keep : not_live::refuse);
  json_writer w;
  if (!o.errors.empty()) {
    w.object([&] {
      w.member("error", o.errors.front().text);
      w.member("key", o.errors.front().key);
    });
    return {"400 Bad Request", w.take()};
  }
  if (!o.not_live.empty() && !may_restart) {
    std::string names;
    for (const std::string& n : o.not_live) names += (names.empty() ? "'" : ", '") + n + "'";
    return refused("409 Conflict",
                   names + " cannot be set while '" + std::string(name) +
                       "' runs, and nothing was set; `leat set --restart` (\"restart\": true) "
                       "sets all and restarts the process");
  }
  std::string text;
  for (const std::string& n : o.set) text += (text.empty() ? "" : ", ") + n;
  log_notice("services", "'{}': {} set at the control door", host_.plan().full_name(p), text);
  restarts r;
  if (!o.not_live.empty()) {
    std::vector<std::size_t> replicas;
    for (std::size_t i = 0; i < process_of_.size(); ++i)
      if (process_of_[i] == process) replicas.push_back(i);
    r = ask_for_restarts(replicas);
  }
  std::string error;
  if (!r.answered())
    error = unanswered(r);
  else if (r.done.empty() && !r.denied.empty())
    error = "'" + r.denied.front() + "' " + r.why_denied;
  w.object([&] {
    if (!error.empty()) w.member("error", error + "; what was set counts from its next start on");
    w.member("set", o.set);
    w.member("restarted", r.done);
    if (!r.denied.empty()) w.member("not_restarted", r.denied);
  });
  return {error.empty() ? "200 OK" : r.answered() ? "409 Conflict" : "503 Service Unavailable", w.take()};
}

outcome controls::log(std::string_view level, std::string_view process) {
  constexpr log_level all[] = {log_level::debug, log_level::info, log_level::notice, log_level::warning,
                               log_level::error};
  const auto* const wanted =
      std::find_if(std::begin(all), std::end(all), [&](log_level l) { return level == to_string(l); });
  if (wanted == std::end(all))
    return refused("400 Bad Request", "a level is debug, info, notice, warning or error");
  std::string speaker;
  if (process.empty()) {
    set_log_level(*wanted);
  } else {
    const std::vector<std::size_t> found = replicas_named(process);
    if (found.empty()) return no_such("process", process, process_names());
    // Replicas log under the name of their process.
    speaker = host_.plan().full_name(host_.plan().processes[process_of_[found.front()]]);
    if (!set_log_level_of(speaker, *wanted))
      return refused("409 Conflict", "there is room for the levels of " + std::to_string(most_log_speakers) +
                                         " processes, with names of up to " +
                                         std::to_string(longest_log_speaker) + " bytes");
  }
  json_writer w;
  w.object([&] {
    w.member("level", level);
    if (!speaker.empty()) w.member("process", speaker);
  });
  return {"200 OK", w.take()};
}

outcome controls::stop(bool now) {
  switch (ask(now ? wish::kind::stop_now : wish::kind::stop, answer_within)) {
    case answer::late:
      return refused(
          "503 Service Unavailable",
          "the host does not answer, and was not told: `leat dump` shows where it stands. SIGTERM goes to "
          "it as well; SIGKILL ends the program with what its channels hold");
    case answer::begun:
    case answer::ends:
    case answer::granted:
    case answer::denied: break;
  }
  return {"200 OK", "{\"stopping\":true}"};
}

}  // namespace leat::services
