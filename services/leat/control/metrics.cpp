// SPDX-License-Identifier: BSL-1.0
#include <leat/control/metrics.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <utility>

namespace leat::control {
namespace {

using label = std::pair<std::string_view, std::string_view>;

// One family after the other, each with its samples together, as the format wants it.
class exposition {
 public:
  explicit exposition(metrics_format f) noexcept : open_(f == metrics_format::openmetrics) {}

  void family(std::string_view name, std::string_view type, std::string_view help,
              std::string_view unit = {}) {
    name_ = name;
    if (type == "counter") name_ += "_total";
    const std::string_view family = open_ ? name : std::string_view(name_);
    text_.append("# HELP ").append(family).append(" ");
    escape(help);
    text_.append("\n# TYPE ").append(family).append(" ").append(type).append("\n");
    if (open_ && !unit.empty()) text_.append("# UNIT ").append(family).append(" ").append(unit).append("\n");
  }
  void sample(std::initializer_list<label> labels, double v) {
    char number[40];
    const int n = std::snprintf(number, sizeof number, "%.17g", v);
    put(labels, std::string_view(number, static_cast<std::size_t>(n)));
  }
  void sample(std::initializer_list<label> labels, std::uint64_t v) { put(labels, std::to_string(v)); }
  void histogram(const delay_histogram& h) {
    const std::string family = std::exchange(name_, name_ + "_bucket");
    for (std::size_t i = 0; i < delay_histogram::bounds.size(); ++i) {
      char bound[24];
      const int n = std::snprintf(bound, sizeof bound, "%g", delay_histogram::bounds[i]);
      sample({{"le", std::string_view(bound, static_cast<std::size_t>(n))}}, h.up_to(i));
    }
    sample({{"le", "+Inf"}}, h.count());
    name_ = family + "_sum";
    sample({}, h.sum());
    name_ = family + "_count";
    sample({}, h.count());
  }

  std::string take() {
    if (open_) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  void put(std::initializer_list<label> labels, std::string_view number) {
    text_ += name_;
    if (labels.size() > 0) {
      char between = '{';
      for (const auto& [key, content] : labels) {
        text_ += between;
        text_.append(key).append("=\"");
        escape(content);
        text_ += '"';
        between = ',';
      }
      text_ += '}';
    }
    text_ += ' ';
    text_ += number;
    text_ += '\n';
  }
  void escape(std::string_view s) {
    for (const char c : s) {
      if (c == '\\')
        text_ += "\\\\";
      else if (c == '"')
        text_ += "\\\"";
      else if (c == '\n')
        text_ += "\\n";
      else
        text_ += c;
    }
  }

  std::string text_;
  std::string name_;
  const bool open_;
};

constexpr std::array<std::string_view, 8> states{"computing",  "ready", "waiting", "blocking",
                                                 "restarting", "ended", "failed",  "quarantined"};

template <class Get>
void of_processes(exposition& e, const deployment_view& v, std::string_view name, std::string_view help,
                  Get get) {
  e.family(name, "counter", help);
  for (const process_view& p : v.processes)
    e.sample({{"process", p.name}, {"class", p.type}}, std::uint64_t{get(p)});
}

template <class Get>
void of_channels(exposition& e, const deployment_view& v, std::string_view name, std::string_view type,
                 std::string_view help, Get get, std::string_view unit = {}) {
  e.family(name, type, help, unit);
  for (const channel_view& c : v.channels) e.sample({{"channel", c.name}, {"reader", c.reader}}, get(c));
}

template <class Get>
void of_stores(exposition& e, const deployment_view& v, std::string_view name, std::string_view type,
               std::string_view help, Get get, std::string_view unit = {}) {
  e.family(name, type, help, unit);
  for (const channel_view& c : v.channels)
    if (c.store) e.sample({{"channel", c.name}}, std::uint64_t{get(*c.store)});
}

void add_stores(exposition& e, const deployment_view& v) {
  if (std::none_of(v.channels.begin(), v.channels.end(),
                   [](const channel_view& c) { return c.store.has_value(); }))
    return;
  of_stores(e, v, "leat_store_values", "gauge", "values that the next start would find",
            [](const store_view& s) { return s.values; });
  of_stores(
      e, v, "leat_store_bytes", "gauge", "bytes of these", [](const store_view& s) { return s.bytes; },
      "bytes");
  of_stores(e, v, "leat_store_restored", "counter", "values that were found at the start",
            [](const store_view& s) { return s.restored; });
  of_stores(e, v, "leat_store_written", "counter", "values that were written to the file",
            [](const store_view& s) { return s.written; });
  of_stores(e, v, "leat_store_unreadable", "counter", "values that could not be read back",
            [](const store_view& s) { return s.unreadable; });
  of_stores(e, v, "leat_store_failures", "counter", "writes and reads that failed",
            [](const store_view& s) { return s.failures; });
  of_stores(e, v, "leat_store_failing", "gauge", "1 while the file cannot be used",
            [](const store_view& s) { return s.failing ? 1u : 0u; });
}

}  // namespace

std::string_view content_type(metrics_format f) noexcept {
  return f == metrics_format::openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                          : "text/plain; version=0.0.4; charset=utf-8";
}

metrics_format wanted_format(std::string_view accept) noexcept {
  return accept.find("application/openmetrics-text") != std::string_view::npos ? metrics_format::openmetrics
                                                                               : metrics_format::text;
}

std::string metrics_text(const deployment_view& v, metrics_format f) {
  exposition e(f);
  e.family("leat_deployment", "gauge", "1, with the version and the deployment's name");
  e.sample({{"version", v.version}, {"deployment", v.name}}, std::uint64_t{1});
  e.family("leat_uptime_seconds", "gauge", "since the start of the program", "seconds");
  e.sample({}, v.uptime);
  e.family("leat_healthy", "gauge", "1 if all is well, as /ready says it");
  e.sample({}, std::uint64_t{v.healthy ? 1u : 0u});
  e.family("leat_memory_bytes", "gauge", "resident memory of the program", "bytes");
  e.sample({}, v.runtime.rss);
  e.family("leat_threads", "gauge", "threads of the runtime");
  e.sample({}, std::uint64_t{v.runtime.threads});
  e.family("leat_quarantined_threads", "gauge", "threads of quarantined processes that have not come back");
  e.sample({{"state", "fenced"}}, std::uint64_t{v.runtime.fenced});
  e.sample({{"state", "frozen"}}, std::uint64_t{v.runtime.frozen});
  e.family("leat_tasks", "gauge", "Gs that live");
  e.sample({}, v.runtime.gs);
  e.family("leat_scheduling_delay_seconds", "histogram", "how late a probe runs after it has become ready",
           "seconds");
  e.histogram(v.runtime.delay);

  e.family("leat_process_state", "gauge", "1 for what a process does now, else 0");
  for (const process_view& p : v.processes)
    for (const std::string_view s : states)
      e.sample({{"process", p.name}, {"class", p.type}, {"state", s}}, std::uint64_t{p.state == s ? 1u : 0u});
  of_processes(e, v, "leat_process_restarts", "restarts", [](const process_view& p) { return p.restarts; });
  of_processes(e, v, "leat_process_failures", "runs that failed",
               [](const process_view& p) { return p.failures; });
  of_processes(e, v, "leat_process_overruns", "runs past `hang`",
               [](const process_view& p) { return p.overruns; });
  of_processes(e, v, "leat_process_quarantined", "runs that had to be taken away",
               [](const process_view& p) { return p.quarantined; });
  of_processes(e, v, "leat_process_dead_letters", "values that were given up",
               [](const process_view& p) { return p.dead_letters; });
  e.family("leat_process_cpu_ratio", "gauge", "CPU time, of one core; while somebody looks", "ratio");
  for (const process_view& p : v.processes)
    if (p.cpu) e.sample({{"process", p.name}, {"class", p.type}}, *p.cpu);

  of_channels(e, v, "leat_channel_sent", "counter", "values sent",
              [](const channel_view& c) { return c.sent; });
  of_channels(e, v, "leat_channel_received", "counter", "values received",
              [](const channel_view& c) { return c.received; });
  of_channels(e, v, "leat_channel_dropped", "counter", "values dropped by the channel's policy",
              [](const channel_view& c) { return c.dropped; });
  of_channels(e, v, "leat_channel_refused", "counter", "values sent after it was closed",
              [](const channel_view& c) { return c.refused; });
  of_channels(e, v, "leat_channel_lost", "counter", "values that a process threw away",
              [](const channel_view& c) { return c.lost; });
  of_channels(e, v, "leat_channel_rejected", "counter", "input from outside that was no value",
              [](const channel_view& c) { return c.rejected; });
  of_channels(e, v, "leat_channel_injected", "counter", "values that came by the control door",
              [](const channel_view& c) { return c.injected; });
  of_channels(e, v, "leat_channel_length", "gauge", "values in it",
              [](const channel_view& c) { return std::uint64_t{c.length}; });
  of_channels(e, v, "leat_channel_capacity", "gauge", "values that it can hold",
              [](const channel_view& c) { return std::uint64_t{c.capacity}; });
  of_channels(e, v, "leat_channel_high_water", "gauge", "most values that were in it",
              [](const channel_view& c) { return c.high_water; });
  of_channels(
      e, v, "leat_channel_send_blocked_seconds", "counter", "time that senders waited for room, summed",
      [](const channel_view& c) { return c.send_blocked; }, "seconds");
  add_stores(e, v);

  e.family("leat_blame", "gauge", "1 while a process holds up others");
  for (const blame_view& b : v.blame)
    e.sample({{"process", b.culprit}, {"class", b.type}, {"channel", b.channel}, {"kind", b.kind}},
             std::uint64_t{1});
  return e.take();
}

}  // namespace leat::control
