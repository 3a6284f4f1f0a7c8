// SPDX-License-Identifier: BSL-1.0
#include <leat/control/metrics.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include <leat/control/view_json.hpp>

#include "support/child.hpp"

namespace leat::control {
namespace {

deployment_view some_deployment() {
  deployment_view v;
  v.version = "0.1.0";
  v.name = "climate";
  v.uptime = 12.5;
  v.runtime.rss = 9'123'456;
  v.runtime.fenced = 2;
  for (int i = 0; i < 3; ++i) v.runtime.delay.add(60'000);
  process_view p;
  p.name = "climate/filter/1";
  p.type = "smooth";
  p.state = "waiting";
  p.restarts = 2;
  p.cpu = 0.07;
  process_view q = p;
  q.name = "climate/odd \"name\"\\with\nlines";
  q.cpu.reset();
  v.processes = {p, q};
  channel_view c;
  c.name = "climate/raw";
  c.sent = 18'446'744'073'709'551'615u;
  c.received = 97;
  c.length = 3;
  c.capacity = 16;
  c.send_blocked = 1.25;
  channel_view share = c;
  share.reader = "climate/log";
  channel_view stored;
  stored.name = "climate/kept";
  store_view& s = stored.store.emplace();
  s.values = 40;
  s.bytes = 1700;
  s.restored = 12;
  s.failing = true;
  v.channels = {c, share, stored};
  blame_view b;
  b.culprit = "climate/post";
  b.type = "http-post";
  b.channel = "climate/smoothed";
  b.kind = "network";
  v.blame = {b};
  return v;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

TEST_CASE("scheduling delay is a histogram: buckets add up, sum and count follow") {
  for (const metrics_format f : {metrics_format::text, metrics_format::openmetrics}) {
    const std::string text = metrics_text(some_deployment(), f);
    CHECK(text.find("# TYPE leat_scheduling_delay_seconds histogram\n") != std::string::npos);
    CHECK(text.find("leat_scheduling_delay_seconds_bucket{le=\"5e-05\"} 0\n") != std::string::npos);
    CHECK(text.find("leat_scheduling_delay_seconds_bucket{le=\"0.0001\"} 3\n") != std::string::npos);
    CHECK(text.find("leat_scheduling_delay_seconds_bucket{le=\"+Inf\"} 3\n") != std::string::npos);
    CHECK(text.find("leat_scheduling_delay_seconds_count 3\n") != std::string::npos);
  }
}

TEST_CASE("counters, gauges and labels are what they are called") {
  const std::string text = metrics_text(some_deployment(), metrics_format::text);
  const auto has = [&](const char* line) { return ("\n" + text).find("\n" + std::string(line) + "\n"); };
  for (const char* line :
       {"leat_deployment{version=\"0.1.0\",deployment=\"climate\"} 1", "leat_uptime_seconds 12.5",
        "leat_quarantined_threads{state=\"fenced\"} 2", "leat_quarantined_threads{state=\"frozen\"} 0",
        "leat_process_restarts_total{process=\"climate/filter/1\",class=\"smooth\"} 2",
        "leat_process_state{process=\"climate/filter/1\",class=\"smooth\",state=\"waiting\"} 1",
        "leat_process_state{process=\"climate/filter/1\",class=\"smooth\",state=\"computing\"} 0",
        "leat_channel_sent_total{channel=\"climate/raw\",reader=\"\"} 18446744073709551615",
        "leat_channel_length{channel=\"climate/raw\",reader=\"climate/log\"} 3",
        "leat_channel_send_blocked_seconds_total{channel=\"climate/raw\",reader=\"\"} 1.25",
        "leat_store_values{channel=\"climate/kept\"} 40", "leat_store_bytes{channel=\"climate/kept\"} 1700",
        "leat_store_restored_total{channel=\"climate/kept\"} 12",
        "leat_store_failing{channel=\"climate/kept\"} 1", "# TYPE leat_channel_sent_total counter",
        "# TYPE leat_channel_length gauge",
        "leat_blame{process=\"climate/post\",class=\"http-post\",channel=\"climate/smoothed\",kind="
        "\"network\"} 1"}) {
    CAPTURE(line);
    CHECK(has(line) != std::string::npos);
  }
  CHECK(text.find("# EOF") == std::string::npos);
  CHECK(text.find("# UNIT") == std::string::npos);
}

TEST_CASE("OpenMetrics names families without _total, has units, and an end") {
  const std::string text = metrics_text(some_deployment(), metrics_format::openmetrics);
  CHECK(text.find("# TYPE leat_channel_sent counter\n") != std::string::npos);
  CHECK(text.find("\nleat_channel_sent_total{") != std::string::npos);
  CHECK(text.find("# UNIT leat_uptime_seconds seconds\n") != std::string::npos);
  CHECK(text.ends_with("\n# EOF\n"));
  CHECK(text.find("# EOF") == text.size() - 6);
}

TEST_CASE("only channels with a store have its figures") {
  deployment_view v = some_deployment();
  CHECK(metrics_text(v, metrics_format::text).find("leat_store_values{channel=\"climate/raw\"") ==
        std::string::npos);
  CHECK(to_json(v, false).find(R"("store":{"values":40,"bytes":1700,"restored":12,)") != std::string::npos);
  v.channels.pop_back();
  CHECK(metrics_text(v, metrics_format::text).find("leat_store") == std::string::npos);
  CHECK(to_json(v, false).find("\"store\"") == std::string::npos);
}

TEST_CASE("labels are escaped, and what is not known is left out") {
  const std::string text = metrics_text(some_deployment(), metrics_format::text);
  CHECK(text.find(R"(process="climate/odd \"name\"\\with\nlines")") != std::string::npos);
  CHECK(text.find("leat_process_cpu_ratio{process=\"climate/filter/1\"") != std::string::npos);
  CHECK(text.find("leat_process_cpu_ratio{process=\"climate/odd") == std::string::npos);
}

TEST_CASE("each family is told once, with its samples together, and no sample twice") {
  for (const metrics_format f : {metrics_format::text, metrics_format::openmetrics}) {
    std::set<std::string> families, samples;
    std::string family;
    for (const std::string& line : lines_of(metrics_text(some_deployment(), f))) {
      CAPTURE(line);
      if (line.starts_with("# TYPE ")) {
        family = line.substr(7, line.find(' ', 7) - 7);
        CHECK(families.insert(family).second);
      } else if (!line.starts_with("#")) {
        CHECK(line.starts_with(family));
        CHECK(samples.insert(line.substr(0, line.rfind(' '))).second);
      }
    }
    CHECK(families.size() > 20);
  }
}

TEST_CASE("who accepts OpenMetrics gets it") {
  CHECK(wanted_format("") == metrics_format::text);
  CHECK(wanted_format("*/*") == metrics_format::text);
  CHECK(wanted_format("text/plain;version=0.0.4;q=0.5,*/*;q=0.1") == metrics_format::text);
  CHECK(wanted_format("application/openmetrics-text;version=1.0.0,text/plain;q=0.5") ==
        metrics_format::openmetrics);
}

TEST_CASE("promtool finds nothing to complain of") {
  if (::access("/usr/bin/promtool", X_OK) != 0) {
    MESSAGE("skipped: no /usr/bin/promtool (Debian, Ubuntu: apt install prometheus)");
    return;
  }
  char name[] = "/tmp/leat-metrics-XXXXXX";
  const int fd = ::mkstemp(name);
  REQUIRE(fd >= 0);
  const std::string text = metrics_text(some_deployment(), metrics_format::text);
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(fd);
  const leat::test::child_result r =
      leat::test::run_program("/bin/sh", {"-c", "promtool check metrics < " + std::string(name)},
                              {.limit = std::chrono::seconds(45)});
  ::unlink(name);
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(r.output.empty());
}

}  // namespace
}  // namespace leat::control
