// SPDX-License-Identifier: BSL-1.0
//
// A control door without a program behind it: it answers what a test tells it to. One pipeline, probe -> raw ->
// filter (two replicas) -> smoothed -> post, and further services of three processes each.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include <leat/control/inspector_page.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/leat.hpp>
#include <leat/net/http_server.hpp>
#include <leat/net/listener.hpp>

namespace leat::control::test {

namespace http = net::http;

class fake_door {
 public:
  // `listen`: where; `pid`: of the program that there is not; `services`: beside the pipeline.
  fake_door(const std::string& listen, int pid, int services)
      : at_(net::listen(listen)), where(at_.local().text()), pid_(pid), services_(services) {
    group_.go("door", [this] {
      net::serve(at_, [this](net::stream& peer) {
        try {
          http::serve_connection(peer, [this](const http::request& r) { return answer(r); });
        } catch (const std::system_error&) {
          // It went away.
        }
      });
    });
  }
  ~fake_door() {
    at_.shutdown();
    group_.stop();
    (void)group_.wait();
  }
  fake_door(const fake_door&) = delete;
  fake_door& operator=(const fake_door&) = delete;

 private:
  net::listener at_;

 public:
  const std::string where;
  std::atomic<bool> held_up{false};      // post takes nothing, raw and smoothed are full
  std::atomic<bool> needs_token{false};  // "secret", for what changes something
  std::atomic<int> restarts{0};
  std::atomic<int> asked{0};  // for the state

 private:
  static std::string process(const std::string& service, const std::string& name, const std::string& rest) {
    return R"({"name":")" + service + '/' + name + R"(","service":")" + service +
           R"(","class":"stage","at":"t.toml:12","incarnation":1,"failures":0,"overruns":0,"quarantined":0,)"
           R"("redelivered":0,"dead_letters":0,"last_failure":null,"cpu":0.07,"critical":false,"live":["window"],)" +
           rest + '}';
  }
  static std::string single(const std::string& service, const std::string& name, const std::string& rest) {
    return process(service, name,
                   R"("process":")" + service + '/' + name + R"(","replica":null,"restarts":0,)" + rest);
  }
  static std::string channel(const std::string& name, const std::string& length, const std::string& rest) {
    return R"({"name":")" + name +
           R"(","reader":"","at":"t.toml:39","message":"sample","capacity":16,"length":)" + length +
           R"(,"full":"block","copy":false,"kind":"single","sent":1234,"received":1231,"dropped":0,"refused":0,)"
           R"("lost":0,"rejected":0,"injected":0,"high_water":16,"rate_in":50.1,"rate_out":50,"rate_dropped":0,)"
           R"("wait":0.06,)" +
           rest + '}';
  }

  std::string processes() {
    const bool held = held_up;
    const std::string blocked = R"("state":"waiting","waits":{"for":"send","channel":"plant/)";
    std::string all = single("plant", "probe",
                             (held ? blocked + R"(raw","peer":"","since":9})"
                                   : std::string(R"("state":"computing","waits":null)")) +
                                 R"(,"in":[],"out":["plant/raw"])");
    for (const char* n : {"0", "1"})
      all +=
          ',' + process("plant", std::string("filter/") + n,
                        R"("process":"plant/filter","replica":)" + std::string(n) + R"(,"restarts":)" +
                            std::to_string(restarts.load()) +
                            R"(,"state":"waiting","waits":{"for":"receive","channel":"plant/raw","peer":"",)"
                            R"("since":1.5},"in":["plant/raw"],"out":["plant/smoothed"])");
    all += ',' +
           single("plant", "post",
                  R"("state":"waiting","waits":{"for":"I/O","channel":"","peer":"10.0.0.7:443","since":3},)"
                  R"("in":["plant/smoothed"],"out":[])");
    // A name is a text, whatever is in it.
    all += ',' + single("plant", "<img src=x onerror=alert(1)>",
                        R"("state":"waiting","waits":null,"in":[],"out":[])");
    for (int s = 1; s <= services_; ++s)
      for (const char* name : {"a", "b", "c"})
        all += ',' + single("more-" + std::to_string(s), name,
                            R"("state":"waiting","waits":null,"in":[],"out":[])");
    return all;
  }

  std::string state() {
    const bool held = held_up;
    std::string services = R"({"name":"plant","phase":"running","alive":5})";
    for (int s = 1; s <= services_; ++s)
      services += R"(,{"name":"more-)" + std::to_string(s) + R"(","phase":"running","alive":3})";
    const std::string length = held ? "16" : "3", full_for = held ? R"("full_for":9,)" : R"("full_for":0,)";
    const int at = ++asked;
    return R"({"leat":"0.1.0","api":1,"deployment":"plant","pid":)" + std::to_string(pid_) +
           R"(,"files":[],"since":"2026-11-17T15:00:00Z","uptime":12,"at":)" + std::to_string(at) +
           R"(,"phase":"running","healthy":true,"why":"","may_change":true,)"
           R"("runtime":{"procs":2,"threads":5,"gs":31,"cpu":0.12,"rss":9123456,"delay":null},"services":[)" +
           services + R"(],"processes":[)" + processes() + R"(],"channels":[)" +
           channel("plant/raw", length,
                   full_for + R"("senders_blocked":[)" + (held ? R"("plant/probe")" : "") +
                       R"(],"writers":["plant/probe"],"readers":["plant/filter"])") +
           ',' +
           channel("plant/smoothed", length,
                   full_for + R"("senders_blocked":[)" + (held ? R"("plant/filter/0")" : "") +
                       R"(],"writers":["plant/filter"],"readers":["plant/post"])") +
           R"(],"blame":[)" +
           (held
                ? R"({"culprit":"plant/post","class":"stage","at":"t.toml:12","victims":["plant/filter","plant/probe"],)"
                  R"("channel":"plant/smoothed","full_for":9,"kind":"network","doing":"waits","share":0.9,)"
                  R"("text":"post holds up filter, probe"})"
                : "") +
           "]}";
  }

  http::response answer(const http::request& r) {
    const auto json = [](std::string body) -> http::response {
      return {.type = "application/json", .body = std::move(body)};
    };
    const std::string_view path = r.path();
    if (path == "/")
      return {.type = "text/html; charset=utf-8",
              .fields = "Content-Security-Policy: " + std::string(inspector_page_policy()) + "\r\n",
              .body = std::string(inspector_page())};
    if (path == "/v1/state") return json(state());
    if (path == "/v1/process")
      return json(
          R"({"name":"plant/filter/0","class":"stage","ports":[],"trace":["filter::run() at f.cpp:12"],)"
          R"("settings":[{"name":"window","value":16,"text":"16","live":true,"help":"samples"}]})");
    if (path == "/v1/tap") {
      http::response a{.type = "application/x-ndjson"};
      a.then = [](net::stream& to) {
        for (int seq = 1;; ++seq) {
          to.write(R"({"channel":"plant/raw","seq":)" + std::to_string(seq) +
                   R"(,"value":{"text":"<b>x</b>"}})" +
                   (seq % 10 ? "\n" : "\n{\"channel\":\"plant/raw\",\"not_shown\":7}\n"));
          if (sleep_for(std::chrono::milliseconds(5)) == sleep_result::stopped) return;
        }
      };
      return a;
    }
    if (path == "/v1/restart" && r.method == "POST") {
      if (needs_token && r.field("authorization") != "Bearer secret")
        return {.status = "403 Forbidden",
                .type = "application/json",
                .body = R"({"error":"the token is missing"})"};
      ++restarts;
      return json(R"({"restarted":["plant/filter/0","plant/filter/1"]})");
    }
    return http::not_found();
  }

  const int pid_, services_;
  task_group group_;
};

}  // namespace leat::control::test
