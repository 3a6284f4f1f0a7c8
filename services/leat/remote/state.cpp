// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/state.hpp>

#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

std::string shown_text(const json& from, std::string_view key) { return printable(from.text_of(key)); }

std::vector<std::string> shown_texts(const json& from, std::string_view key) {
  std::vector<std::string> all = from.texts_of(key);
  for (std::string& text : all) text = printable(text);
  return all;
}

std::optional<double> maybe_number(const json& from, std::string_view key) {
  const json* const v = from.find(key);
  return v && v->what == json::kind::number ? std::optional(v->number) : std::nullopt;
}

const json& table_of(const json& from, std::string_view key) {
  static const json none;
  const json* const v = from.find(key);
  return v ? *v : none;
}

process_state read_process(const json& from) {
  process_state p;
  p.name = shown_text(from, "name");
  p.process = shown_text(from, "process");
  p.service = shown_text(from, "service");
  p.process_class = shown_text(from, "class");
  p.at = shown_text(from, "at");
  p.state = shown_text(from, "state");
  if (const json* const w = from.find("waits"); w && w->what == json::kind::table)
    p.waits = wait_state{shown_text(*w, "for"), shown_text(*w, "channel"), shown_text(*w, "peer"),
                         w->number_of("since")};
  p.incarnation = from.count_of("incarnation");
  p.restarts = from.count_of("restarts");
  p.failures = from.count_of("failures");
  p.overruns = from.count_of("overruns");
  p.quarantined = from.count_of("quarantined");
  p.redelivered = from.count_of("redelivered");
  p.dead_letters = from.count_of("dead_letters");
  p.last_failure = shown_text(table_of(from, "last_failure"), "text");
  p.last_failure_ago = table_of(from, "last_failure").number_of("ago");
  p.cpu = maybe_number(from, "cpu");
  p.critical = from.flag_of("critical");
  p.replicated = maybe_number(from, "replica").has_value();
  p.in = shown_texts(from, "in");
  p.out = shown_texts(from, "out");
  p.live = shown_texts(from, "live");
  return p;
}

channel_state read_channel(const json& from) {
  channel_state c;
  c.name = shown_text(from, "name");
  c.reader = shown_text(from, "reader");
  c.at = shown_text(from, "at");
  c.message = shown_text(from, "message");
  c.full = shown_text(from, "full");
  c.kind = shown_text(from, "kind");
  c.capacity = from.count_of("capacity");
  c.length = from.count_of("length");
  c.copy = from.flag_of("copy");
  c.sent = from.count_of("sent");
  c.received = from.count_of("received");
  c.dropped = from.count_of("dropped");
  c.refused = from.count_of("refused");
  c.lost = from.count_of("lost");
  c.rejected = from.count_of("rejected");
  c.injected = from.count_of("injected");
  c.high_water = from.count_of("high_water");
  c.rate_in = from.number_of("rate_in");
  c.rate_out = from.number_of("rate_out");
  c.rate_dropped = from.number_of("rate_dropped");
  c.wait = maybe_number(from, "wait");
  c.full_for = from.number_of("full_for");
  c.blocked = shown_texts(from, "senders_blocked");
  c.writers = shown_texts(from, "writers");
  c.readers = shown_texts(from, "readers");
  return c;
}

}  // namespace

deployment_state read_state(const json& from) {
  deployment_state s;
  s.leat = shown_text(from, "leat");
  s.api = from.count_of("api");
  s.name = shown_text(from, "deployment");
  s.pid = from.count_of("pid");
  s.since = shown_text(from, "since");
  s.uptime = from.number_of("uptime");
  s.phase = shown_text(from, "phase");
  s.healthy = from.flag_of("healthy", true);
  s.why = shown_text(from, "why");
  s.may_change = from.flag_of("may_change");
  const json& runtime = table_of(from, "runtime");
  s.procs = runtime.count_of("procs");
  s.threads = runtime.count_of("threads");
  s.fenced = runtime.count_of("fenced");
  s.frozen = runtime.count_of("frozen");
  s.gs = runtime.count_of("gs");
  s.cpu = maybe_number(runtime, "cpu");
  s.rss = maybe_number(runtime, "rss");
  s.delay_p99 = maybe_number(table_of(runtime, "delay"), "p99");
  for (const json& f : from.list_of("files"))
    s.files.push_back({shown_text(f, "path"), shown_text(f, "digest")});
  for (const json& x : from.list_of("services")) s.services.push_back(shown_text(x, "name"));
  for (const json& p : from.list_of("processes")) s.processes.push_back(read_process(p));
  for (const json& c : from.list_of("channels")) s.channels.push_back(read_channel(c));
  for (const json& b : from.list_of("blame")) {
    s.blame.push_back(shown_text(b, "text"));
    s.culprits.push_back(shown_text(b, "culprit"));
  }
  return s;
}

process_details read_details(const json& from) {
  process_details d;
  d.name = shown_text(from, "name");
  d.process_class = shown_text(from, "class");
  for (const json& s : from.list_of("settings"))
    d.settings.push_back(
        {shown_text(s, "name"), shown_text(s, "text"), shown_text(s, "help"), s.flag_of("live")});
  for (const json& p : from.list_of("ports"))
    d.ports.push_back({shown_text(p, "name"), shown_text(p, "direction"), shown_texts(p, "channels")});
  d.trace = shown_texts(from, "trace");
  return d;
}

}  // namespace leat::remote
